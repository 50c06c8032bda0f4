//! What becomes of the recordings that an accepted attempt staged: written, kept or evicted by
//! compare-and-set. Only coordinators do this, and only for results that were not fenced; it never
//! fails a run.

use std::time::Duration;

use muster_cache_store::{ReplayStore, StoreError, Swap};
use muster_proto::canonical::sha256_hex;
use muster_proto::id::ReplayKey;
use muster_proto::recording::{Envelope, MAX_BYTES, SCHEMA};
use muster_proto::step::WriteState;
use muster_proto::v1;
use muster_proto::v1::staged::Intent;

/// Deadline of one store call.
const PATIENCE: Duration = Duration::from_secs(10);

/// What to ask the store for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: this is what became of it.
    Done(WriteState),
    /// Write the envelope over this generation.
    Write(u64),
    /// Delete this generation.
    Evict(u64),
}

/// What the store answered.
#[derive(Debug)]
pub enum Answer {
    /// It swapped, or somebody else was faster.
    Swap(Swap),
    /// Somebody was faster with the very same bytes: an earlier try of this settlement.
    Same,
    /// It failed.
    Failed(StoreError),
    /// It did not answer in time.
    Late,
}

/// What a staged recording asks for, and a note for people.
pub fn plan(staged: &v1::Staged, namespace: &str, mode: v1::CacheMode) -> (Plan, String) {
    let writable = mode == v1::CacheMode::ReadWrite;
    let read_only = || {
        (
            Plan::Done(WriteState::NoChange),
            "the cache is not writable in this run".to_owned(),
        )
    };
    match staged.intent() {
        Intent::Keep => (Plan::Done(WriteState::Kept), String::new()),
        Intent::Unconfirmed => (Plan::Done(WriteState::Unconfirmed), staged.reason.clone()),
        Intent::NoChange => (Plan::Done(WriteState::NoChange), staged.reason.clone()),
        Intent::NotWritten => (Plan::Done(WriteState::NotWritten), staged.reason.clone()),
        Intent::Unspecified => (
            Plan::Done(WriteState::NoChange),
            "the node asked for nothing known".to_owned(),
        ),
        Intent::Write | Intent::Evict if !writable => read_only(),
        Intent::Evict if staged.generation == 0 => (
            Plan::Done(WriteState::NoChange),
            "there was no entry to evict".to_owned(),
        ),
        Intent::Evict => (Plan::Evict(staged.generation), staged.reason.clone()),
        Intent::Write => match check(staged, namespace) {
            Ok(()) => (Plan::Write(staged.generation), String::new()),
            Err(reason) => (Plan::Done(WriteState::NotWritten), reason),
        },
    }
}

/// Whether an envelope is what it says; its payload is only hashed, never read.
fn check(staged: &v1::Staged, namespace: &str) -> Result<(), String> {
    if staged.envelope.len() > MAX_BYTES {
        return Err(format!(
            "the recording is {} bytes; the limit is {MAX_BYTES}",
            staged.envelope.len()
        ));
    }
    let envelope: Envelope = serde_json::from_slice(&staged.envelope)
        .map_err(|error| format!("the node sent an envelope that can't be read: {error}"))?;
    if envelope.schema != SCHEMA {
        return Err(format!(
            "the envelope has schema {}; this coordinator writes {SCHEMA}",
            envelope.schema
        ));
    }
    if envelope.key != staged.replay_key {
        return Err(format!("the envelope is for key {}", envelope.key));
    }
    if envelope.namespace != namespace {
        return Err(format!(
            "the envelope is for namespace {:?}; this run writes {namespace:?}",
            envelope.namespace
        ));
    }
    let digest = sha256_hex(envelope.payload.as_bytes());
    if envelope.payload_sha256 != digest {
        return Err(format!(
            "the payload has digest {digest}; its envelope says {}",
            envelope.payload_sha256
        ));
    }
    Ok(())
}

/// What became of a recording, given the store's answer.
pub fn conclude(plan: Plan, answer: Answer) -> (WriteState, String) {
    let faster = || {
        (
            WriteState::NoChange,
            "another attempt changed the entry first".to_owned(),
        )
    };
    match (plan, answer) {
        (Plan::Done(state), _) => (state, String::new()),
        (_, Answer::Failed(error)) => (WriteState::NotWritten, error.to_string()),
        (_, Answer::Late) => (
            WriteState::NotWritten,
            format!("the store did not answer within {} s", PATIENCE.as_secs()),
        ),
        (Plan::Write(_), Answer::Swap(Swap::Done(_)) | Answer::Same) => {
            (WriteState::Saved, String::new())
        }
        (Plan::Evict(_), Answer::Swap(Swap::Done(_))) => (WriteState::Evicted, String::new()),
        (Plan::Evict(_), Answer::Swap(Swap::Conflict(0))) => (
            WriteState::NoChange,
            "the entry was gone already".to_owned(),
        ),
        (Plan::Write(_) | Plan::Evict(_), Answer::Swap(Swap::Conflict(_)) | Answer::Same) => {
            faster()
        }
    }
}

