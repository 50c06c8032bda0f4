//! A coordinator that ends in the middle and one that goes on.

use muster_proto::v1;
use muster_proto::v1::result_ack::Verdict;
use muster_proto::v1::run_event::Event;

use crate::fixture::{Cluster, hello, line, pass, unit};

#[tokio::test]
async fn an_unfinished_run_goes_on_with_its_leases_and_watchers_start_over() {
    let mut cluster = Cluster::start().await;
    let run = cluster.submit(["a", "b", "c"].map(unit)).await;
    let mut node = cluster.node("n1").await;
    node.run_next(pass()).await;
    let lease = node.lease().await;
    let mut watcher = cluster.watch(&run).await;
    watcher
        .until(|event| matches!(event, Event::Committed(_)).then_some(()))
        .await;
    let cursor = watcher.next().await.unwrap().cursor.unwrap();
    assert_eq!(cursor.generation, 1);

    cluster.restart().await;
    let mut watcher = cluster.watch_after(&run, Some(cursor)).await;
    let reset = watcher.next().await.unwrap();
    assert_eq!(line(&reset), "reset");
    let held = vec![lease.token.clone().unwrap()];
    let mut node = cluster
        .attach(v1::Hello {
            held,
            ..hello("n1", 1, &[])
        })
        .await;
    assert_eq!(node.welcome.revoked, []);
    node.finish(&lease, pass()).await;
    assert_eq!(node.ack().await.verdict(), Verdict::Accepted);
    let (third, _) = node.run_next(pass()).await;
    assert_eq!(third.token.unwrap().generation, 2);

    let events = watcher.rest().await;
    assert!(
        events
            .iter()
            .all(|event| event.cursor.as_ref().unwrap().generation == 2)
    );
    let facts: Vec<_> = events.iter().map(line).collect();
    assert_eq!(
        facts,
        [
            "planned",
            "leased a try 0 epoch 1 on n1",
            "committed a epoch 1 last",
            "leased b try 0 epoch 1 on n1",
            "committed b epoch 1 last",
            "leased c try 0 epoch 1 on n1",
            "committed c epoch 1 last",
            "final 0 passed",
        ]
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_finished_run_stays_as_it_is() {
    let mut cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    node.run_next(pass()).await;
    cluster.watch(&run).await.verdict().await;
    let before = cluster.get(&run).await;
    cluster.restart().await;
    assert_eq!(cluster.get(&run).await, before);
    let events = cluster.watch(&run).await.rest().await;
    assert!(
        events
            .iter()
            .all(|event| event.cursor.as_ref().unwrap().generation == 1)
    );
    cluster.stop().await;
}
