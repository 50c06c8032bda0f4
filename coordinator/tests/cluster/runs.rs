//! Runs from submission to verdict.

use std::time::Duration;

use muster_coordinator::problem_of;
use muster_proto::code::ErrorCode;
use muster_proto::v1;
use muster_proto::v1::node_message::Message as ToCoordinator;
use muster_proto::v1::run_event::Event;
use tonic::Code;

use crate::fixture::{Cluster, failure, hello, line, pass, soon, unit};

#[tokio::test]
async fn a_run_passes() {
    let cluster = Cluster::start().await;
    let short = v1::Unit {
        expected_ms: 10,
        ..unit("short")
    };
    let long = v1::Unit {
        expected_ms: 90,
        ..unit("long")
    };
    let skipped = v1::Unit {
        skip_reason: "not today".to_owned(),
        ..unit("skipped")
    };
    let run = cluster.submit([short, long, skipped]).await;
    let mut watcher = cluster.watch(&run).await;
    let mut node = cluster.node("n1").await;
    assert!(node.welcome.beat_ms > 0 && node.welcome.lease_ms > node.welcome.beat_ms);

    let (first, _) = node.run_next(pass()).await;
    assert_eq!(first.unit.unwrap().unit_id, "long");
    assert_eq!(first.cache.unwrap().namespace, "local");
    node.run_next(pass()).await;

    let events = watcher.rest().await;
    let facts: Vec<_> = events.iter().map(line).collect();
    assert_eq!(
        facts,
        [
            "planned",
            "leased long try 0 epoch 1 on n1",
            "committed long epoch 1 last",
            "leased short try 0 epoch 1 on n1",
            "committed short epoch 1 last",
            "final 0 passed",
        ]
    );
    let numbers: Vec<_> = events
        .iter()
        .map(|event| event.cursor.unwrap().sequence)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);

    let view = cluster.get(&run).await;
    let states: Vec<_> = view.units.iter().map(|unit| unit.state.as_str()).collect();
    assert_eq!(states, ["passed", "passed", "skipped"]);
    assert_eq!(view.units[0].attempts.len(), 1);
    let counts = view.r#final.unwrap().counts.unwrap();
    assert_eq!((counts.expected, counts.passed, counts.skipped), (3, 2, 1));

    let listed = soon(cluster.client().await.list(v1::ListRunsRequest::default()))
        .await
        .unwrap()
        .into_inner()
        .runs;
    assert_eq!(
        listed
            .iter()
            .map(|run| run.run_id.as_str())
            .collect::<Vec<_>>(),
        [run.as_str()]
    );
    assert_eq!(listed[0].r#final.as_ref().unwrap().exit_code, 0);
    cluster.stop().await;
}

#[tokio::test]
async fn a_product_failure_is_retried_and_then_flaky() {
    let cluster = Cluster::start().await;
    let run = cluster
        .submit([v1::Unit {
            retries: 1,
            ..unit("a")
        }])
        .await;
    let mut node = cluster.node("n1").await;
    node.run_next(failure("ASSERTION_FAILED")).await;
    let (second, _) = node.run_next(pass()).await;
    assert_eq!((second.r#try, second.token.unwrap().epoch), (1, 2));
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.counts.unwrap().flaky), (0, 1));
    assert_eq!(cluster.get(&run).await.units[0].state, "flaky");
    cluster.stop().await;
}

