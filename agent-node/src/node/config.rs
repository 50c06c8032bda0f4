//! What a node is told at its start.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_providers::child::CommandLine;
use muster_suite::config::node::NodePolicy;

use crate::attempt::Brains;

/// A node.
#[derive(Clone)]
pub struct NodeConfig {
    /// For people, e.g. the host's name. The node's id is this and a random suffix.
    pub name: String,
    /// Where the coordinator is.
    pub coordinator: Endpoint,
    /// Attempts at a time, at least 1.
    pub slots: u32,
    /// How to start a test worker.
    pub worker: CommandLine,
    /// How to start the supervisor.
    pub supervisor: CommandLine,
    /// Where browsers come from.
    pub browser: BrowserSource,
    /// Makes executors and model clients.
    pub brains: Arc<dyn Brains>,
    /// The environment in which secrets are looked up.
    pub env: BTreeMap<String, String>,
    /// Where relative files and programs of secrets are.
    pub folder: PathBuf,
    /// Ports of this machine that no page may reach: Muster's own listeners.
    pub denied_ports: Vec<u16>,
    /// Whose word counts for secrets' sources, models' addresses and what pages may reach.
    pub policy: NodePolicy,
    /// How long running attempts may go on after a shutdown began; 0 = not at all.
    pub grace: Duration,
}

/// Where a coordinator listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket, guarded by its file mode.
    Unix(PathBuf),
    /// A TCP port, guarded by a bearer token.
    Tcp {
        /// Its address.
        address: SocketAddr,
        /// Its token.
        token: Secret,
    },
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
            Endpoint::Tcp { address, .. } => write!(f, "{address}"),
        }
    }
}

/// Where browsers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrowserSource {
    /// Started here; the binary, none = where Debian puts it.
    Local(Option<PathBuf>),
    /// One that already runs, by its DevTools address.
    Fixed(String),
}

/// Why a node ended other than by its shutdown.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The coordinator will not have this node; trying again would not help.
    #[error("the coordinator at {coordinator} refused this node: {problem}")]
    Refused {
        /// Its address.
        coordinator: String,
        /// Why.
        problem: Problem,
    },
    /// Something that the node needs can't be set up.
    #[error("{0}")]
    Setup(Problem),
}
