//! One suite per seam, run over every implementor. A new store adds a test here.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod blobs;
mod replay;
mod server;

use muster_cache_store::files::{FileBlobStore, FileReplayStore};
use muster_cache_store::remote::{Bearer, RemoteBlobStore, RemoteReplayStore};
use server::Server;

#[tokio::test]
async fn replay_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = FileReplayStore::open(dir.path()).unwrap();
    replay::suite(&store, &store).await;
}

#[tokio::test]
async fn replay_files_of_two_processes() {
    let dir = tempfile::tempdir().unwrap();
    let reader = FileReplayStore::open(dir.path()).unwrap();
    let writer = FileReplayStore::open(dir.path()).unwrap();
    replay::suite(&reader, &writer).await;
}

#[tokio::test]
async fn replay_remote() {
    let server = Server::start();
    let remote = RemoteReplayStore::new(server.channel().await, Bearer::none());
    replay::suite(&remote, server.replay.as_ref()).await;
    replay::read_only(&remote).await;
    server.stop().await;
}

#[tokio::test]
async fn blobs_files() {
    let dir = tempfile::tempdir().unwrap();
    blobs::suite(&FileBlobStore::open(dir.path()).unwrap()).await;
}

#[tokio::test]
async fn blobs_remote() {
    let server = Server::start();
    let remote = RemoteBlobStore::new(server.channel().await, Bearer::none());
    blobs::suite(&remote).await;
    server.refuses_a_wrong_digest().await;
    server.stop().await;
}

#[tokio::test]
async fn a_store_out_of_reach_says_so() {
    let server = Server::start();
    let replay = RemoteReplayStore::new(server.channel().await, Bearer::none());
    let blobs = RemoteBlobStore::new(server.channel().await, Bearer::none());
    server.stop().await;

    replay::out_of_reach(&replay).await;
    blobs::out_of_reach(&blobs).await;
}
