//! Nodes against the real coordinator: whatever becomes of a node, each unit has one result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::node::Endpoint;
use muster_cache_store::BlobStore;
use muster_cache_store::files::{FileBlobStore, FileReplayStore};
use muster_coordinator::{Coordinator, CoordinatorConfig, Listener};
use muster_proto::id::BlobDigest;
use muster_proto::v1;
use muster_proto::v1::run_service_client::RunServiceClient;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint as Transport};

use crate::coordinator::Node;
use crate::runner::{End, scripted};
use crate::{DEADLINE, soon};

const GRACE: Duration = Duration::from_secs(10);

/// A coordinator in this process and a run on it.
struct Cluster {
    socket: PathBuf,
    client: RunServiceClient<Channel>,
    run: String,
    shutdown: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Cluster {
    /// Leases last `lease`; the run has `units` units.
    async fn start(lease: Duration, units: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let replay = Arc::new(FileReplayStore::open(folder.path().join("replay")).unwrap());
        let blobs = Arc::new(FileBlobStore::open(folder.path().join("blobs")).unwrap());
        let bundle = BlobDigest::of(b"bundle");
        blobs.put(&bundle, b"bundle").await.unwrap();
        let mut config = CoordinatorConfig::new(folder.path().join("state"), replay, blobs);
        (config.lease, config.beat, config.fence_margin) = (lease, lease / 5, lease / 5);
        let socket = folder.path().join("socket");
        let coordinator = Coordinator::open(config).await.unwrap();
        let listener = Listener::unix(&socket).await.unwrap();
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let serving = tokio::spawn(async move {
            coordinator.serve(listener, stop).await.unwrap();
            coordinator.close().await.unwrap();
        });

        let address = format!("unix:{}", socket.display());
        let channel = Transport::from_shared(address)
            .unwrap()
            .connect()
            .await
            .unwrap();
        let mut client = RunServiceClient::new(channel);
        let unit = |n| v1::Unit {
            unit_id: format!("unit-{n}"),
            test_id: format!("tests/a.e2e.ts::{n}"),
            file: "tests/a.e2e.ts".to_owned(),
            title_path: vec![format!("{n}")],
            timeout_ms: 60_000,
            requires: vec!["browser:scripted".to_owned()],
            ..v1::Unit::default()
        };
        let mut options = v1::RunOptions::default();
        options.set_cache_mode(v1::CacheMode::Off);
        let manifest = v1::Manifest {
            project_id: "project".to_owned(),
            bundle_digest: bundle.0.clone(),
            spec_digest: bundle.0,
            units: (0..units).map(unit).collect(),
            options: Some(options),
        };
        let request = v1::SubmitRequest {
            manifest: Some(manifest),
            idempotency_key: String::new(),
        };
        let run = client.submit(request).await.unwrap().into_inner().run_id;
        Self {
            socket,
            client,
            run,
            shutdown,
            serving,
            _folder: folder,
        }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.socket.clone())
    }

    /// The run's end, and for each unit how often it was committed and how many leases it lost.
    async fn ended(&mut self) -> (v1::Final, BTreeMap<String, (usize, u32)>) {
        let request = v1::WatchRequest {
            run_id: self.run.clone(),
            after: None,
        };
        let mut events = self.client.watch(request).await.unwrap().into_inner();
        let last = async { while events.message().await.unwrap().is_some() {} };
        soon("the run ends", last).await;
        let request = v1::GetRunRequest {
            run_id: self.run.clone(),
        };
        let run = self.client.get(request).await.unwrap().into_inner();
        let units = run
            .units
            .into_iter()
            .map(|unit| (unit.unit_id, (unit.attempts.len(), unit.lost)));
        (run.r#final.unwrap(), units.collect())
    }

    async fn stop(self) {
        self.shutdown.cancel();
        soon("the coordinator ends", self.serving).await.unwrap();
    }
}

/// A node whose attempts all pass at once.
fn willing(endpoint: Endpoint, slots: u32) -> Node {
    let (runner, mut script) = scripted();
    tokio::spawn(async move {
        while let Some(started) = script.next().await {
            started.end(End::Passed);
        }
    });
    Node::start(endpoint, slots, GRACE, runner)
}

#[tokio::test]
async fn two_nodes_share_a_run() {
    let mut cluster = Cluster::start(Duration::from_secs(30), 40).await;
    let nodes = [
        willing(cluster.endpoint(), 2),
        willing(cluster.endpoint(), 2),
    ];
    let (end, units) = cluster.ended().await;
    assert_eq!((end.verdict.as_str(), end.exit_code), ("passed", 0));
    assert_eq!(units.len(), 40);
    assert!(units.values().all(|unit| *unit == (1, 0)), "{units:?}");
    for node in nodes {
        node.shutdown.cancel();
        node.ended().await.unwrap();
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_that_is_lost_with_its_leases_costs_no_unit_its_result() {
    let mut cluster = Cluster::start(Duration::from_millis(500), 6).await;
    let (runner, mut script) = scripted();
    let lost = Node::start(cluster.endpoint(), 2, GRACE, runner);
    let (_one, _two) = (script.started().await, script.started().await);
    lost.kill();

    let other = willing(cluster.endpoint(), 2);
    let (end, units) = cluster.ended().await;
    assert_eq!((end.verdict.as_str(), end.exit_code), ("passed", 0));
    assert!(
        units.values().all(|(results, _)| *results == 1),
        "{units:?}"
    );
    assert_eq!(
        units.values().map(|(_, lost)| lost).sum::<u32>(),
        2,
        "{units:?}"
    );
    other.shutdown.cancel();
    other.ended().await.unwrap();
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_that_leaves_gives_its_units_back_uncounted() {
    let mut cluster = Cluster::start(Duration::from_secs(30), 4).await;
    let (runner, mut script) = scripted();
    let leaving = Node::start(cluster.endpoint(), 2, Duration::ZERO, runner);
    let (_one, _two) = (script.started().await, script.started().await);
    leaving.shutdown.cancel();
    leaving.ended().await.unwrap();

    let other = willing(cluster.endpoint(), 2);
    let ended = tokio::time::timeout(DEADLINE, cluster.ended())
        .await
        .unwrap();
    assert_eq!(ended.0.verdict, "passed");
    assert!(
        ended.1.values().all(|unit| *unit == (1, 0)),
        "{:?}",
        ended.1
    );
    other.shutdown.cancel();
    other.ended().await.unwrap();
    cluster.stop().await;
}
