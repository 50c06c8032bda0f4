//! The seam between leases and attempts: a session hands out assignments and gets outputs back.

use async_trait::async_trait;
use muster_proto::id::NodeId;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::attempt::{AttemptOutput, News};

/// A leased unit.
#[derive(Debug)]
pub struct Assignment {
    /// What to run, with everything that the coordinator says about it.
    pub lease: v1::Lease,
    /// The unit of the lease.
    pub unit: v1::Unit,
    /// This node.
    pub node: NodeId,
    /// Live news; lossy: a full queue drops.
    pub news: mpsc::Sender<News>,
    /// The lease is gone or the node ends: stop, and nobody wants the output.
    pub cancel: CancellationToken,
}

/// Runs attempts.
#[async_trait]
pub trait Runner: Send + Sync + 'static {
    /// What it offers, e.g. `browser:chromium`, `egress`.
    fn capabilities(&self) -> Vec<String>;

    /// Digest of the policy that it runs under; empty = none.
    fn policy_digest(&self) -> String;

    /// Runs one attempt to its end and cleans up after it.
    ///
    /// # Errors
    /// With an infrastructure, configuration or internal problem where the attempt never came to
    /// a result of its own.
    async fn run(&self, assignment: Assignment) -> Result<AttemptOutput, Problem>;

    /// Ends browsers and what else it keeps between attempts. No attempt runs any more.
    async fn close(&self);
}
