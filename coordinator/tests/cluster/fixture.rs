//! A coordinator on a Unix socket, its clients, and a node whose every message the test writes.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_cache_store::files::{FileBlobStore, FileReplayStore};
use muster_cache_store::{BlobStore, ReplayStore};
use muster_coordinator::{Coordinator, CoordinatorConfig, Listener};
use muster_proto::id::BlobDigest;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message as FromCoordinator;
use muster_proto::v1::node_message::Message as ToCoordinator;
use muster_proto::v1::node_service_client::NodeServiceClient;
use muster_proto::v1::run_event::Event;
use muster_proto::v1::run_service_client::RunServiceClient;
use prost::Message;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

/// No answer takes this long.
const PATIENCE: Duration = Duration::from_secs(20);
/// Leases in tests that wait for one to run out.
pub(crate) const SHORT: Duration = Duration::from_millis(150);

pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("it happens in time")
}

pub(crate) struct Cluster {
    pub(crate) coordinator: Coordinator,
    pub(crate) replay: Arc<FileReplayStore>,
    config: CoordinatorConfig,
    socket: PathBuf,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), Problem>>,
    bundle: BlobDigest,
    _dir: tempfile::TempDir,
}

impl Cluster {
    /// Leases that don't run out within a test.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Leases of [`SHORT`].
    pub(crate) async fn with_short_leases() -> Self {
        Self::with(|config| {
            (config.lease, config.beat, config.fence_margin) = (SHORT, SHORT / 5, SHORT / 5);
        })
        .await
    }

    pub(crate) async fn with(adapt: impl FnOnce(&mut CoordinatorConfig)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let replay = Arc::new(FileReplayStore::open(dir.path().join("replay")).unwrap());
        let blobs = Arc::new(FileBlobStore::open(dir.path().join("blobs")).unwrap());
        let bundle = BlobDigest::of(b"bundle");
        blobs.put(&bundle, b"bundle").await.unwrap();
        let mut config = CoordinatorConfig::new(dir.path().join("state"), replay.clone(), blobs);
        config.resume = true;
        adapt(&mut config);
        let socket = dir.path().join("sock");
        let (coordinator, shutdown, serving) = serve(&config, &socket).await;
        Self {
            coordinator,
            replay,
            config,
            socket,
            shutdown,
            serving,
            bundle,
            _dir: dir,
        }
    }

    /// Ends the coordinator and starts another one on the same stores.
    pub(crate) async fn restart(&mut self) {
        self.shutdown.cancel();
        soon(&mut self.serving).await.unwrap().unwrap();
        soon(self.coordinator.close()).await.unwrap();
        (self.coordinator, self.shutdown, self.serving) = serve(&self.config, &self.socket).await;
    }

    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        soon(self.serving).await.unwrap().unwrap();
        soon(self.coordinator.close()).await.unwrap();
        assert!(
            !self.socket.exists(),
            "the socket file goes with the listener"
        );
    }

    pub(crate) fn socket(&self) -> &PathBuf {
        &self.socket
    }

    pub(crate) async fn channel(&self) -> Channel {
        let address = format!("unix:{}", self.socket.display());
        soon(Endpoint::from_shared(address).unwrap().connect())
            .await
            .unwrap()
    }

    pub(crate) async fn client(&self) -> RunServiceClient<Channel> {
        RunServiceClient::new(self.channel().await)
    }

    pub(crate) fn manifest(&self, units: impl IntoIterator<Item = v1::Unit>) -> v1::Manifest {
        let mut options = v1::RunOptions::default();
        options.set_cache_mode(v1::CacheMode::ReadWrite);
        v1::Manifest {
            project_id: "shop".to_owned(),
            bundle_digest: self.bundle.0.clone(),
            spec_digest: self.bundle.0.clone(),
            units: units.into_iter().collect(),
            options: Some(options),
        }
    }

    pub(crate) async fn submit(&self, units: impl IntoIterator<Item = v1::Unit>) -> String {
        self.submit_manifest(self.manifest(units)).await
    }

    pub(crate) async fn submit_manifest(&self, manifest: v1::Manifest) -> String {
        let request = v1::SubmitRequest {
            manifest: Some(manifest),
            ..Default::default()
        };
        soon(self.client().await.submit(request))
            .await
            .unwrap()
            .into_inner()
            .run_id
    }

    pub(crate) async fn watch(&self, run: &str) -> Watcher {
        self.watch_after(run, None).await
    }

    pub(crate) async fn watch_after(&self, run: &str, after: Option<v1::Cursor>) -> Watcher {
        let request = v1::WatchRequest {
            run_id: run.to_owned(),
            after,
        };
        let stream = soon(self.client().await.watch(request))
            .await
            .unwrap()
            .into_inner();
        Watcher { stream }
    }

    pub(crate) async fn get(&self, run: &str) -> v1::Run {
        let request = v1::GetRunRequest {
            run_id: run.to_owned(),
        };
        soon(self.client().await.get(request))
            .await
            .unwrap()
            .into_inner()
    }

    /// A node with one slot.
    pub(crate) async fn node(&self, name: &str) -> FakeNode {
        self.attach(hello(name, 1, &[])).await
    }

    pub(crate) async fn attach(&self, hello: v1::Hello) -> FakeNode {
        let mut node = self.dial(hello).await;
        node.welcome = node
            .next("a welcome", |message| match message {
                FromCoordinator::Welcome(welcome) => Some(welcome.clone()),
                _ => None,
            })
            .await;
        node
    }

    /// A stream with a hello sent and nothing read.
    pub(crate) async fn dial(&self, hello: v1::Hello) -> FakeNode {
        let (outbox, messages) = mpsc::channel(64);
        let id = hello.node_id.clone();
        outbox
            .send(v1::NodeMessage {
                message: Some(ToCoordinator::Hello(hello)),
            })
            .await
            .unwrap();
        let mut client = NodeServiceClient::new(self.channel().await);
        let inbox = soon(client.attach(ReceiverStream::new(messages)))
            .await
            .unwrap()
            .into_inner();
        FakeNode {
            id,
            welcome: v1::Welcome::default(),
            outbox,
            inbox,
            seen: VecDeque::new(),
        }
    }
}

