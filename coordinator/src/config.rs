//! How a coordinator behaves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_cache_store::{BlobStore, ReplayStore};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;

use crate::schedule::Settings;

/// What a coordinator is made of.
#[derive(Clone)]
pub struct CoordinatorConfig {
    /// Directory of the runs' logs; shared with other `muster` processes.
    pub state_dir: PathBuf,
    /// Where recordings are settled and nodes read them.
    pub replay_store: Arc<dyn ReplayStore>,
    /// Where bundles and attempt records are.
    pub blob_store: Arc<dyn BlobStore>,
    /// Namespace of recordings; `local` without access control.
    pub namespace: String,
    /// Whether to go on with runs that an earlier process left unfinished in `state_dir`. A
    /// standing coordinator does; `muster run`, whose run ends with its process, does not.
    pub resume: bool,
    /// A lease lasts this long after its last acknowledged beat.
    pub lease: Duration,
    /// Nodes beat this often.
    pub beat: Duration,
    /// A node fences itself this long before the lease's end.
    pub fence_margin: Duration,
    /// How long a unit waits for a node that has what it needs, and a run for any node at all.
    pub node_grace: Duration,
    /// An attempt that outlives its test's timeout by this much (browser start, hooks, clean-up)
    /// loses its lease.
    pub overrun: Duration,
    /// Leases that a unit may lose, and infrastructure failures that it may have, before it ends;
    /// at least 1.
    pub infra_tries: u32,
}

impl CoordinatorConfig {
    /// The defaults: leases of 30 s renewed every 10 s, 3 infrastructure tries, a minute's grace for
    /// nodes to come, runs of earlier processes left alone.
    pub fn new(
        state_dir: impl Into<PathBuf>,
        replay_store: Arc<dyn ReplayStore>,
        blob_store: Arc<dyn BlobStore>,
    ) -> Self {
        Self {
            state_dir: state_dir.into(),
            replay_store,
            blob_store,
            namespace: "local".to_owned(),
            resume: false,
            lease: Duration::from_secs(30),
            beat: Duration::from_secs(10),
            fence_margin: Duration::from_secs(5),
            node_grace: Duration::from_secs(60),
            overrun: Duration::from_secs(180),
            infra_tries: 3,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Problem> {
        let refuse = |message: String| Err(Problem::new(ErrorCode::InvalidConfig, message));
        if self.beat.is_zero() || self.beat + self.fence_margin >= self.lease {
            return refuse(format!(
                "a lease of {:?} is too short for beats every {:?} and a fence margin of {:?}; a node must be able to \
                 beat before it fences itself",
                self.lease, self.beat, self.fence_margin
            ));
        }
        if self.infra_tries == 0 {
            return refuse(
                "0 infrastructure tries would never run anything; use 1 or more".to_owned(),
            );
        }
        Ok(())
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            lease: self.lease,
            infra_tries: self.infra_tries,
            node_grace: self.node_grace,
            overrun: self.overrun,
            namespace: self.namespace.clone(),
        }
    }
}
