//! One node: it dials a coordinator, offers slots and runs what it is leased.
//!
//! [`run`] is the door and [`NodeConfig`] what it is told. Reading order: `session` (the
//! loop that owns leases, attempts and results), `leases` (when to renew and when to give up, as
//! a pure table), `link` and `dial` (the stream), `slot` (one attempt's way to an encoded
//! result), [`runner`] (the seam to attempts) and its real implementor `live`, with what it rents
//! for each attempt: `browsers`, [`egress`], `worker`, `suites`.
//!
//! What is absent: a step, a page and a model; those are the attempt's.

mod browsers;
mod config;
mod dial;
pub mod egress;
mod kept;
mod leases;
mod link;
mod live;
pub mod runner;
mod session;
mod slot;
mod suites;
mod words;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use muster_cache_store::remote::{RemoteBlobStore, RemoteReplayStore};
use muster_proto::code::ErrorCode;
use muster_proto::id::NodeId;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_providers::browser::{BrowserProvider, FixedBrowser, LocalBrowsers, LocalSettings};
use muster_providers::child::Supervisor;
use muster_suite::config::EgressPolicy;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use browsers::Browsers;
pub use browsers::Recycling;
pub use config::{BrowserSource, Endpoint, NodeConfig, NodeError};
use dial::Line;
use egress::{Egress, EgressLimits};
pub use live::Attempt;
use live::Live;
use runner::Runner;
use session::{Facts, Session};
use slot::Slot;
use suites::Suites;

/// Window of a browser before a page says otherwise, CSS px.
const WINDOW: (u32, u32) = (1280, 720);

/// Serves a coordinator until `shutdown`. When this returns no child of the node is left.
///
/// # Errors
/// If the supervisor or the browser's address can't be used, or the coordinator refuses the
/// node. A coordinator that is away is dialled again and again.
pub async fn run(config: NodeConfig, shutdown: CancellationToken) -> Result<(), NodeError> {
    let attempt: Attempt = Arc::new(|input| Box::pin(crate::attempt::run(input)));
    run_with(config, attempt, Recycling::default(), shutdown).await
}

/// [`run`] with another way to run what was rented for an attempt, and to reuse browsers.
///
/// # Errors
/// As [`run`].
pub async fn run_with(
    config: NodeConfig,
    attempt: Attempt,
    recycling: Recycling,
    shutdown: CancellationToken,
) -> Result<(), NodeError> {
    let line = Line::to(&config.coordinator)?;
    let supervisor = Supervisor::start(&config.supervisor)
        .await
        .map_err(|error| {
            NodeError::Setup(Problem::new(ErrorCode::InternalError, error.to_string()))
        })?;
    let provider: Arc<dyn BrowserProvider> = match config.browser {
        // While one is replaced, attempts of every slot may still use those before it.
        BrowserSource::Local(path) => {
            let settings = LocalSettings {
                path,
                window: WINDOW,
                limit: config.slots.saturating_add(1),
            };
            Arc::new(LocalBrowsers::new(settings, supervisor.clone()))
        }
        BrowserSource::Fixed(address) => {
            Arc::new(FixedBrowser::new(&address).map_err(|error| {
                NodeError::Setup(Problem::new(ErrorCode::InvalidConfig, error.to_string()))
            })?)
        }
    };
    let at_most = config.policy.at_most();
    if at_most != EgressPolicy::Open && !provider.limits().egress {
        let message = format!(
            "node.toml demands the egress policy `{}`, and a browser at a DevTools address can't be held to it; let the node start its browsers",
            at_most.as_str()
        );
        return Err(NodeError::Setup(Problem::new(
            ErrorCode::InvalidConfig,
            message,
        )));
    }
    let egress = Egress::new(config.denied_ports, EgressLimits::default());
    if let Endpoint::Tcp { address, .. } = &config.coordinator {
        egress.deny_here(*address);
    }
    let live = Live {
        attempt,
        egress: provider.limits().egress,
        browsers: Browsers::new(provider, egress, recycling, supervisor.clone()),
        suites: Arc::new(Suites::new(Arc::new(RemoteBlobStore::new(
            line.channel.clone(),
            line.bearer.clone(),
        )))),
        recordings: Arc::new(RemoteReplayStore::new(
            line.channel.clone(),
            line.bearer.clone(),
        )),
        brains: config.brains,
        supervisor,
        worker: config.worker,
        env: Arc::new(config.env),
        policy: Arc::new(config.policy),
        folder: config.folder,
    };
    let presence = Presence {
        name: config.name,
        coordinator: config.coordinator,
        slots: config.slots,
        grace: config.grace,
    };
    attend(line, presence, Arc::new(live), shutdown).await
}

/// What a coordinator sees of a node, whatever runs its attempts.
#[derive(Clone, Debug)]
pub struct Presence {
    /// See [`NodeConfig::name`].
    pub name: String,
    /// See [`NodeConfig::coordinator`].
    pub coordinator: Endpoint,
    /// See [`NodeConfig::slots`].
    pub slots: u32,
    /// See [`NodeConfig::grace`].
    pub grace: Duration,
}

/// Serves a coordinator with any runner until `shutdown`.
///
/// # Errors
/// If the coordinator refuses the node.
pub async fn serve(
    presence: Presence,
    runner: Arc<dyn Runner>,
    shutdown: CancellationToken,
) -> Result<(), NodeError> {
    attend(Line::to(&presence.coordinator)?, presence, runner, shutdown).await
}

async fn attend(
    line: Line,
    presence: Presence,
    runner: Arc<dyn Runner>,
    shutdown: CancellationToken,
) -> Result<(), NodeError> {
    let node = NodeId(format!("{}-{:08x}", presence.name, rand::random::<u32>()));
    let facts = Facts {
        hello: v1::Hello {
            node_id: node.0.clone(),
            name: presence.name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: runner.capabilities(),
            slots: presence.slots,
            policy_digest: runner.policy_digest(),
            held: Vec::new(),
        },
        grace: presence.grace,
        coordinator: presence.coordinator.to_string(),
    };
    let blobs = Arc::new(RemoteBlobStore::new(
        line.channel.clone(),
        line.bearer.clone(),
    ));
    let (news, told) = mpsc::channel(session::NEWS);
    let slot = Slot {
        node,
        runner,
        blobs,
        news,
    };

    let stop = CancellationToken::new();
    let (events, link) = link::keep(line, stop.clone());
    let mut link = tokio::spawn(link);
    let ended = Session::new(facts, slot, told).run(events, shutdown).await;
    let joined = match timeout(session::FLUSH, &mut link).await {
        Ok(joined) => joined,
        Err(_) => {
            stop.cancel();
            link.await
        }
    };
    if let Err(error) = joined {
        tracing::error!(%error, "the link's task broke");
    }
    ended
}