async fn serve(
    config: &CoordinatorConfig,
    socket: &PathBuf,
) -> (
    Coordinator,
    CancellationToken,
    JoinHandle<Result<(), Problem>>,
) {
    let coordinator = Coordinator::open(config.clone()).await.unwrap();
    let listener = Listener::unix(socket).await.unwrap();
    let shutdown = CancellationToken::new();
    let (served, token) = (coordinator.clone(), shutdown.clone());
    let serving = tokio::spawn(async move { served.serve(listener, token).await });
    (coordinator, shutdown, serving)
}

pub(crate) fn hello(name: &str, slots: u32, capabilities: &[&str]) -> v1::Hello {
    v1::Hello {
        node_id: name.to_owned(),
        name: name.to_owned(),
        slots,
        capabilities: capabilities.iter().map(|text| (*text).to_owned()).collect(),
        ..Default::default()
    }
}

pub(crate) fn unit(id: &str) -> v1::Unit {
    v1::Unit {
        unit_id: id.to_owned(),
        test_id: format!("tests/cart.e2e.ts::{id}"),
        file: "tests/cart.e2e.ts".to_owned(),
        title_path: vec![id.to_owned()],
        ..Default::default()
    }
}

pub(crate) fn failure(code: &str) -> v1::AttemptResult {
    let problem = v1::Problem {
        code: code.to_owned(),
        message: "as told".to_owned(),
        ..Default::default()
    };
    let mut result = v1::AttemptResult {
        problem: Some(problem),
        ..Default::default()
    };
    result.set_status(v1::Status::Failed);
    result
}

pub(crate) fn pass() -> v1::AttemptResult {
    let mut result = v1::AttemptResult::default();
    result.set_status(v1::Status::Passed);
    result
}

/// A node that does what the test says.
pub(crate) struct FakeNode {
    pub(crate) id: String,
    pub(crate) welcome: v1::Welcome,
    outbox: mpsc::Sender<v1::NodeMessage>,
    inbox: Streaming<v1::CoordinatorMessage>,
    seen: VecDeque<FromCoordinator>,
}

impl FakeNode {
    pub(crate) async fn send(&self, message: ToCoordinator) {
        self.outbox
            .send(v1::NodeMessage {
                message: Some(message),
            })
            .await
            .unwrap();
    }

    /// The next message that `pick` takes; others wait for their turn.
    pub(crate) async fn next<T>(
        &mut self,
        what: &str,
        pick: impl Fn(&FromCoordinator) -> Option<T>,
    ) -> T {
        if let Some((n, picked)) = self
            .seen
            .iter()
            .enumerate()
            .find_map(|(n, message)| Some((n, pick(message)?)))
        {
            self.seen.remove(n);
            return picked;
        }
        loop {
            let message = soon(self.inbox.message()).await.unwrap();
            let message = message.unwrap_or_else(|| panic!("the stream ended before {what}"));
            let message = message.message.unwrap();
            match pick(&message) {
                Some(picked) => return picked,
                None => self.seen.push_back(message),
            }
        }
    }

