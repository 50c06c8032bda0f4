//! What is kept of runs: the log of facts and the committed results.
//!
//! [`RunStore`] is the seam; [`embedded`] keeps a file per run. [`fold`] says what a log means.

pub mod embedded;
pub mod fold;
mod grant;

use async_trait::async_trait;
use muster_proto::id::{RunId, UnitId};
use muster_proto::v1;

/// What becomes durable in one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Facts, numbered without gaps after what the log holds. A `Committed` without `result` stands
    /// for the one whose bytes are in `commits`, of this batch or an earlier one.
    pub facts: Vec<v1::RunEvent>,
    /// Results, each kept once.
    pub commits: Vec<Commit>,
}

/// An attempt's result, as the node sent it. The first under a unit and epoch stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The unit.
    pub unit: UnitId,
    /// The lease.
    pub epoch: u64,
    /// Encoded AttemptResult.
    pub result: Vec<u8>,
}

/// A run that an earlier process left unfinished.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// The run.
    pub run: RunId,
    /// Its generation from now on.
    pub generation: u64,
    /// Its whole log.
    pub facts: Vec<v1::RunEvent>,
    /// Results without a `Committed` fact.
    pub pending: Vec<Commit>,
}

/// Why a log could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunStoreError {
    /// There is no such run.
    #[error("no run {0}; `muster` keeps the newest {keep}", keep = embedded::KEEP)]
    NotFound(RunId),
    /// Another process has it open.
    #[error("run {0} belongs to another muster process that is still going")]
    Busy(RunId),
    /// The disk or the file fails.
    #[error("the log of run {run} can't be used: {reason}")]
    Failed {
        /// The run.
        run: RunId,
        /// What the disk says.
        reason: String,
    },
}

/// Logs by run. A log has one writer: the process that created it or took it over.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Starts a run's log; durable when this returns. `key` finds the run again; empty = none.
    async fn create(&self, run: &RunId, key: &str, first: Batch) -> Result<(), RunStoreError>;
    /// Adds to a log; durable when this returns.
    async fn append(&self, run: &RunId, batch: Batch) -> Result<(), RunStoreError>;
    /// Facts after number `after` (0 = from the start), at most `limit`, each with the generation
    /// that it was written under.
    async fn facts(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<v1::RunEvent>, RunStoreError>;
    /// The log's generation.
    async fn generation(&self, run: &RunId) -> Result<u64, RunStoreError>;
    /// The run that was created with this key.
    async fn find(&self, key: &str) -> Result<Option<RunId>, RunStoreError>;
    /// Runs, newest first.
    async fn newest(&self, limit: usize) -> Result<Vec<RunId>, RunStoreError>;
    /// Takes over every unfinished run that no other process has, raising its generation.
    async fn take_over(&self) -> Result<Vec<Unfinished>, RunStoreError>;
    /// Lets go of every log, so that another process can take it over.
    async fn close(&self);
}

/// The whole log of a run.
pub async fn all_facts(
    store: &dyn RunStore,
    run: &RunId,
) -> Result<Vec<v1::RunEvent>, RunStoreError> {
    store.facts(run, 0, usize::MAX).await
}
