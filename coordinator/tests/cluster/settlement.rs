//! What becomes of staged recordings, with the file store.

use muster_proto::canonical::sha256_hex;
use muster_proto::recording::{Envelope, MAX_BYTES, Provenance, SCHEMA};
use muster_proto::v1;
use muster_proto::v1::staged::Intent;

use crate::fixture::{Cluster, entry, failure, pass, unit};

const KEY: &str = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";

/// Runs one unit that stages this; what became of each.
async fn settle(cluster: &Cluster, staged: Vec<v1::Staged>) -> Vec<(String, String)> {
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    let (_, ack) = node.run_next(v1::AttemptResult { staged, ..pass() }).await;
    let committed = cluster.get(&run).await.units[0].attempts[0].settled.clone();
    assert_eq!(committed, ack.settled, "node and log agree");
    ack.settled
        .into_iter()
        .map(|settled| (settled.state, settled.detail))
        .collect()
}

async fn settle_one(cluster: &Cluster, staged: v1::Staged) -> (String, String) {
    settle(cluster, vec![staged]).await.remove(0)
}

fn envelope(key: &str, payload: &str) -> Envelope {
    let text = || "x".to_owned();
    Envelope {
        schema: SCHEMA,
        key: key.to_owned(),
        payload: payload.to_owned(),
        payload_sha256: sha256_hex(payload.as_bytes()),
        namespace: "local".to_owned(),
        provenance: Provenance {
            project: text(),
            run: text(),
            unit: text(),
            test: text(),
            target: text(),
            instruction_digest: text(),
            step: 0,
            verified_by: Some(1),
            node: text(),
            engine: text(),
            policy_digest: text(),
            recorded_at: text(),
        },
        signatures: Vec::new(),
    }
}

fn stage(intent: Intent, generation: u64) -> v1::Staged {
    let mut staged = v1::Staged {
        replay_key: KEY.to_owned(),
        generation,
        ..Default::default()
    };
    staged.set_intent(intent);
    staged
}

fn write(generation: u64, envelope: &Envelope) -> v1::Staged {
    v1::Staged {
        envelope: serde_json::to_vec(envelope).unwrap(),
        ..stage(Intent::Write, generation)
    }
}

