//! A coordinator: stores, the loop, and the services on its listeners.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use muster_cache_store::serve::{BlobServer, CacheServer};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::v1::blob_service_server::BlobServiceServer;
use muster_proto::v1::cache_service_server::CacheServiceServer;
use muster_proto::v1::node_service_server::NodeServiceServer;
use muster_proto::v1::run_service_server::RunServiceServer;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::api::MAX_MESSAGE;
use crate::api::access::Access;
use crate::api::listen::Listener;
use crate::api::node::NodeApi;
use crate::api::run::RunApi;
use crate::config::CoordinatorConfig;
use crate::dispatch::{Dispatch, Loop};
use crate::runs::embedded::EmbeddedRunStore;
use crate::runs::{RunStore, RunStoreError};

/// A peer that is silent this long is asked whether it is there, and cut off as long after.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// How long open calls get to end once a listener closes.
const LINGER: Duration = Duration::from_secs(5);

/// A coordinator; cheap to clone. Open one, serve it on as many listeners as needed, close it.
#[derive(Clone)]
pub struct Coordinator {
    inner: Arc<Inner>,
}

struct Inner {
    config: CoordinatorConfig,
    runs: Arc<dyn RunStore>,
    dispatch: Dispatch,
    tasks: TaskTracker,
    stop: CancellationToken,
    main: Mutex<Option<JoinHandle<Result<(), RunStoreError>>>>,
}

impl Coordinator {
    /// Opens the state directory, takes up unfinished runs if the configuration says so, and starts
    /// dealing. Nothing can reach it until it is served.
    pub async fn open(config: CoordinatorConfig) -> Result<Self, Problem> {
        config.check()?;
        let store = EmbeddedRunStore::open(&config.state_dir).map_err(|error| {
            Problem::new(
                ErrorCode::CoordinatorUnavailable,
                format!("can't keep runs in {}: {error}", config.state_dir.display()),
            )
        })?;
        let runs: Arc<dyn RunStore> = Arc::new(store);
        let (main, dispatch) = Loop::new(config.clone(), runs.clone())
            .await
            .map_err(|error| unavailable(&error))?;
        let stop = CancellationToken::new();
        let main = Mutex::new(Some(tokio::spawn(main.run(stop.clone()))));
        let inner = Inner {
            config,
            runs,
            dispatch,
            tasks: TaskTracker::new(),
            stop,
            main,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The four services, without a listener and without access checks.
    pub fn router(&self) -> Routes {
        let inner = &self.inner;
        let run = RunApi {
            dispatch: inner.dispatch.clone(),
            runs: inner.runs.clone(),
            blobs: inner.config.blob_store.clone(),
            tasks: inner.tasks.clone(),
            stop: inner.stop.clone(),
        };
        let node = NodeApi {
            dispatch: inner.dispatch.clone(),
            tasks: inner.tasks.clone(),
            stop: inner.stop.clone(),
            sessions: AtomicU64::new(1),
        };
        Routes::new(RunServiceServer::new(run).max_decoding_message_size(MAX_MESSAGE))
            .add_service(NodeServiceServer::new(node).max_decoding_message_size(MAX_MESSAGE))
            .add_service(CacheServiceServer::new(CacheServer::new(
                inner.config.replay_store.clone(),
            )))
            .add_service(BlobServiceServer::new(BlobServer::new(
                inner.config.blob_store.clone(),
            )))
    }

    /// Serves a listener until `shutdown`, or until the coordinator closes or can't go on. Open
    /// streams end then; leases outlive them and can be taken up on another listener.
    pub async fn serve(
        &self,
        listener: Listener,
        shutdown: CancellationToken,
    ) -> Result<(), Problem> {
        // Also ends when the coordinator does; ending it ends the streams.
        let hang_up = self.inner.stop.child_token();
        let server = Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE));
        let closing = hang_up.clone();
        let signal = async move { closing.cancelled().await };
        let (file, mut serving) = match listener {
            Listener::Unix { socket, file } => {
                let server = server
                    .layer(Access::open(hang_up.clone()))
                    .add_routes(self.router());
                let serving =
                    server.serve_with_incoming_shutdown(UnixListenerStream::new(socket), signal);
                (Some(file), tokio::spawn(serving))
            }
            Listener::Tcp {
                socket,
                address,
                token,
            } => {
                let access = Access::token(address, &token, hang_up.clone());
                let server = server.layer(access).add_routes(self.router());
                let incoming = TcpIncoming::from(socket).with_nodelay(Some(true));
                (
                    None,
                    tokio::spawn(server.serve_with_incoming_shutdown(incoming, signal)),
                )
            }
        };
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = shutdown.cancelled() => None,
            () = hang_up.cancelled() => None,
        };
        hang_up.cancel();
        let ended = match ended {
            Some(ended) => ended,
            None => match tokio::time::timeout(LINGER, &mut serving).await {
                Ok(ended) => ended,
                Err(_) => {
                    serving.abort();
                    Ok(Ok(()))
                }
            },
        };
        drop(file);
        let broke = |reason: String| {
            Problem::new(
                ErrorCode::CoordinatorUnavailable,
                format!("the listener broke: {reason}"),
            )
        };
        match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(broke(error.to_string())),
            Err(join) => Err(broke(join.to_string())),
        }
    }

    /// Ends every stream and the loop. Runs that are not over stay as they are; a coordinator that
    /// resumes takes them up. Fails with what stopped the loop, if something had.
    pub async fn close(&self) -> Result<(), Problem> {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        let Some(main) = self.inner.main.lock().await.take() else {
            return Ok(());
        };
        let ended = main.await;
        self.inner.runs.close().await;
        match ended {
            Ok(done) => done.map_err(|error| unavailable(&error)),
            Err(join) => Err(Problem::new(
                ErrorCode::InternalError,
                format!("the coordinator broke: {join}"),
            )),
        }
    }
}

fn unavailable(error: &RunStoreError) -> Problem {
    Problem::new(ErrorCode::CoordinatorUnavailable, error.to_string())
}
