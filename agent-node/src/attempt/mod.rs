//! One attempt of one test: its worker asks, the harness performs, the record is kept.
//!
//! The node gives an attempt everything it may touch; an attempt knows no stream, no lease and no
//! browser process. [`run`](crate::attempt) ends by the unit's time plus clean-up at the latest.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_cache_store::ReplayStore;
use muster_engine::Page;
use muster_proto::id::{NodeId, RunId};
use muster_proto::outcome::{Problem, Status};
use muster_proto::secret::Secret;
use muster_proto::step::{AttemptRecord, Usage};
use muster_proto::v1;
use muster_providers::model::ModelClient;
use muster_suite::config::{Agent, Model, RunSpec};
use muster_suite::frame::ModuleSource;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::executor::Executor;

/// Everything an attempt may touch.
pub struct AttemptInput {
    /// The run.
    pub run: RunId,
    /// This node.
    pub node: NodeId,
    /// What to run.
    pub unit: v1::Unit,
    /// Product retries so far; above 0 never replays.
    pub try_: u32,
    /// The run's configuration.
    pub spec: Arc<RunSpec>,
    /// The bundle's modules.
    pub modules: Arc<BTreeMap<String, ModuleSource>>,
    /// A fresh page in a context of its own. The node closes it.
    pub page: Arc<dyn Page>,
    /// The pipes of a fresh test worker. The node reaps it.
    pub worker: WorkerPipes,
    /// Where executors and models come from.
    pub brains: Arc<dyn Brains>,
    /// Recordings, read-only.
    pub recordings: Arc<dyn ReplayStore>,
    /// How the cache takes part.
    pub cache: v1::CacheGrant,
    /// Values of declared secrets, by name; a name without a value is missing on this node.
    pub secrets: Arc<BTreeMap<String, Secret>>,
    /// Digest of the policy in force.
    pub policy_digest: String,
    /// Live news; lossy: a full queue drops.
    pub progress: tokio::sync::mpsc::Sender<News>,
    /// The lease is gone or the run is cancelled.
    pub cancel: CancellationToken,
}

/// A worker's ends, as seen from the node.
pub struct WorkerPipes {
    /// Frames from the worker.
    pub from_worker: Box<dyn AsyncRead + Send + Unpin>,
    /// Frames to it; dropping it ends the worker.
    pub to_worker: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Makes executors and model clients for a configured agent.
pub trait Brains: Send + Sync {
    /// The executor of an agent.
    fn executor(&self, name: &str, agent: &Agent) -> Result<Arc<dyn Executor>, Problem>;
    /// The client of a model; MODEL_UNAVAILABLE where its key is missing.
    fn model(&self, model: &Model) -> Result<Arc<dyn ModelClient>, Problem>;
}

/// Something to show while an attempt runs; redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A step starts.
    Step(String),
    /// The test printed a line.
    Console(String),
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptOutput {
    /// How it ended; never `Flaky`.
    pub status: Status,
    /// Its first failure.
    pub problem: Option<Problem>,
    /// Why it skipped itself.
    pub skip_reason: String,
    /// The sum over its steps.
    pub usage: Usage,
    /// The full record, redacted.
    pub record: AttemptRecord,
    /// What to do with the recordings it touched.
    pub staged: Vec<v1::Staged>,
    /// A run-level condition that must end the run.
    pub stop_run: bool,
}