    pub(crate) async fn lease(&mut self) -> v1::Lease {
        self.next("a lease", |message| match message {
            FromCoordinator::Lease(lease) => Some(lease.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn ack(&mut self) -> v1::ResultAck {
        self.next("an acknowledgement", |message| match message {
            FromCoordinator::ResultAck(ack) => Some(ack.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn revoke(&mut self) -> v1::Revoke {
        self.next("a revocation", |message| match message {
            FromCoordinator::Revoke(revoke) => Some(revoke.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn refused(&mut self) -> v1::Problem {
        self.next("a refusal", |message| match message {
            FromCoordinator::Refused(refused) => refused.problem.clone(),
            _ => None,
        })
        .await
    }

    pub(crate) async fn beat(&mut self, number: u64, held: &[v1::LeaseToken]) -> v1::BeatAck {
        self.send(ToCoordinator::Beat(v1::Beat {
            number,
            held: held.to_vec(),
        }))
        .await;
        self.next("a beat's acknowledgement", |message| match message {
            FromCoordinator::BeatAck(ack) if ack.number == number => Some(ack.clone()),
            _ => None,
        })
        .await
    }

    /// Sends a result under a lease.
    pub(crate) async fn finish(&self, lease: &v1::Lease, result: v1::AttemptResult) {
        let token = lease.token.clone().unwrap();
        let result = v1::AttemptResult {
            run_id: token.run_id.clone(),
            unit_id: token.unit_id.clone(),
            r#try: lease.r#try,
            epoch: token.epoch,
            node_id: self.id.clone(),
            ..result
        };
        let result = v1::Result {
            token: Some(token),
            result: result.encode_to_vec(),
        };
        self.send(ToCoordinator::Result(result)).await;
    }

    /// Runs the next lease to its acknowledgement.
    pub(crate) async fn run_next(
        &mut self,
        result: v1::AttemptResult,
    ) -> (v1::Lease, v1::ResultAck) {
        let lease = self.lease().await;
        self.finish(&lease, result).await;
        let ack = self.ack().await;
        assert_eq!(ack.verdict(), v1::result_ack::Verdict::Accepted);
        (lease, ack)
    }
}

/// Somebody who watches a run.
pub(crate) struct Watcher {
    stream: Streaming<v1::RunEvent>,
}

impl Watcher {
    pub(crate) async fn next(&mut self) -> Option<v1::RunEvent> {
        soon(self.stream.message()).await.unwrap()
    }

    /// The next event that `pick` takes; the ones before it are let go.
    pub(crate) async fn until<T>(&mut self, pick: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let event = self
                .next()
                .await
                .expect("the stream goes on")
                .event
                .unwrap();
            if let Some(picked) = pick(&event) {
                return picked;
            }
        }
    }

    /// Everything to the stream's end.
    pub(crate) async fn rest(&mut self) -> Vec<v1::RunEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    pub(crate) async fn verdict(&mut self) -> v1::Final {
        let events = self.rest().await;
        match events.last().and_then(|event| event.event.clone()) {
            Some(Event::Final(last)) => last,
            other => panic!("the stream ends with its final fact, not {other:?}"),
        }
    }
}

/// A fact's name and what it is about.
pub(crate) fn line(event: &v1::RunEvent) -> String {
    match event.event.as_ref().unwrap() {
        Event::Planned(_) => "planned".to_owned(),
        Event::Leased(leased) => format!(
            "leased {} try {} epoch {} on {}",
            leased.unit_id, leased.r#try, leased.epoch, leased.node_id
        ),
        Event::Committed(committed) => {
            format!(
                "committed {} epoch {}{}",
                committed.unit_id,
                committed.epoch,
                if committed.last { " last" } else { "" }
            )
        }
        Event::Fenced(fenced) => format!(
            "fenced {} epoch {} of {}",
            fenced.unit_id, fenced.epoch, fenced.node_id
        ),
        Event::Expired(expired) => {
            format!(
                "expired {} epoch {}{}",
                expired.unit_id,
                expired.epoch,
                if expired.returned { " returned" } else { "" }
            )
        }
        Event::Cancelled(_) => "cancelled".to_owned(),
        Event::Final(last) => format!("final {} {}", last.exit_code, last.verdict),
        Event::Progress(_) => "progress".to_owned(),
        Event::Reset(_) => "reset".to_owned(),
    }
}

/// A node's way of reading whole stores.
pub(crate) async fn entry(store: &dyn ReplayStore, key: &str) -> Option<(u64, Vec<u8>)> {
    let entry = store.get("local", &key.into()).await.unwrap();
    entry.map(|entry| (entry.generation, entry.envelope))
}
