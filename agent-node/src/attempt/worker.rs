//! The attempt's end of the pipes to its test worker.

use futures::{SinkExt, StreamExt};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::codec::FrameCodec;
use muster_suite::frame::{FromWorker, ToWorker};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{FramedRead, FramedWrite};

use super::WorkerPipes;

/// A worker, as frames. Dropping it ends the worker.
pub(super) struct Worker {
    incoming: FramedRead<Box<dyn AsyncRead + Send + Unpin>, FrameCodec<FromWorker>>,
    outgoing: FramedWrite<Box<dyn AsyncWrite + Send + Unpin>, FrameCodec<FromWorker>>,
    /// Something waits in `outgoing`.
    unsent: bool,
}

impl Worker {
    pub(super) fn new(pipes: WorkerPipes) -> Self {
        Self {
            incoming: FramedRead::new(pipes.from_worker, FrameCodec::new()),
            outgoing: FramedWrite::new(pipes.to_worker, FrameCodec::new()),
            unsent: false,
        }
    }

    /// Puts a frame in line; [`Worker::next`] sends it. At most one reply for each call waits here,
    /// so the line is as bounded as the calls are.
    pub(super) fn send(&mut self, frame: ToWorker) -> Result<(), Problem> {
        self.unsent = true;
        self.outgoing
            .start_send_unpin(frame)
            .map_err(|error| crashed(&format!("can't be told its next step: {error}")))
    }

    /// The next frame; sends what is in line meanwhile. Safe to drop and call again.
    pub(super) async fn next(&mut self) -> Result<FromWorker, Problem> {
        loop {
            tokio::select! {
                frame = self.incoming.next() => {
                    return match frame {
                        Some(Ok(frame)) => Ok(frame),
                        Some(Err(error)) => Err(crashed(&format!("broke its protocol: {error}"))),
                        None => Err(crashed("ended before its test did")),
                    };
                }
                // A worker that takes nothing more may still have something to say.
                _ = SinkExt::<ToWorker>::flush(&mut self.outgoing), if self.unsent => self.unsent = false,
            }
        }
    }
}

fn crashed(how: &str) -> Problem {
    Problem::new(ErrorCode::WorkerCrashed, format!("the test worker {how}"))
}
