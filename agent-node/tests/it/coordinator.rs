//! A coordinator that says what the test tells it to, over the real wire.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::node::runner::Runner;
use muster_agent_node::node::{self, Endpoint, NodeError, Presence};
use muster_cache_store::BlobStore;
use muster_cache_store::files::FileBlobStore;
use muster_cache_store::serve::BlobServer;
use muster_proto::id::BlobDigest;
use muster_proto::step::AttemptRecord;
use muster_proto::v1;
use muster_proto::v1::blob_service_server::BlobServiceServer;
use muster_proto::v1::coordinator_message::Message as ToNode;
use muster_proto::v1::node_message::Message as FromNode;
use muster_proto::v1::node_service_server::{NodeService, NodeServiceServer};
use muster_proto::v1::result_ack::Verdict;
use prost::Message;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream, UnixListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptorLayer;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tonic::{Request, Response, Status, Streaming};
use tower::layer::util::{Identity, Stack};

use crate::soon;

/// Times under which nothing runs out by itself in a test.
pub(crate) const CALM: v1::Welcome = v1::Welcome {
    beat_ms: 20,
    lease_ms: 60_000,
    fence_margin_ms: 1_000,
    revoked: Vec::new(),
};

/// What a TCP listener asks for.
pub(crate) const TOKEN: &str = "token-of-the-test";

pub(crate) struct Coordinator {
    folder: tempfile::TempDir,
    pub(crate) blobs: Arc<FileBlobStore>,
    dialled: mpsc::Sender<Stream>,
    streams: mpsc::Receiver<Stream>,
    /// Of its own, so that a crash takes every connection with it.
    server: Option<Runtime>,
}

/// One node's stream, as the coordinator sees it.
pub(crate) struct Stream {
    inbox: Streaming<v1::NodeMessage>,
    outbox: mpsc::Sender<Result<v1::CoordinatorMessage, Status>>,
    /// Whether beats are acknowledged while the test waits for something else.
    pub(crate) acknowledges: bool,
}

/// A node under test.
pub(crate) struct Node {
    pub(crate) shutdown: CancellationToken,
    task: JoinHandle<Result<(), NodeError>>,
}

impl Node {
    /// Serves `endpoint` with `runner`.
    pub(crate) fn start(
        endpoint: Endpoint,
        slots: u32,
        grace: Duration,
        runner: impl Runner,
    ) -> Self {
        let presence = Presence {
            name: "node".to_owned(),
            coordinator: endpoint,
            slots,
            grace,
        };
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(node::serve(presence, Arc::new(runner), shutdown.clone()));
        Self { shutdown, task }
    }

    /// Drops everything where it stands: nothing more is said, as by `kill -9`.
    pub(crate) fn kill(self) {
        self.task.abort();
    }

    pub(crate) async fn ended(self) -> Result<(), NodeError> {
        soon("the node ends", self.task).await.unwrap()
    }
}

