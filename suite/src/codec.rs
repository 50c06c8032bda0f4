//! Frames on a byte stream: a 4-byte big-endian length and that many bytes of JSON.
//!
//! The parent reads [`FromWorker`](crate::frame::FromWorker) and writes
//! [`ToWorker`](crate::frame::ToWorker), the worker the other way round; both through one codec.

use std::io;
use std::marker::PhantomData;

use bytes::{Buf, BufMut, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::codec::{Decoder, Encoder};

use crate::frame::MAX_FRAME;

const HEADER: usize = 4;

/// Reads frames of type `In`, writes any serializable frame; for `tokio_util::codec::Framed*`.
#[derive(Debug)]
pub struct FrameCodec<In> {
    max: usize,
    incoming: PhantomData<fn() -> In>,
}

impl<In> FrameCodec<In> {
    /// Frames of at most [`MAX_FRAME`] bytes.
    pub fn new() -> Self {
        Self::with_max(MAX_FRAME)
    }

    /// Frames of at most `max` bytes, the header not counted.
    pub fn with_max(max: usize) -> Self {
        Self {
            max,
            incoming: PhantomData,
        }
    }
}

impl<In> Default for FrameCodec<In> {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a frame can't be read or written. The stream is unusable after it.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side announces, or we would send, more than the cap.
    #[error("a frame of {length} bytes is over the limit of {max}")]
    TooLarge {
        /// Bytes of JSON.
        length: usize,
        /// The cap.
        max: usize,
    },
    /// The bytes are no frame of this version.
    #[error("a frame is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The stream broke.
    #[error("the frame stream broke: {0}")]
    Io(#[from] io::Error),
}

impl<In: DeserializeOwned> Decoder for FrameCodec<In> {
    type Item = In;
    type Error = FrameError;

    fn decode(&mut self, source: &mut BytesMut) -> Result<Option<In>, FrameError> {
        let Some(header) = source.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        // Checked before anything is reserved: a liar costs four bytes.
        let length = u32::from_be_bytes(*header) as usize;
        if length > self.max {
            return Err(FrameError::TooLarge {
                length,
                max: self.max,
            });
        }
        if source.len() < HEADER + length {
            source.reserve(HEADER + length - source.len());
            return Ok(None);
        }
        source.advance(HEADER);
        let frame = source.split_to(length);
        Ok(Some(serde_json::from_slice(&frame)?))
    }
}

impl<In, Out: Serialize> Encoder<Out> for FrameCodec<In> {
    type Error = FrameError;

    fn encode(&mut self, frame: Out, target: &mut BytesMut) -> Result<(), FrameError> {
        let json = serde_json::to_vec(&frame)?;
        let length = u32::try_from(json.len())
            .ok()
            .filter(|_| json.len() <= self.max);
        let Some(length) = length else {
            return Err(FrameError::TooLarge {
                length: json.len(),
                max: self.max,
            });
        };
        target.reserve(HEADER + json.len());
        target.put_u32(length);
        target.put_slice(&json);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::FromWorker;

    fn line(text: &str) -> FromWorker {
        FromWorker::Console {
            level: "log".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_frame_over_the_cap_is_refused_before_it_is_read() {
        let mut codec = FrameCodec::<FromWorker>::with_max(64);
        let mut bytes = BytesMut::from(&[0xff, 0xff, 0xff, 0xff][..]);
        assert!(matches!(
            codec.decode(&mut bytes),
            Err(FrameError::TooLarge {
                length: 0xffff_ffff,
                max: 64
            })
        ));
        let error = codec
            .encode(line(&"x".repeat(100)), &mut BytesMut::new())
            .unwrap_err();
        assert!(matches!(error, FrameError::TooLarge { max: 64, .. }));
    }

    #[test]
    fn an_unknown_frame_is_malformed() {
        let mut bytes = BytesMut::new();
        bytes.put_u32(16);
        bytes.put_slice(br#"{"frame":"spam"}"#);
        assert!(matches!(
            FrameCodec::<FromWorker>::new().decode(&mut bytes),
            Err(FrameError::Malformed(_))
        ));
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut(texts in proptest::collection::vec(".{0,40}", 1..6), cut in 1_usize..16) {
            let mut codec = FrameCodec::<FromWorker>::new();
            let mut wire = BytesMut::new();
            for text in &texts {
                codec.encode(line(text), &mut wire).unwrap();
            }
            let mut seen = Vec::new();
            let mut arrived = BytesMut::new();
            for piece in wire.chunks(cut) {
                arrived.put_slice(piece);
                while let Some(frame) = codec.decode(&mut arrived).unwrap() {
                    seen.push(frame);
                }
            }
            prop_assert_eq!(seen, texts.iter().map(|text| line(text)).collect::<Vec<_>>());
        }
    }
}
