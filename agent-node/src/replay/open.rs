//! The envelope of a recording: closed on one node, opened and checked on another.

use muster_proto::action::{Action, Target, Typed};
use muster_proto::canonical;
use muster_proto::id::ReplayKey;
use muster_proto::recording::{
    Anchor, Envelope, MAX_ACTIONS, MAX_BYTES, Provenance, Recording, SCHEMA,
};
use muster_proto::step::CacheReason;
use serde_json::Value;

use super::describe::{MAX_TWINS, texts};
use super::screen::MAX_TEXT;
use super::template::{Template, expand};

/// Longest text that is typed, characters.
pub(super) const MAX_TYPED: usize = 4096;

/// Most anchors of either kind.
pub(super) const MAX_ANCHORS: usize = 8;

/// Longest measured wait, milliseconds.
pub(super) const MAX_END_WAIT_MS: u64 = 120_000;

/// A recording that can be replayed, with today's `unique()` values in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// What to do.
    pub recording: Recording,
    /// Who recorded it, when, in which run.
    pub provenance: Provenance,
}

/// Why an entry is no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Unusable {
    /// `InvalidEntry`, or `Truncated` for one that documents a flow that can't replay.
    pub reason: CacheReason,
    /// What is wrong with it.
    pub detail: String,
}

/// Puts a recording into its envelope, unsigned.
pub fn seal(
    recording: &Recording,
    key: &ReplayKey,
    namespace: &str,
    provenance: Provenance,
) -> Envelope {
    let payload = String::from_utf8_lossy(&canonical::json(recording)).into_owned();
    Envelope {
        schema: SCHEMA,
        key: key.as_str().to_owned(),
        payload_sha256: canonical::sha256_hex(payload.as_bytes()),
        payload,
        namespace: namespace.to_owned(),
        provenance,
        signatures: Vec::new(),
    }
}

/// Opens an entry found under `key`: everything in it is checked before anything is used.
///
/// # Errors
/// [`Unusable`] if it is not whole, not of this key, not of a shape that we know, or has a slot
/// that this call can't fill.
pub fn open(
    entry: &[u8],
    key: &ReplayKey,
    params: &Value,
    unique: &[String],
) -> Result<Opened, Unusable> {
    let invalid = |detail: String| Unusable {
        reason: CacheReason::InvalidEntry,
        detail,
    };
    if entry.len() > MAX_BYTES {
        return Err(invalid(format!(
            "the entry has {} bytes, more than {MAX_BYTES}",
            entry.len()
        )));
    }
    let envelope: Envelope = serde_json::from_slice(entry)
        .map_err(|error| invalid(format!("the entry is no envelope: {error}")))?;
    if envelope.schema != SCHEMA {
        return Err(invalid(format!(
            "the envelope has schema {}, not {SCHEMA}",
            envelope.schema
        )));
    }
    if envelope.key != key.as_str() {
        return Err(invalid("the entry was recorded for another key".to_owned()));
    }
    if canonical::sha256_hex(envelope.payload.as_bytes()) != envelope.payload_sha256 {
        return Err(invalid(
            "the payload is not the one that was sealed".to_owned(),
        ));
    }
    let recording: Recording = serde_json::from_str(&envelope.payload)
        .map_err(|error| invalid(format!("the payload is no recording: {error}")))?;
    if let Some(why) = &recording.truncated {
        return Err(Unusable {
            reason: CacheReason::Truncated,
            detail: why.clone(),
        });
    }
    check(&recording).map_err(&invalid)?;
    let template = Template::new(params, unique).map_err(|collision| invalid(collision.0))?;
    let recording = expand(&recording, &template).map_err(&invalid)?;
    Ok(Opened {
        recording,
        provenance: envelope.provenance,
    })
}

/// Sizes and counts. The recorder asks it too, so that nothing is written that no one can read.
pub(super) fn check(recording: &Recording) -> Result<(), String> {
    if recording.schema != SCHEMA {
        return Err(format!(
            "the recording has schema {}, not {SCHEMA}",
            recording.schema
        ));
    }
    if recording.actions.is_empty() || recording.actions.len() > MAX_ACTIONS {
        return Err(format!(
            "{} actions; 1 to {MAX_ACTIONS} can replay",
            recording.actions.len()
        ));
    }
    if recording.appeared.len() > MAX_ANCHORS || recording.gone.len() > MAX_ANCHORS {
        return Err(format!("more than {MAX_ANCHORS} anchors"));
    }
    if recording.end_wait_ms > MAX_END_WAIT_MS {
        return Err(format!(
            "an end wait of {} ms; {MAX_END_WAIT_MS} at most",
            recording.end_wait_ms
        ));
    }
    short("summary", &recording.summary)?;
    long("start route", &recording.start_route)?;
    long("end route", &recording.end_route)?;
    for each in &recording.actions {
        short("summary of an action", &each.summary)?;
        each.action.bounded()?;
        each.action.targets().try_for_each(check_target)?;
        match &each.action {
            Action::Type {
                value: Typed::Literal { text } | Typed::Template { text },
                ..
            } => {
                long("typed text", text)?;
            }
            Action::Type {
                value: Typed::Secret { name },
                ..
            } => short("name of a secret", name)?,
            Action::TypeText { text } => long("typed text", text)?,
            Action::Press { key, .. } => short("key", key)?,
            Action::Select { label, .. } => short("label", label)?,
            Action::ScrollUntil { text, .. } => long("sought text", text)?,
            Action::Upload { files, .. } => {
                files.iter().try_for_each(|path| long("path", path))?;
            }
            Action::Navigate { path } => long("path", path)?,
            Action::Tap { .. }
            | Action::DoubleTap { .. }
            | Action::LongPress { .. }
            | Action::RightClick { .. }
            | Action::Drag { .. }
            | Action::Scroll { .. }
            | Action::Check { .. }
            | Action::Hover { .. }
            | Action::ScrollTo { .. }
            | Action::Back {} => {}
        }
    }
    recording
        .appeared
        .iter()
        .chain(&recording.gone)
        .try_for_each(check_anchor)
}

fn check_target(target: &Target) -> Result<(), String> {
    texts(target).try_for_each(|text| short("text of a target", text))?;
    match target.position {
        Some(place) if place.index >= place.of || place.of < 2 || place.of as usize > MAX_TWINS => {
            Err(format!("place {} among {} twins", place.index, place.of))
        }
        _ => Ok(()),
    }
}

fn check_anchor(anchor: &Anchor) -> Result<(), String> {
    check_target(&anchor.target)?;
    anchor
        .value
        .as_deref()
        .map_or(Ok(()), |value| long("value of an anchor", value))
}

fn short(what: &str, text: &str) -> Result<(), String> {
    at_most(what, text, MAX_TEXT)
}

fn long(what: &str, text: &str) -> Result<(), String> {
    at_most(what, text, MAX_TYPED)
}

fn at_most(what: &str, text: &str, max: usize) -> Result<(), String> {
    // Bytes bound characters, so the common case needs no count.
    if text.len() > max && text.chars().count() > max {
        return Err(format!("a {what} of more than {max} characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