impl Coordinator {
    /// One that does not listen yet.
    pub(crate) fn away() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Arc::new(FileBlobStore::open(folder.path().join("blobs")).unwrap());
        let (dialled, streams) = mpsc::channel(4);
        Self {
            folder,
            blobs,
            dialled,
            streams,
            server: None,
        }
    }

    /// One that listens on its Unix socket.
    pub(crate) fn start() -> Self {
        let mut coordinator = Self::away();
        coordinator.listen();
        coordinator
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.socket())
    }

    pub(crate) fn listen(&mut self) {
        let listener = std::os::unix::net::UnixListener::bind(self.socket()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let services = self.services();
        self.serve(async move {
            let incoming = UnixListenerStream::new(UnixListener::from_std(listener).unwrap());
            server(services)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
    }

    /// Listens on TCP, and asks for [`TOKEN`] there.
    pub(crate) fn listen_on_tcp(&mut self) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let services = self.services();
        self.serve(async move {
            let incoming = TcpListenerStream::new(TcpListener::from_std(listener).unwrap());
            server(services)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        address
    }

    fn serve(&mut self, serving: impl Future<Output = ()> + Send + 'static) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.spawn(serving);
        self.server = Some(runtime);
    }

    /// Every connection breaks and nobody listens, as by `kill -9`.
    pub(crate) fn crash(&mut self) {
        self.server.take().unwrap().shutdown_background();
        std::fs::remove_file(self.socket()).unwrap();
    }

    /// The next stream that a node opens.
    pub(crate) async fn stream(&mut self) -> Stream {
        soon("the node dials", self.streams.recv()).await.unwrap()
    }

    /// The next stream, its hello, and the welcome given.
    pub(crate) async fn attached(&mut self, welcome: v1::Welcome) -> (Stream, v1::Hello) {
        let mut stream = self.stream().await;
        let hello = stream.hello().await;
        stream.say(ToNode::Welcome(welcome)).await;
        (stream, hello)
    }

    pub(crate) async fn record(&self, digest: &str) -> AttemptRecord {
        let bytes = self.blobs.get(&BlobDigest::from(digest)).await.unwrap();
        serde_json::from_slice(&bytes.expect("the record came before the result")).unwrap()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn services(&self) -> Routes {
        let node = Service {
            dialled: self.dialled.clone(),
        };
        let blobs = BlobServer::new(self.blobs.clone() as Arc<dyn BlobStore>);
        Routes::new(NodeServiceServer::new(node)).add_service(BlobServiceServer::new(blobs))
    }
}

/// A server whose callers give no token or the right one.
fn server(services: Routes) -> Router<Stack<InterceptorLayer<Check>, Identity>> {
    let check: Check = |request| {
        let told = request.metadata().get("authorization");
        match told.is_none_or(|told| told == &format!("Bearer {TOKEN}")) {
            true => Ok(request),
            false => Err(Status::unauthenticated("wrong token")),
        }
    };
    Server::builder()
        .layer(InterceptorLayer::new(check))
        .add_routes(services)
}

type Check = fn(Request<()>) -> Result<Request<()>, Status>;

impl Drop for Coordinator {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown_background();
        }
    }
}

struct Service {
    dialled: mpsc::Sender<Stream>,
}

#[tonic::async_trait]
impl NodeService for Service {
    type AttachStream = ReceiverStream<Result<v1::CoordinatorMessage, Status>>;

    async fn attach(
        &self,
        request: Request<Streaming<v1::NodeMessage>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let (outbox, messages) = mpsc::channel(16);
        let stream = Stream {
            inbox: request.into_inner(),
            outbox,
            acknowledges: true,
        };
        self.dialled
            .send(stream)
            .await
            .map_err(|_| Status::aborted("the test is over"))?;
        Ok(Response::new(ReceiverStream::new(messages)))
    }
}

impl Stream {
    pub(crate) async fn say(&self, message: ToNode) {
        let message = v1::CoordinatorMessage {
            message: Some(message),
        };
        assert!(
            self.outbox.send(Ok(message)).await.is_ok(),
            "the node still listens"
        );
    }

    pub(crate) async fn lease(&self, unit: &str, epoch: u64) {
        let lease = v1::Lease {
            token: Some(token(unit, epoch)),
            unit: Some(v1::Unit {
                unit_id: unit.to_owned(),
                ..v1::Unit::default()
            }),
            r#try: 1,
            ..v1::Lease::default()
        };
        self.say(ToNode::Lease(lease)).await;
    }

    pub(crate) async fn acknowledge(&self, result: &v1::Result) {
        let ack = v1::ResultAck {
            token: result.token.clone(),
            verdict: Verdict::Accepted.into(),
            settled: Vec::new(),
        };
        self.say(ToNode::ResultAck(ack)).await;
    }

    /// The next message, beats acknowledged on the way if that is asked for; none = the stream
    /// ended.
    pub(crate) async fn next(&mut self) -> Option<FromNode> {
        let message = soon("the node says something", self.inbox.message()).await;
        let message = message.ok().flatten()?.message;
        if let Some(FromNode::Beat(beat)) = &message
            && self.acknowledges
        {
            self.say(ToNode::BeatAck(v1::BeatAck {
                number: beat.number,
                revoked: Vec::new(),
            }))
            .await;
        }
        message
    }

    /// Passes over messages until one is wanted.
    pub(crate) async fn until<T>(&mut self, what: &str, want: impl Fn(FromNode) -> Option<T>) -> T {
        let found = async {
            loop {
                let message = self
                    .next()
                    .await
                    .unwrap_or_else(|| panic!("the stream ended before: {what}"));
                if let Some(wanted) = want(message) {
                    return wanted;
                }
            }
        };
        soon(what, found).await
    }

    pub(crate) async fn hello(&mut self) -> v1::Hello {
        match self.next().await {
            Some(FromNode::Hello(hello)) => hello,
            other => panic!("a stream begins with a hello, not {other:?}"),
        }
    }

    pub(crate) async fn beat(&mut self) -> v1::Beat {
        self.until("a beat", |message| match message {
            FromNode::Beat(beat) => Some(beat),
            _ => None,
        })
        .await
    }

    pub(crate) async fn result(&mut self) -> v1::Result {
        self.until("a result", |message| match message {
            FromNode::Result(result) => Some(result),
            _ => None,
        })
        .await
    }

    pub(crate) async fn drain(&mut self) -> v1::Drain {
        self.until("a drain", |message| match message {
            FromNode::Drain(drain) => Some(drain),
            _ => None,
        })
        .await
    }

    /// Reads the rest; what of it were results.
    pub(crate) async fn rest(mut self) -> Vec<v1::Result> {
        let mut results = Vec::new();
        while let Some(message) = self.next().await {
            if let FromNode::Result(result) = message {
                results.push(result);
            }
        }
        results
    }
}

pub(crate) fn token(unit: &str, epoch: u64) -> v1::LeaseToken {
    v1::LeaseToken {
        run_id: "run".to_owned(),
        unit_id: unit.to_owned(),
        epoch,
        generation: 1,
    }
}

pub(crate) fn decoded(result: &v1::Result) -> v1::AttemptResult {
    v1::AttemptResult::decode(result.result.as_slice()).unwrap()
}
