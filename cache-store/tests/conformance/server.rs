//! File stores served on a Unix socket.

use std::sync::Arc;

use muster_cache_store::files::{FileBlobStore, FileReplayStore};
use muster_cache_store::serve::{BlobServer, CacheServer};
use muster_proto::id::BlobDigest;
use muster_proto::v1;
use muster_proto::v1::blob_service_client::BlobServiceClient;
use muster_proto::v1::blob_service_server::BlobServiceServer;
use muster_proto::v1::cache_service_server::CacheServiceServer;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::{Channel, Endpoint};

pub(crate) struct Server {
    pub(crate) replay: Arc<FileReplayStore>,
    dir: tempfile::TempDir,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let replay = Arc::new(FileReplayStore::open(dir.path().join("replay")).unwrap());
        let blobs = Arc::new(FileBlobStore::open(dir.path().join("blobs")).unwrap());
        let socket = tokio::net::UnixListener::bind(dir.path().join("sock")).unwrap();
        let (stop, stopped) = oneshot::channel();
        let router = tonic::transport::Server::builder()
            .add_service(CacheServiceServer::new(CacheServer::new(replay.clone())))
            .add_service(BlobServiceServer::new(BlobServer::new(blobs)));
        let task = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap() };
            router
                .serve_with_incoming_shutdown(UnixListenerStream::new(socket), stopped)
                .await
                .unwrap();
        });
        Self {
            replay,
            dir,
            stop,
            task,
        }
    }

    pub(crate) async fn channel(&self) -> Channel {
        let address = format!("unix:{}", self.dir.path().join("sock").display());
        Endpoint::from_shared(address)
            .unwrap()
            .connect()
            .await
            .unwrap()
    }

    /// A client that lies about a digest, below the store's own check.
    pub(crate) async fn refuses_a_wrong_digest(&self) {
        let digest = BlobDigest::of(b"other");
        let parts = [
            v1::PutRequest {
                digest: digest.0.clone(),
                chunk: b"by".to_vec(),
            },
            v1::PutRequest {
                digest: String::new(),
                chunk: b"tes".to_vec(),
            },
        ];
        let mut client = BlobServiceClient::new(self.channel().await);
        let status = client.put(tokio_stream::iter(parts)).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status}");
        assert!(status.message().contains(digest.as_str()), "{status}");
        let present = client
            .has(v1::HasRequest {
                digests: vec![digest.0],
            })
            .await
            .unwrap()
            .into_inner()
            .present;
        assert_eq!(present, Vec::<String>::new());
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}