#[tokio::test]
async fn a_recording_lives_from_saved_to_evicted() {
    let cluster = Cluster::start().await;
    let first = envelope(KEY, "{\"never\":\"read\"}");
    assert_eq!(settle_one(&cluster, write(0, &first)).await.0, "saved");
    assert_eq!(
        entry(cluster.replay.as_ref(), KEY).await,
        Some((1, serde_json::to_vec(&first).unwrap()))
    );
    assert_eq!(settle_one(&cluster, stage(Intent::Keep, 1)).await.0, "kept");

    // Somebody who had read nothing comes late; somebody who had read it replaces it.
    let second = envelope(KEY, "{}");
    let (state, detail) = settle_one(&cluster, write(0, &second)).await;
    assert_eq!(state, "no-change");
    assert!(detail.contains("another attempt"), "{detail}");
    assert_eq!(settle_one(&cluster, write(1, &second)).await.0, "saved");

    assert_eq!(
        settle_one(&cluster, stage(Intent::Evict, 1)).await.0,
        "no-change"
    );
    assert_eq!(
        settle_one(&cluster, stage(Intent::Evict, 2)).await.0,
        "evicted"
    );
    assert_eq!(entry(cluster.replay.as_ref(), KEY).await, None);
    assert_eq!(
        settle_one(&cluster, stage(Intent::Evict, 2)).await.0,
        "no-change"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn what_needs_no_store_is_said_as_it_is() {
    let cluster = Cluster::start().await;
    let reason = |intent| v1::Staged {
        reason: "told so".to_owned(),
        ..stage(intent, 0)
    };
    let staged = [
        Intent::Unconfirmed,
        Intent::NoChange,
        Intent::NotWritten,
        Intent::Evict,
    ]
    .map(reason);
    let states: Vec<_> = settle(&cluster, staged.to_vec())
        .await
        .into_iter()
        .map(|(state, _)| state)
        .collect();
    assert_eq!(
        states,
        ["unconfirmed", "no-change", "not-written", "no-change"]
    );
    cluster.stop().await;
}

#[tokio::test]
async fn an_envelope_that_is_not_what_it_says_is_not_written() {
    let cluster = Cluster::start().await;
    let good = envelope(KEY, "{}");
    let wrong = [
        Envelope {
            key: "0b".to_owned(),
            ..good.clone()
        },
        Envelope {
            payload: "{ }".to_owned(),
            ..good.clone()
        },
        Envelope {
            namespace: "trusted".to_owned(),
            ..good.clone()
        },
        Envelope {
            schema: SCHEMA + 1,
            ..good.clone()
        },
    ];
    let mut staged: Vec<_> = wrong.iter().map(|envelope| write(0, envelope)).collect();
    staged.push(v1::Staged {
        envelope: b"{}".to_vec(),
        ..stage(Intent::Write, 0)
    });
    staged.push(write(0, &envelope(KEY, &"x".repeat(MAX_BYTES))));
    let settled = settle(&cluster, staged).await;
    let parts = [
        "key 0b",
        "digest",
        "namespace",
        "schema",
        "can't be read",
        "limit",
    ];
    for ((state, detail), part) in settled.iter().zip(parts) {
        assert_eq!(state, "not-written");
        assert!(detail.contains(part), "{detail}");
    }
    assert_eq!(settled.len(), parts.len());
    assert_eq!(entry(cluster.replay.as_ref(), KEY).await, None);
    cluster.stop().await;
}

#[tokio::test]
async fn only_a_writable_run_and_an_accepted_result_write() {
    let cluster = Cluster::start().await;
    let staged = vec![write(0, &envelope(KEY, "{}"))];
    let mut manifest = cluster.manifest([unit("a")]);
    manifest
        .options
        .as_mut()
        .unwrap()
        .set_cache_mode(v1::CacheMode::ReadOnly);
    cluster.submit_manifest(manifest).await;
    let mut node = cluster.node("n1").await;
    let (_, ack) = node
        .run_next(v1::AttemptResult {
            staged: staged.clone(),
            ..pass()
        })
        .await;
    assert_eq!(ack.settled[0].state, "no-change");

    // A stale lease settles nothing.
    cluster.submit([unit("a")]).await;
    let lease = node.lease().await;
    drop(node);
    let mut node = cluster.node("n1").await;
    node.finish(
        &lease,
        v1::AttemptResult {
            staged: staged.clone(),
            ..pass()
        },
    )
    .await;
    assert_eq!(node.ack().await.verdict(), v1::result_ack::Verdict::Fenced);
    assert_eq!(entry(cluster.replay.as_ref(), KEY).await, None);

    // A failed attempt's recordings settle too: what was verified before the failure stands.
    let (_, ack) = node
        .run_next(v1::AttemptResult {
            staged,
            ..failure("ASSERTION_FAILED")
        })
        .await;
    assert_eq!(ack.settled[0].state, "saved");
    cluster.stop().await;
}

#[tokio::test]
async fn a_broken_store_never_fails_the_run() {
    let cluster = Cluster::start().await;
    let run = cluster.submit([unit("a")]).await;
    let mut node = cluster.node("n1").await;
    // The namespace's directory can't be made where a file is.
    let root = cluster.socket().parent().unwrap().join("replay");
    std::fs::write(root.join("local"), b"").unwrap();
    let (_, ack) = node
        .run_next(v1::AttemptResult {
            staged: vec![write(0, &envelope(KEY, "{}"))],
            ..pass()
        })
        .await;
    assert_eq!(ack.settled[0].state, "not-written");
    assert!(
        ack.settled[0].detail.contains("unavailable"),
        "{}",
        ack.settled[0].detail
    );
    assert_eq!(cluster.watch(&run).await.verdict().await.exit_code, 0);
    cluster.stop().await;
}
