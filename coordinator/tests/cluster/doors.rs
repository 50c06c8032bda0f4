//! Listeners and who may call.

use std::os::unix::fs::PermissionsExt;

use muster_cache_store::remote::{Bearer, RemoteBlobStore, RemoteReplayStore};
use muster_cache_store::{BlobStore, ReplayStore};
use muster_coordinator::Listener;
use muster_proto::code::ErrorCode;
use muster_proto::id::{BlobDigest, ReplayKey};
use muster_proto::secret::Secret;
use muster_proto::v1;
use muster_proto::v1::node_message::Message as ToCoordinator;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

use crate::fixture::{Cluster, hello, soon};

#[tokio::test]
async fn a_unix_socket_is_its_owners_alone_and_taken_once() {
    let cluster = Cluster::start().await;
    let mode = std::fs::metadata(cluster.socket())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let problem = Listener::unix(cluster.socket()).await.err().unwrap();
    assert_eq!(problem.code, ErrorCode::ListenRefused);
    cluster.stop().await;
}

#[tokio::test]
async fn a_socket_file_that_nobody_listens_on_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sock");
    // As a kill leaves it.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(Listener::unix(&path).await.unwrap());
    assert!(
        !path.exists(),
        "a listener that is never served leaves no file"
    );
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "mine").unwrap();
    let problem = Listener::unix(&path).await.err().unwrap();
    assert_eq!(problem.code, ErrorCode::ListenRefused);
    assert!(problem.message.contains("is no socket"), "{problem}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[tokio::test]
async fn a_path_that_nobody_could_dial_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let problem = Listener::unix(dir.path().join("s".repeat(120)))
        .await
        .err()
        .unwrap();
    assert_eq!(problem.code, ErrorCode::ListenRefused);
    assert!(problem.message.contains("shorter path"), "{problem}");
}

#[tokio::test]
async fn tcp_is_loopback_only_and_says_why() {
    let refused = |address: &str| {
        let address = address.parse().unwrap();
        async move {
            Listener::tcp(address, Secret::new("t"))
                .await
                .err()
                .unwrap()
        }
    };
    let open = refused("0.0.0.0:0").await;
    assert_eq!(open.code, ErrorCode::ListenRefused);
    assert!(open.message.contains("other machines"), "{open}");

    let first = Listener::tcp("127.0.0.1:0".parse().unwrap(), Secret::new("t"))
        .await
        .unwrap();
    let taken = refused(&first.address().unwrap().to_string()).await;
    assert_eq!(taken.code, ErrorCode::ListenRefused);
    assert!(taken.message.contains("the port is taken"), "{taken}");
}

#[tokio::test]
async fn tcp_wants_the_token() {
    let cluster = Cluster::start().await;
    let listener = Listener::tcp("127.0.0.1:0".parse().unwrap(), Secret::new("right"))
        .await
        .unwrap();
    let address = listener.address().unwrap();
    let shutdown = CancellationToken::new();
    let (served, token) = (cluster.coordinator.clone(), shutdown.clone());
    let serving = tokio::spawn(async move { served.serve(listener, token).await });

    let blob = BlobDigest::of(b"hello");
    let store = async |name: String, bearer: Bearer| {
        let channel = soon(
            Endpoint::from_shared(format!("http://{name}"))
                .unwrap()
                .connect(),
        )
        .await
        .unwrap();
        let blobs = RemoteBlobStore::new(channel.clone(), bearer.clone());
        let replay = RemoteReplayStore::new(channel, bearer);
        soon(blobs.put(&blob, b"hello")).await?;
        soon(replay.get("local", &ReplayKey("0a".repeat(32)))).await
    };
    let right = || Bearer::new(&Secret::new("right")).unwrap();
    assert_eq!(store(address.to_string(), right()).await.unwrap(), None);
    assert_eq!(
        store(format!("localhost:{}", address.port()), right())
            .await
            .unwrap(),
        None
    );
    let wrong = store(
        address.to_string(),
        Bearer::new(&Secret::new("wrong")).unwrap(),
    )
    .await
    .unwrap_err();
    assert!(
        wrong.to_string().contains("not this coordinator's"),
        "{wrong}"
    );
    let none = store(address.to_string(), Bearer::none())
        .await
        .unwrap_err();
    assert!(
        none.to_string().contains("a bearer token is needed"),
        "{none}"
    );

    shutdown.cancel();
    soon(serving).await.unwrap().unwrap();
    cluster.stop().await;
}

#[tokio::test]
async fn a_stream_that_breaks_the_protocol_is_refused() {
    let cluster = Cluster::start().await;
    let mut no_slots = cluster.dial(hello("n1", 0, &[])).await;
    assert_eq!(no_slots.refused().await.code, "INVALID_CONFIG");

    let mut settles = cluster.node("n1").await;
    settles
        .send(ToCoordinator::Settle(v1::Settle::default()))
        .await;
    assert_eq!(settles.refused().await.code, "UNSUPPORTED_CAPABILITY");

    let mut twice = cluster.node("n2").await;
    twice.send(ToCoordinator::Hello(hello("n2", 1, &[]))).await;
    assert!(twice.refused().await.message.contains("second hello"));
    cluster.stop().await;
}
