//! The fleet of `muster run`: a coordinator and nodes in this process, over gRPC on a private
//! Unix socket, exactly as a fleet of many machines would be.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::executor::ConfiguredBrains;
use muster_agent_node::node::{self, BrowserSource, NodeConfig, NodeError};
use muster_cache_store::files::{FileBlobStore, FileReplayStore};
use muster_coordinator::{Coordinator, CoordinatorConfig, Listener};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::child::{CommandLine, Supervisor, TempFolder};
use muster_suite::config::Browser;
use muster_suite::config::node::NodePolicy;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::endpoint::Endpoint;
use crate::env::Env;
use crate::failure::Failure;
use crate::project::Project;

/// The namespace of recordings without access control.
pub(crate) const NAMESPACE: &str = "local";

/// How long attempts that still run at the end of a run may go on: it was cancelled by then.
const GRACE: Duration = Duration::from_secs(5);

/// A coordinator and its nodes.
pub(crate) struct Fleet {
    coordinator: Coordinator,
    /// Holds the socket and the run's state; goes with the fleet, also when that is killed.
    folder: TempFolder,
    supervisor: Supervisor,
    stop_nodes: CancellationToken,
    stop_serving: CancellationToken,
    nodes: Vec<JoinHandle<Result<(), NodeError>>>,
    serving: JoinHandle<Result<(), Problem>>,
}

impl Fleet {
    pub(crate) async fn start(
        project: &Project,
        nodes: u32,
        slots: u32,
        env: &Env,
    ) -> Result<Self, Failure> {
        let supervisor = supervisor(env).await?;
        let folder = supervisor
            .temp_folder("muster-")
            .map_err(|error| Failure::new(ErrorCode::InternalError, error.to_string()))?;
        let replay = FileReplayStore::open(project.cache_dir())
            .map_err(|error| Failure::new(ErrorCode::CacheUnavailable, error.to_string()))?;
        let blobs = FileBlobStore::open(folder.path().join("blobs"))
            .map_err(|error| Failure::new(ErrorCode::InternalError, error.to_string()))?;
        let socket = socket(&folder);
        let listener = Listener::unix(&socket).await?;
        let coordinator = Coordinator::open(CoordinatorConfig {
            namespace: NAMESPACE.to_owned(),
            ..CoordinatorConfig::new(
                folder.path().join("runs"),
                Arc::new(replay),
                Arc::new(blobs),
            )
        })
        .await?;
        let stop_serving = CancellationToken::new();
        let serving = tokio::spawn({
            let (coordinator, stop) = (coordinator.clone(), stop_serving.clone());
            async move { coordinator.serve(listener, stop).await }
        });
        let stop_nodes = CancellationToken::new();
        let nodes = (1..=nodes)
            .map(|number| {
                let config = NodeConfig {
                    name: format!("node-{number}"),
                    coordinator: node::Endpoint::Unix(socket.clone()),
                    slots,
                    worker: own_command(env, "worker"),
                    supervisor: own_command(env, "supervisor"),
                    browser: browser_source(&project.config.browser),
                    brains: Arc::new(ConfiguredBrains::new(env.vars.clone(), NodePolicy::Project)),
                    env: env.vars.clone(),
                    policy: NodePolicy::Project,
                    folder: project.dir.clone(),
                    denied_ports: Vec::new(),
                    grace: GRACE,
                };
                tokio::spawn(node::run(config, stop_nodes.clone()))
            })
            .collect();
        Ok(Self {
            coordinator,
            folder,
            supervisor,
            stop_nodes,
            stop_serving,
            nodes,
            serving,
        })
    }

    /// Where it listens.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(socket(&self.folder))
    }

    /// Ends nodes, then the coordinator, and removes the run's state.
    pub(crate) async fn stop(self) {
        self.stop_nodes.cancel();
        for node in self.nodes {
            match node.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => eprintln!("muster: {error}"),
                Err(error) => eprintln!("muster: a node broke: {error}"),
            }
        }
        self.stop_serving.cancel();
        if let Ok(Err(problem)) = self.serving.await {
            eprintln!("muster: {problem}");
        }
        if let Err(problem) = self.coordinator.close().await {
            eprintln!("muster: {problem}");
        }
        drop(self.folder);
        self.supervisor.close().await;
    }
}

fn socket(folder: &TempFolder) -> PathBuf {
    folder.path().join("coordinator.sock")
}

/// The configured browser.
fn browser_source(browser: &Browser) -> BrowserSource {
    match &browser.cdp_url {
        Some(url) => BrowserSource::Fixed(url.clone()),
        None => BrowserSource::Local(browser.path.as_ref().map(PathBuf::from)),
    }
}

/// This binary with one of its hidden commands.
pub(crate) fn own_command(env: &Env, command: &str) -> CommandLine {
    CommandLine {
        program: env.exe.clone(),
        args: vec![command.into()],
    }
}

/// A supervisor for what the client itself starts.
pub(crate) async fn supervisor(env: &Env) -> Result<Supervisor, Failure> {
    Supervisor::start(&own_command(env, "supervisor"))
        .await
        .map_err(|error| Failure::new(ErrorCode::InternalError, error.to_string()))
}

/// Half of the cores, at least one.
pub(crate) fn default_slots() -> u32 {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    u32::try_from(cores / 2).unwrap_or(1).max(1)
}