#[tokio::test]
async fn an_infrastructure_failure_is_requeued_at_the_same_try() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    node.run_next(failure("BROWSER_CRASHED")).await;
    let (second, _) = node.run_next(failure("BROWSER_CRASHED")).await;
    assert_eq!((second.r#try, second.token.unwrap().epoch), (0, 2));
    node.run_next(failure("BROWSER_CRASHED")).await;
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!(
        (last.exit_code, last.verdict.as_str()),
        (3, "error"),
        "the third is the last"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_configuration_failure_is_never_retried() {
    let cluster = Cluster::start().await;
    let run = cluster
        .submit([v1::Unit {
            retries: 5,
            ..unit("a")
        }])
        .await;
    let mut node = cluster.node("n1").await;
    node.run_next(failure("POLICY_DENIED")).await;
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (2, "blocked"));
    cluster.stop().await;
}

#[tokio::test]
async fn two_watchers_see_the_same_facts_and_live_progress() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a"), unit("b")]).await;
    let mut early = cluster.watch(&run).await;
    let mut node = cluster.node("n1").await;
    let lease = node.lease().await;
    early
        .until(|event| matches!(event, Event::Leased(_)).then_some(()))
        .await;
    let progress = v1::Progress {
        unit_id: "a".to_owned(),
        what: Some(v1::progress::What::Step("tap button \"Pay\"".to_owned())),
        ..Default::default()
    };
    node.send(ToCoordinator::Progress(progress.clone())).await;
    let seen = early
        .until(|event| {
            if let Event::Progress(progress) = event {
                Some(progress.clone())
            } else {
                None
            }
        })
        .await;
    assert_eq!(seen, progress);
    node.finish(&lease, pass()).await;
    let cursor = loop {
        let event = early.next().await.unwrap();
        if matches!(event.event, Some(Event::Committed(_))) {
            break event.cursor.unwrap();
        }
    };
    node.ack().await;
    node.run_next(pass()).await;
    let mut late = cluster.watch_after(&run, Some(cursor)).await;
    let rest: Vec<_> = early.rest().await.iter().map(line).collect();
    assert_eq!(rest, late.rest().await.iter().map(line).collect::<Vec<_>>());
    assert_eq!(
        rest,
        [
            "leased b try 0 epoch 1 on n1",
            "committed b epoch 1 last",
            "final 0 passed"
        ]
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_person_cancels() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a"), unit("b")]).await;
    let mut node = cluster.node("n1").await;
    let lease = node.lease().await;
    cancel(&cluster, &run, None).await;
    assert_eq!(node.revoke().await.token, lease.token);
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!(
        (last.exit_code, last.verdict.as_str()),
        (130, "interrupted")
    );
    let counts = last.counts.unwrap();
    assert_eq!((counts.interrupted, counts.never_run), (1, 1));
    let view = cluster.get(&run).await;
    assert!(
        view.units[1]
            .problem
            .as_ref()
            .unwrap()
            .message
            .starts_with("never run"),
        "{view:?}"
    );
    // What comes later counts for nothing and adds no fact.
    node.finish(&lease, pass()).await;
    assert_eq!(node.ack().await.verdict(), v1::result_ack::Verdict::Fenced);
    assert_eq!(
        cluster.watch(&run).await.verdict().await,
        view.r#final.unwrap()
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_condition_stops_a_run_with_its_own_exit_code() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let problem = v1::Problem {
        code: "APP_UNREACHABLE".to_owned(),
        message: "the app's command died".to_owned(),
        ..Default::default()
    };
    cancel(&cluster, &run, Some(problem)).await;
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (3, "blocked"));

    // A node finds one itself.
    let run = cluster.submit([unit("a"), unit("b")]).await;
    let mut node = cluster.node("n1").await;
    node.run_next(v1::AttemptResult {
        stop_run: true,
        ..failure("MODEL_UNAVAILABLE")
    })
    .await;
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (2, "blocked"));
    let counts = last.counts.unwrap();
    assert_eq!((counts.failed, counts.never_run), (1, 1));
    cluster.stop().await;
}

#[tokio::test]
async fn too_many_failures_end_a_run() {
    let cluster = Cluster::start().await;
    let mut manifest = cluster.manifest(["a", "b", "c"].map(unit));
    manifest.options.as_mut().unwrap().max_failures = 1;
    let run = cluster.submit_manifest(manifest).await;
    let mut node = cluster.attach(hello("n1", 2, &[])).await;
    let (a, b) = (node.lease().await, node.lease().await);
    node.finish(&a, failure("ASSERTION_FAILED")).await;
    assert_eq!(node.revoke().await.token, b.token);
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (1, "failed"));
    let counts = last.counts.unwrap();
    assert_eq!(
        (counts.failed, counts.interrupted, counts.never_run),
        (1, 1, 1)
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_unit_that_no_node_can_run_ends_and_says_what_is_missing() {
    let cluster = Cluster::with(|config| config.node_grace = Duration::from_millis(100)).await;
    let needs = |id: &str, what: &str| v1::Unit {
        requires: vec![what.to_owned()],
        ..unit(id)
    };
    let mut node = cluster.attach(hello("n1", 1, &["browser:chromium"])).await;
    let run = cluster
        .submit([
            needs("a", "browser:firefox"),
            needs("b", "browser:chromium"),
        ])
        .await;
    let (lease, _) = node.run_next(pass()).await;
    assert_eq!(lease.unit.unwrap().unit_id, "b");
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (3, "error"));
    let problem = cluster.get(&run).await.units[0].problem.clone().unwrap();
    assert_eq!(problem.code, "UNSCHEDULABLE");
    assert!(
        problem
            .message
            .contains("`browser:firefox` (offered: `browser:chromium`)"),
        "{}",
        problem.message
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_run_without_nodes_does_not_wait_for_ever() {
    let cluster = Cluster::with(|config| config.node_grace = Duration::from_millis(50)).await;
    let run = cluster.submit([unit("a")]).await;
    let last = cluster.watch(&run).await.verdict().await;
    assert_eq!((last.exit_code, last.verdict.as_str()), (3, "error"));
    let cancelled = cluster.get(&run).await.cancelled.unwrap();
    assert!(
        cancelled.reason.contains("muster node"),
        "{}",
        cancelled.reason
    );
    cluster.stop().await;
}

#[tokio::test]
async fn what_can_not_run_is_not_taken() {
    let cluster = Cluster::start().await;
    let mut client = cluster.client().await;
    let mut submit = async |manifest: v1::Manifest| {
        let request = v1::SubmitRequest {
            manifest: Some(manifest),
            ..Default::default()
        };
        soon(client.submit(request)).await.unwrap_err()
    };
    let empty = submit(cluster.manifest([])).await;
    assert_eq!(problem_of(&empty).code, ErrorCode::NoTests);
    let twins = submit(cluster.manifest([unit("a"), unit("a")])).await;
    assert!(twins.message().contains("\"a\""), "{twins}");
    let unknown = "00".repeat(32);
    let no_blob = submit(v1::Manifest {
        bundle_digest: unknown.clone(),
        ..cluster.manifest([unit("a")])
    })
    .await;
    assert_eq!(no_blob.code(), Code::FailedPrecondition);
    assert!(no_blob.message().contains(&unknown), "{no_blob}");

    let request = v1::GetRunRequest {
        run_id: "../../etc/passwd".to_owned(),
    };
    assert_eq!(
        soon(cluster.client().await.get(request))
            .await
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    cluster.stop().await;
}

#[tokio::test]
async fn the_same_key_attaches_to_the_same_run() {
    let cluster = Cluster::start().await;
    let submit = async |key: &str| {
        let request = v1::SubmitRequest {
            manifest: Some(cluster.manifest([unit("a")])),
            idempotency_key: key.to_owned(),
        };
        soon(cluster.client().await.submit(request))
            .await
            .unwrap()
            .into_inner()
            .run_id
    };
    let first = submit("build-7").await;
    assert_eq!(submit("build-7").await, first);
    assert_ne!(submit("build-8").await, first);
    cluster.stop().await;
}

async fn cancel(cluster: &Cluster, run: &str, problem: Option<v1::Problem>) {
    let request = v1::CancelRequest {
        run_id: run.to_owned(),
        reason: "enough".to_owned(),
        problem,
    };
    soon(cluster.client().await.cancel(request)).await.unwrap();
}

#[tokio::test]
async fn leases_share_the_runs_budget_and_what_is_left_of_a_share_goes_to_the_next() {
    let cluster = Cluster::start().await;
    let mut manifest = cluster.manifest([unit("a"), unit("b")]);
    let budget = v1::BudgetGrant {
        model_calls: Some(10),
        ..Default::default()
    };
    manifest.options.get_or_insert_default().budget = Some(budget);
    cluster.submit_manifest(manifest).await;
    let mut node = cluster.node("n1").await;
    let mut cheap = pass();
    cheap.usage = Some(v1::Usage {
        model_calls: 2,
        ..Default::default()
    });
    let granted = |lease: &v1::Lease| lease.grant.unwrap().model_calls;
    let (first, _) = node.run_next(cheap).await;
    let (second, _) = node.run_next(pass()).await;
    assert_eq!((granted(&first), granted(&second)), (Some(5), Some(8)));
    assert_eq!(second.grant.unwrap().decisions, None, "no limit was set");
    cluster.stop().await;
}