/// Settles everything that an attempt staged, in its order.
pub async fn settle(
    store: &dyn ReplayStore,
    namespace: &str,
    mode: v1::CacheMode,
    staged: &[v1::Staged],
) -> Vec<v1::Settled> {
    let mut settled = Vec::with_capacity(staged.len());
    for staged in staged {
        let (plan, note) = plan(staged, namespace, mode);
        let (state, detail) = match plan {
            Plan::Done(state) => (state, note),
            Plan::Write(_) | Plan::Evict(_) => {
                let answer =
                    tokio::time::timeout(PATIENCE, ask(store, namespace, plan, staged)).await;
                let (state, detail) = conclude(plan, answer.unwrap_or(Answer::Late));
                (state, if detail.is_empty() { note } else { detail })
            }
        };
        settled.push(v1::Settled {
            step: staged.step,
            replay_key: staged.replay_key.clone(),
            state: word(state).to_owned(),
            detail,
        });
    }
    settled
}

async fn ask(store: &dyn ReplayStore, namespace: &str, plan: Plan, staged: &v1::Staged) -> Answer {
    let key = ReplayKey(staged.replay_key.clone());
    let swap = match plan {
        Plan::Write(generation) => {
            store
                .put_if(namespace, &key, generation, &staged.envelope)
                .await
        }
        Plan::Evict(generation) => store.delete_if(namespace, &key, generation).await,
        Plan::Done(_) => Ok(Swap::Done(0)),
    };
    match swap {
        Ok(Swap::Conflict(_)) if matches!(plan, Plan::Write(_)) => {
            match store.get(namespace, &key).await {
                Ok(Some(entry)) if entry.envelope == staged.envelope => Answer::Same,
                _ => Answer::Swap(Swap::Conflict(0)),
            }
        }
        Ok(swap) => Answer::Swap(swap),
        Err(error) => Answer::Failed(error),
    }
}

/// The word for a write state on the wire.
pub fn word(state: WriteState) -> &'static str {
    match state {
        WriteState::Saved => "saved",
        WriteState::Kept => "kept",
        WriteState::Unconfirmed => "unconfirmed",
        WriteState::Evicted => "evicted",
        WriteState::NoChange => "no-change",
        WriteState::NotWritten => "not-written",
    }
}

/// The write state behind a word of the wire.
pub fn parse(text: &str) -> Option<WriteState> {
    use WriteState::{Evicted, Kept, NoChange, NotWritten, Saved, Unconfirmed};
    [Saved, Kept, Unconfirmed, Evicted, NoChange, NotWritten]
        .into_iter()
        .find(|state| word(*state) == text)
}

#[cfg(test)]
mod tests {
    use muster_cache_store::files::FileReplayStore;
    use muster_proto::recording::Provenance;

    use super::*;

    #[tokio::test]
    async fn settling_again_after_a_crash_says_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileReplayStore::open(dir.path()).unwrap();
        let text = String::new;
        let provenance = Provenance {
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
        };
        let envelope = Envelope {
            schema: SCHEMA,
            key: "0a".to_owned(),
            payload: "{}".to_owned(),
            payload_sha256: sha256_hex(b"{}"),
            namespace: "local".to_owned(),
            provenance,
            signatures: Vec::new(),
        };
        let envelope = serde_json::to_vec(&envelope).unwrap();
        let mut staged = v1::Staged {
            replay_key: "0a".to_owned(),
            envelope,
            ..Default::default()
        };
        staged.set_intent(Intent::Write);
        for _ in 0..2 {
            let settled = settle(
                &store,
                "local",
                v1::CacheMode::ReadWrite,
                std::slice::from_ref(&staged),
            )
            .await;
            assert_eq!(
                (settled[0].state.as_str(), settled[0].detail.as_str()),
                ("saved", "")
            );
        }
        let entry = store.get("local", &"0a".into()).await.unwrap().unwrap();
        assert_eq!(entry.generation, 1, "written once");
    }

    #[test]
    fn every_state_has_a_word() {
        for state in [
            "saved",
            "kept",
            "unconfirmed",
            "evicted",
            "no-change",
            "not-written",
        ] {
            assert_eq!(parse(state).map(word), Some(state));
        }
        assert_eq!(parse("lost"), None);
    }
}
