//! Streams break and come back: nothing that runs is lost, nothing is sent twice for good.

use std::time::Duration;

use muster_agent_node::node::{Endpoint, NodeError};
use muster_proto::code::ErrorCode;
use muster_proto::secret::Secret;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message as ToNode;

use crate::coordinator::{CALM, Coordinator, Node, TOKEN, decoded, token};
use crate::runner::{End, scripted};

const GRACE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_crashed_coordinator_costs_neither_attempts_nor_results() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let _node = Node::start(coordinator.endpoint(), 3, GRACE, runner);
    let (mut stream, before) = coordinator.attached(CALM).await;
    for unit in ["a", "b", "c"] {
        stream.lease(unit, 1).await;
    }
    let mut attempts = [
        script.started().await,
        script.started().await,
        script.started().await,
    ];
    attempts.sort_by(|one, other| one.unit.cmp(&other.unit));
    let [a, b, c] = attempts;
    a.end(End::Passed);
    let unacknowledged = stream.result().await;

    coordinator.crash();
    drop(stream);
    coordinator.listen();

    let mut stream = coordinator.stream().await;
    let hello = stream.hello().await;
    assert_eq!(hello.node_id, before.node_id);
    assert_eq!(hello.held, [token("a", 1), token("b", 1), token("c", 1)]);
    stream
        .say(ToNode::Welcome(v1::Welcome {
            revoked: vec![token("c", 1)],
            ..CALM
        }))
        .await;
    c.cancelled().await;
    assert_eq!(
        stream.result().await,
        unacknowledged,
        "the same bytes again"
    );
    stream.acknowledge(&unacknowledged).await;

    assert!(!b.cancel.is_cancelled());
    b.end(End::Passed);
    let result = stream.result().await;
    assert_eq!(decoded(&result).unit_id, "b");
    stream.acknowledge(&result).await;
    while !stream.beat().await.held.is_empty() {}
}

#[tokio::test]
async fn a_record_that_could_not_be_kept_at_once_is_kept_before_its_result() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let _node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    let (stream, _) = coordinator.attached(CALM).await;
    stream.lease("a", 1).await;
    let attempt = script.started().await;
    coordinator.crash();
    attempt.end(End::Passed);
    coordinator.listen();
    let (mut stream, _) = coordinator.attached(CALM).await;
    let result = decoded(&stream.result().await);
    assert_eq!(
        coordinator.record(&result.record_digest).await.console,
        ["hello"]
    );
}

#[tokio::test]
async fn a_coordinator_that_is_away_is_dialled_until_it_is_there() {
    let mut coordinator = Coordinator::away();
    let (runner, _script) = scripted();
    let node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    tokio::task::yield_now().await;
    coordinator.listen();
    let (stream, _) = coordinator.attached(CALM).await;

    // One that stops asks to be dialled again.
    let problem = v1::Problem {
        code: ErrorCode::CoordinatorUnavailable.as_str().to_owned(),
        message: "stopping".to_owned(),
        ..v1::Problem::default()
    };
    stream
        .say(ToNode::Refused(v1::Refused {
            problem: Some(problem),
        }))
        .await;
    coordinator.attached(CALM).await;
    node.shutdown.cancel();
    node.ended().await.unwrap();
}

#[tokio::test]
async fn a_coordinator_that_is_away_does_not_hold_up_a_shutdown() {
    let coordinator = Coordinator::away();
    let (runner, script) = scripted();
    let node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    node.shutdown.cancel();
    node.ended().await.unwrap();
    assert!(*script.closed.borrow());
}

#[tokio::test]
async fn a_refused_hello_ends_the_node_with_the_reason() {
    let mut coordinator = Coordinator::start();
    let (runner, script) = scripted();
    let node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    let mut stream = coordinator.stream().await;
    stream.hello().await;
    let problem = v1::Problem {
        code: ErrorCode::InvalidConfig.as_str().to_owned(),
        message: "policy digest not allowed".to_owned(),
        ..v1::Problem::default()
    };
    stream
        .say(ToNode::Refused(v1::Refused {
            problem: Some(problem),
        }))
        .await;
    let error = node.ended().await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("refused this node: INVALID_CONFIG: policy digest not allowed"),
        "{error}"
    );
    assert!(*script.closed.borrow());
}

#[tokio::test]
async fn impossible_times_end_the_node() {
    let mut coordinator = Coordinator::start();
    let (runner, _script) = scripted();
    let node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    coordinator
        .attached(v1::Welcome {
            lease_ms: 10,
            ..CALM
        })
        .await;
    let error = node.ended().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("do not fit into a lease of 10 ms"),
        "{error}"
    );
}

#[tokio::test]
async fn over_tcp_the_token_opens_the_door_and_a_wrong_one_does_not() {
    let mut coordinator = Coordinator::away();
    let address = coordinator.listen_on_tcp();
    let with = |token: &str| Endpoint::Tcp {
        address,
        token: Secret::new(token),
    };
    let (runner, mut script) = scripted();
    let node = Node::start(with(TOKEN), 1, GRACE, runner);
    let (mut stream, _) = coordinator.attached(CALM).await;
    stream.lease("a", 1).await;
    script.started().await.end(End::Passed);
    let result = stream.result().await;
    coordinator.record(&decoded(&result).record_digest).await;
    stream.acknowledge(&result).await;
    node.shutdown.cancel();
    stream.rest().await;
    node.ended().await.unwrap();

    let (runner, _script) = scripted();
    let error = Node::start(with("hunter22"), 1, GRACE, runner)
        .ended()
        .await
        .unwrap_err();
    assert!(matches!(error, NodeError::Refused { .. }));
    assert!(
        error
            .to_string()
            .contains("wrong token; check the node's token"),
        "{error}"
    );
    assert!(!error.to_string().contains("hunter22"));
}
