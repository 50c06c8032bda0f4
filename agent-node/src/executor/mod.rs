//! Who decides: executors reach a verdict on a goal through the harness and nothing else.
//!
//! [`agent`] lets a language model act in a tool loop, [`decision`] chooses among what the screen
//! offers, [`remote`] lets a process of the user's own decide, [`Abort`] proves that nobody has to,
//! [`scripted`] serves tests; [`ConfiguredBrains`] makes them from `muster.toml`.
//!
//! To add one, implement [`Executor`] in a file of its own and name it in
//! `muster_suite::config::ExecutorKind`; the compiler leads from there.

mod abort;
pub mod agent;
mod brains;
pub mod decision;
pub mod remote;
pub mod scripted;
#[cfg(test)]
mod sketch;

use async_trait::async_trait;
use muster_proto::code::ErrorCode;
use muster_proto::verdict::{Judgment, Verdict, VerdictStatus};
use muster_suite::op::Vision;
use serde_json::Value;

use crate::harness::{Harness, StepError};

pub use abort::Abort;
pub use brains::ConfiguredBrains;

/// Most characters of a verdict's summary.
const MAX_SUMMARY: usize = 2000;

/// A goal or statement, as an executor gets it.
pub struct StepContext<'a> {
    /// The door.
    pub harness: &'a dyn Harness,
    /// The goal, redacted.
    pub instruction: &'a str,
    /// Its parameters; a secret stands as `{"kind":"secret","name":…}`.
    pub params: &'a Value,
    /// The app's vocabulary.
    pub agent_context: &'a str,
    /// Completed earlier steps of the attempt, one line each, oldest first; at most 8192 bytes.
    pub ledger: &'a str,
    /// What a replay already did, one line each; must not be done again.
    pub replayed: &'a [String],
    /// Why the replay stopped; none = nothing replayed.
    pub handed_off: Option<&'a str>,
    /// What a judgment goes by.
    pub vision: Vision,
}

/// Reaches verdicts.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Its name, for recordings and reports.
    fn name(&self) -> &'static str;
    /// Its version, for recordings.
    fn version(&self) -> &'static str;
    /// Drives the app until the goal is reached, fails or blocks.
    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError>;
    /// Judges one statement on the current screen. Not knowing is `Inconclusive`.
    async fn judge(&self, context: &StepContext<'_>) -> Result<Judgment, StepError>;
    /// Reads data that fits `schema` off the current screen; none = it is not there.
    async fn extract(
        &self,
        context: &StepContext<'_>,
        schema: &Value,
    ) -> Result<Option<Value>, StepError>;
}

/// A verdict with its summary cut to size.
fn verdict(status: VerdictStatus, summary: impl Into<String>, code: Option<ErrorCode>) -> Verdict {
    let summary: String = summary.into().chars().take(MAX_SUMMARY).collect();
    Verdict {
        status,
        summary,
        code,
    }
}
