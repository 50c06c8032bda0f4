//! Leases run, are renewed, revoked and given up; each that holds ends in one result.

use std::time::Duration;

use muster_agent_node::attempt::News;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message as ToNode;
use muster_proto::v1::node_message::Message as FromNode;

use crate::coordinator::{CALM, Coordinator, Node, decoded, token};
use crate::runner::{End, scripted};

const GRACE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_lease_becomes_an_attempt_and_its_result() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let _node = Node::start(coordinator.endpoint(), 2, GRACE, runner);
    let (mut stream, hello) = coordinator.attached(CALM).await;
    assert_eq!(hello.name, "node");
    assert!(hello.node_id.starts_with("node-"), "{}", hello.node_id);
    assert_eq!(hello.capabilities, ["browser:scripted", "egress"]);
    assert_eq!(
        (hello.slots, hello.policy_digest.as_str(), hello.held.len()),
        (2, "policy", 0)
    );

    stream.lease("a", 7).await;
    let attempt = script.started().await;
    assert_eq!(attempt.unit, "a");
    while stream.beat().await.held != [token("a", 7)] {}

    attempt
        .news
        .send(News::Step("tap button \"Pay\"".to_owned()))
        .await
        .unwrap();
    let progress = stream
        .until("progress", |message| match message {
            FromNode::Progress(progress) => Some(progress),
            _ => None,
        })
        .await;
    assert_eq!(
        (progress.unit_id.as_str(), progress.r#try, &progress.node_id),
        ("a", 1, &hello.node_id)
    );
    assert_eq!(
        progress.what,
        Some(v1::progress::What::Step("tap button \"Pay\"".to_owned()))
    );

    attempt.end(End::Passed);
    let result = stream.result().await;
    assert_eq!(result.token, Some(token("a", 7)));
    let attempt = decoded(&result);
    assert_eq!(
        (
            attempt.run_id.as_str(),
            attempt.unit_id.as_str(),
            attempt.r#try,
            attempt.epoch
        ),
        ("run", "a", 1, 7)
    );
    assert_eq!(
        (attempt.node_id.clone(), attempt.status()),
        (hello.node_id, v1::Status::Passed)
    );
    assert_eq!(attempt.usage.unwrap().decisions, 3);
    assert!(attempt.ended_at.is_some() && attempt.problem.is_none());
    assert_eq!(
        coordinator.record(&attempt.record_digest).await.console,
        ["hello"]
    );

    // Held until it is acknowledged, then let go.
    assert_eq!(stream.beat().await.held, [token("a", 7)]);
    stream.acknowledge(&result).await;
    while !stream.beat().await.held.is_empty() {}
}

#[tokio::test]
async fn an_attempt_that_never_was_or_that_panicked_is_one_result_of_its_class() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let _node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    let (mut stream, _) = coordinator.attached(CALM).await;

    stream.lease("a", 1).await;
    let problem = Problem::new(ErrorCode::BrowserUnavailable, "no browser found");
    script.started().await.end(End::Problem(problem.clone()));
    let result = decoded(&stream.result().await);
    assert_eq!(result.status(), v1::Status::Failed);
    assert_eq!(result.problem.unwrap().code, "BROWSER_UNAVAILABLE");
    let record = coordinator.record(&result.record_digest).await;
    assert_eq!(
        (record.status, record.problem, record.steps.len()),
        (Status::Failed, Some(problem), 0)
    );

    stream.lease("b", 1).await;
    script.started().await.end(End::Panic);
    let result = decoded(&stream.result().await);
    assert_eq!(result.problem.unwrap().code, "INTERNAL_ERROR");

    stream.lease("c", 1).await;
    script.started().await.end(End::Passed);
    assert_eq!(
        decoded(&stream.result().await).status(),
        v1::Status::Passed,
        "the node lives on"
    );
}

#[tokio::test]
async fn no_more_attempts_run_than_there_are_slots() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let _node = Node::start(coordinator.endpoint(), 2, GRACE, runner);
    let (mut stream, _) = coordinator.attached(CALM).await;
    for unit in ["a", "b", "c"] {
        stream.lease(unit, 1).await;
    }
    let first = script.started().await;
    let _second = script.started().await;
    while stream.beat().await.held.len() < 3 {}
    assert!(script.none_started());
    first.end(End::Passed);
    assert_eq!(script.started().await.unit, "c");
}

#[tokio::test]
async fn a_revoked_lease_is_cancelled_at_once_and_sends_no_result() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let node = Node::start(coordinator.endpoint(), 2, GRACE, runner);
    let (mut stream, _) = coordinator.attached(CALM).await;
    stream.lease("a", 1).await;
    stream.lease("b", 1).await;
    let (one, other) = (script.started().await, script.started().await);

    let revoke = v1::Revoke {
        token: Some(token("a", 1)),
        reason: "the run is cancelled".to_owned(),
    };
    stream.say(ToNode::Revoke(revoke)).await;
    let (a, b) = if one.unit == "a" {
        (one, other)
    } else {
        (other, one)
    };
    a.cancelled().await;
    assert!(!b.cancel.is_cancelled());

    // The other door: a beat's answer.
    stream.acknowledges = false;
    let beat = stream.beat().await;
    stream
        .say(ToNode::BeatAck(v1::BeatAck {
            number: beat.number,
            revoked: vec![token("b", 1)],
        }))
        .await;
    b.cancelled().await;
    while !stream.beat().await.held.is_empty() {}

    node.shutdown.cancel();
    assert!(stream.rest().await.is_empty());
    node.ended().await.unwrap();
}

#[tokio::test]
async fn a_node_that_hears_no_acknowledgement_fences_itself_and_dials_again() {
    let mut coordinator = Coordinator::start();
    let (runner, mut script) = scripted();
    let _node = Node::start(coordinator.endpoint(), 1, GRACE, runner);
    let hasty = v1::Welcome {
        beat_ms: 20,
        lease_ms: 300,
        fence_margin_ms: 100,
        revoked: Vec::new(),
    };
    let (mut stream, _) = coordinator.attached(hasty).await;

    stream.lease("a", 1).await;
    let attempt = script.started().await;
    // Acknowledged, the lease outlives its first end several times over.
    for _ in 0..30 {
        stream.beat().await;
    }
    assert!(!attempt.cancel.is_cancelled());

    stream.acknowledges = false;
    attempt.cancelled().await;
    assert!(
        stream.rest().await.is_empty(),
        "a late result counts for nothing and is not sent"
    );
    let (mut stream, hello) = coordinator.attached(CALM).await;
    assert_eq!(hello.held, []);

    // The unit comes again under a new epoch, to the same node.
    stream.lease("a", 2).await;
    script.started().await.end(End::Passed);
    assert_eq!(decoded(&stream.result().await).epoch, 2);
}
