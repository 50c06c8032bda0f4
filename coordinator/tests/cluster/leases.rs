//! Leases: renewed, expired, fenced, given back, taken along.

use muster_proto::v1;
use muster_proto::v1::node_message::Message as ToCoordinator;
use muster_proto::v1::result_ack::Verdict;
use muster_proto::v1::run_event::Event;
use tokio::time::Instant;

use crate::fixture::{Cluster, SHORT, hello, line, pass, unit};

#[tokio::test]
async fn beats_keep_a_lease() {
    let cluster = Cluster::with_short_leases().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    let lease = node.lease().await;
    let held = [lease.token.clone().unwrap()];
    let start = Instant::now();
    let mut number = 0;
    while start.elapsed() < SHORT * 3 {
        number += 1;
        assert_eq!(node.beat(number, &held).await.revoked, []);
    }
    node.finish(&lease, pass()).await;
    assert_eq!(node.ack().await.verdict(), Verdict::Accepted);
    assert_eq!(cluster.get(&run).await.units[0].lost, 0);
    cluster.stop().await;
}

#[tokio::test]
async fn a_silent_node_loses_its_unit_and_its_late_result_is_fenced() {
    let cluster = Cluster::with_short_leases().await;
    let mut silent = cluster.node("silent").await;
    let run = cluster.submit([unit("a")]).await;
    let mut watcher = cluster.watch(&run).await;
    let lost = silent.lease().await;
    let mut other = cluster.node("other").await;
    let lease = other.lease().await;
    assert_eq!((lease.r#try, lease.token.as_ref().unwrap().epoch), (0, 2));

    silent.finish(&lost, pass()).await;
    assert_eq!(silent.ack().await.verdict(), Verdict::Fenced);
    assert_eq!(
        silent.beat(1, &[lost.token.clone().unwrap()]).await.revoked,
        [lost.token.unwrap()]
    );
    other.finish(&lease, pass()).await;
    assert_eq!(other.ack().await.verdict(), Verdict::Accepted);

    let facts: Vec<_> = watcher.rest().await.iter().map(line).collect();
    assert_eq!(
        facts,
        [
            "planned",
            "leased a try 0 epoch 1 on silent",
            "expired a epoch 1",
            "leased a try 0 epoch 2 on other",
            "fenced a epoch 1 of silent",
            "committed a epoch 2 last",
            "final 0 passed",
        ]
    );
    cluster.stop().await;
}

/// A node that is stopped or cut off, while its stream has yet to break.
#[tokio::test]
async fn a_silent_node_gets_no_more_work_until_it_is_heard() {
    let cluster = Cluster::with_short_leases().await;
    let mut node = cluster.node("silent").await;
    let run = cluster.submit([unit("a"), unit("b")]).await;
    node.lease().await;
    cluster.watch(&run).await.until(expired).await;
    let units = cluster.get(&run).await.units;
    let states: Vec<_> = units.iter().map(|unit| unit.state.as_str()).collect();
    assert_eq!(states, ["waiting", "waiting"]);
    node.beat(1, &[]).await;
    node.lease().await;
    cluster.stop().await;
}

fn expired(event: &Event) -> Option<()> {
    matches!(event, Event::Expired(_)).then_some(())
}

#[tokio::test]
async fn a_unit_that_loses_every_node_ends() {
    let cluster = Cluster::with_short_leases().await;
    let mut node = cluster.node("n1").await;
    let run = cluster.submit([unit("a")]).await;
    let mut watcher = cluster.watch(&run).await;
    for epoch in 1..=3 {
        assert_eq!(node.lease().await.token.unwrap().epoch, epoch);
        watcher.until(expired).await;
        // It lives and takes work again, but keeps losing this unit.
        node.beat(epoch, &[]).await;
    }
    let last = watcher.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (3, "error"));
    let view = cluster.get(&run).await.units[0].clone();
    assert_eq!(
        (view.problem.unwrap().code.as_str(), view.lost),
        ("NODE_LOST", 3)
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_that_reconnects_keeps_its_leases() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    let lease = node.lease().await;
    let stranger = v1::LeaseToken {
        epoch: 7,
        ..lease.token.clone().unwrap()
    };
    drop(node);
    let held = vec![lease.token.clone().unwrap(), stranger.clone()];
    let mut node = cluster
        .attach(v1::Hello {
            held,
            ..hello("n1", 1, &[])
        })
        .await;
    assert_eq!(node.welcome.revoked, [stranger]);
    node.finish(&lease, pass()).await;
    assert_eq!(node.ack().await.verdict(), Verdict::Accepted);
    let facts: Vec<_> = cluster
        .watch(&run)
        .await
        .rest()
        .await
        .iter()
        .map(line)
        .collect();
    assert_eq!(
        facts[1..3],
        ["leased a try 0 epoch 1 on n1", "committed a epoch 1 last"]
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_that_comes_back_without_a_lease_gives_it_back() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    node.lease().await;
    drop(node);
    let mut node = cluster.node("n1").await;
    let (lease, _) = node.run_next(pass()).await;
    assert_eq!(lease.token.unwrap().epoch, 2);
    assert_eq!(
        cluster.get(&run).await.units[0].lost,
        0,
        "it never got it: not a loss"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_result_sent_twice_is_committed_once() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a"), unit("b")]).await;
    let mut node = cluster.node("n1").await;
    let (lease, _) = node.run_next(pass()).await;
    node.finish(&lease, pass()).await;
    assert_eq!(node.ack().await.verdict(), Verdict::Duplicate);
    node.run_next(pass()).await;
    // Also when the run is over.
    cluster.watch(&run).await.verdict().await;
    node.finish(&lease, pass()).await;
    assert_eq!(node.ack().await.verdict(), Verdict::Duplicate);
    let view = cluster.get(&run).await;
    assert!(
        view.units.iter().all(|unit| unit.attempts.len() == 1),
        "{view:?}"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_draining_node_gives_back_and_gets_nothing_more() {
    let cluster = Cluster::start().await;
    let run = cluster.submit(["a", "b", "c"].map(unit)).await;
    let mut leaving = cluster.attach(hello("leaving", 2, &[])).await;
    let (kept, returned) = (leaving.lease().await, leaving.lease().await);
    let drain = v1::Drain {
        returned: vec![returned.token.clone().unwrap()],
        reason: "spot notice".to_owned(),
    };
    leaving.send(ToCoordinator::Drain(drain)).await;
    let mut watcher = cluster.watch(&run).await;
    let expired = watcher
        .until(|event| {
            if let Event::Expired(expired) = event {
                Some(expired.clone())
            } else {
                None
            }
        })
        .await;
    assert!(
        expired.returned && expired.reason.contains("spot notice"),
        "{expired:?}"
    );
    leaving.finish(&kept, pass()).await;
    assert_eq!(leaving.ack().await.verdict(), Verdict::Accepted);
    let mut other = cluster.node("other").await;
    for _ in 0..2 {
        other.run_next(pass()).await;
    }
    assert_eq!(watcher.verdict().await.exit_code, 0);
    let view = cluster.get(&run).await;
    assert!(view.units.iter().all(|unit| unit.lost == 0), "{view:?}");
    cluster.stop().await;
}

#[tokio::test]
async fn an_attempt_that_outlives_its_timeout_loses_its_lease_in_spite_of_beats() {
    let cluster = Cluster::with(|config| (config.overrun, config.infra_tries) = (SHORT, 1)).await;
    let mut node = cluster.node("n1").await;
    let run = cluster
        .submit([v1::Unit {
            timeout_ms: 1,
            ..unit("a")
        }])
        .await;
    let held = [node.lease().await.token.unwrap()];
    let mut number = 0;
    let revoked = loop {
        number += 1;
        let revoked = node.beat(number, &held).await.revoked;
        if !revoked.is_empty() {
            break revoked;
        }
    };
    assert_eq!(revoked, held);
    let problem = cluster.get(&run).await.units[0].problem.clone().unwrap();
    assert!(
        problem.message.contains("outlived its test's timeout"),
        "{}",
        problem.message
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_result_that_can_not_be_read_costs_the_lease() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    let lease = node.lease().await;
    let garbage = v1::Result {
        token: lease.token,
        result: b"\xff\xff\xff".to_vec(),
    };
    node.send(ToCoordinator::Result(garbage)).await;
    assert_eq!(node.ack().await.verdict(), Verdict::Fenced);
    node.run_next(pass()).await;
    assert_eq!(cluster.watch(&run).await.verdict().await.exit_code, 0);
    assert_eq!(cluster.get(&run).await.units[0].lost, 1);
    cluster.stop().await;
}

#[tokio::test]
async fn runs_take_turns() {
    let cluster = Cluster::start().await;
    let large = cluster.submit(["a", "b", "c", "d"].map(unit)).await;
    let small = cluster.submit([unit("z")]).await;
    let mut node = cluster.node("n1").await;
    let mut order = Vec::new();
    for _ in 0..3 {
        let (lease, _) = node.run_next(pass()).await;
        order.push(lease.token.unwrap().run_id);
    }
    assert_eq!(order, [large.clone(), small, large]);
    cluster.stop().await;
}
