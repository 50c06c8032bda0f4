//! A recording: what a goal's executor did, how its end looks, and the envelope it travels in.
//!
//! Recordings have their envelope from the first version on; signatures are empty until trust is
//! configured. Readers validate both and treat anything unknown or malformed as "no recording".
//!
//! History of [`SCHEMA`]: 1 = first. Since then it has grown in actions and in fields of actions that
//! are left out where they say nothing new: old entries stay as they are, and a reader that doesn't
//! know an action finds the entry invalid, which is a miss.

use serde::{Deserialize, Serialize};

use crate::action::{Action, Target};

/// Version of [`Recording`] and [`Envelope`].
pub const SCHEMA: u32 = 1;

/// Largest serialized envelope, bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Most actions a recording may hold.
pub const MAX_ACTIONS: usize = 50;

/// The payload: a closed shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recording {
    /// [`SCHEMA`].
    pub schema: u32,
    /// 1 to [`MAX_ACTIONS`] actions, in order.
    pub actions: Vec<RecordedAction>,
    /// What the executor said it did, at most 300 characters.
    pub summary: String,
    /// Route at the start.
    pub start_route: String,
    /// Route at the end.
    pub end_route: String,
    /// What appeared and stayed, at most 8.
    pub appeared: Vec<Anchor>,
    /// What was there before and went, at most 8.
    pub gone: Vec<Anchor>,
    /// How long the end took to settle, milliseconds, at most 120000.
    pub end_wait_ms: u64,
    /// Who recorded it.
    pub recorded_by: RecordedBy,
    /// Why this can't replay (kept as a document only); none = it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
}

/// One action with a line for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedAction {
    /// What was done.
    pub action: Action<Target>,
    /// One line, at most 300 characters.
    pub summary: String,
    /// It had no effect on the page's shape, so replay need not wait for one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

/// Something on the screen that tells that the goal was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Anchor {
    /// The element.
    pub target: Target,
    /// The value it showed, for fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether its texts are shapes: `{{id}}` stands for an id, a date or a time that the app mints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shape: bool,
}

/// Who recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedBy {
    /// The executor's name.
    pub executor: String,
    /// Its version.
    pub version: String,
}

/// What a store keeps: a payload that it never reads, and who vouches for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The replay key.
    pub key: String,
    /// The payload: canonical JSON of a [`Recording`], as text.
    pub payload: String,
    /// Lower-case hex SHA-256 of `payload`'s bytes.
    pub payload_sha256: String,
    /// The namespace it may be read from; `local` without access control.
    pub namespace: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Signatures over the rest; empty until trust is configured.
    pub signatures: Vec<String>,
}

/// Where a recording comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provenance {
    /// Project id.
    pub project: String,
    /// The run.
    pub run: String,
    /// The unit.
    pub unit: String,
    /// Test id, for people and for `muster cache ls`.
    pub test: String,
    /// Target name.
    pub target: String,
    /// The instruction's first 12 hex digits of SHA-256.
    pub instruction_digest: String,
    /// The step's sequence number in its attempt, from 0.
    pub step: u32,
    /// Sequence number of the check that verified it; none while it is only staged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_by: Option<u32>,
    /// The node that recorded it.
    pub node: String,
    /// Engine name, e.g. `chromium`.
    pub engine: String,
    /// Digest of the harness policy in force.
    pub policy_digest: String,
    /// RFC 3339 UTC time of recording, milliseconds.
    pub recorded_at: String,
}
