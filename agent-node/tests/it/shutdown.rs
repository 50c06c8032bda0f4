//! A node leaves in order: no more work, attempts end or are given back, results are flushed.

use std::time::Duration;

use muster_proto::v1;

use crate::coordinator::{CALM, Coordinator, Node, decoded, token};
use crate::runner::{End, scripted};
use crate::soon;

#[tokio::test]
async fn within_the_grace_attempts_end_and_their_results_are_acknowledged() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let node = Node::start(coordinator.endpoint(), 1, Duration::from_secs(60), runner);
    let (mut stream, _) = coordinator.attached(CALM).await;
    stream.lease("a", 1).await;
    let attempt = script.started().await;
    stream.lease("b", 1).await;
    while stream.beat().await.held.len() < 2 {}

    node.shutdown.cancel();
    assert_eq!(
        stream.drain().await.returned,
        [token("b", 1)],
        "what has not begun goes back"
    );
    stream.lease("c", 1).await;
    assert_eq!(
        stream.drain().await.returned,
        [token("c", 1)],
        "and so does what comes too late"
    );
    assert!(!attempt.cancel.is_cancelled());
    assert!(!*script.closed.borrow());

    attempt.end(End::Passed);
    let result = stream.result().await;
    assert_eq!(decoded(&result).status(), v1::Status::Passed);
    soon(
        "the runner is closed",
        script.closed.wait_for(|closed| *closed),
    )
    .await
    .unwrap();
    stream.acknowledge(&result).await;
    assert!(stream.rest().await.is_empty());
    node.ended().await.unwrap();
}

#[tokio::test]
async fn after_the_grace_attempts_are_cancelled_and_their_leases_given_back() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let node = Node::start(coordinator.endpoint(), 1, Duration::ZERO, runner);
    let (mut stream, _) = coordinator.attached(CALM).await;
    stream.lease("a", 1).await;
    let attempt = script.started().await;

    node.shutdown.cancel();
    while stream.drain().await.returned != [token("a", 1)] {}
    attempt.cancelled().await;
    assert!(
        stream.rest().await.is_empty(),
        "a lease that went back has no result"
    );
    node.ended().await.unwrap();
    assert!(*script.closed.borrow());
}
