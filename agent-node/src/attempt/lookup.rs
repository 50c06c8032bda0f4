//! Looking for the recording of a goal.

use std::time::Duration;

use muster_cache_store::{ReplayStore, StoreError};
use muster_proto::id::ReplayKey;
use muster_proto::recording::{Envelope, Recording};
use muster_proto::step::CacheReason;
use muster_proto::v1;
use serde_json::Value;
use tokio::time::timeout;
use tracing::{Instrument, info_span};

use crate::replay::{self, Opened};

/// Longest time that a store may take; then the goal runs live.
const LOOKUP: Duration = Duration::from_secs(5);

/// How the cache takes part in an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheUse {
    /// Replays and stages.
    ReadWrite,
    /// Replays.
    ReadOnly,
    /// Neither.
    Off,
}

impl CacheUse {
    /// As granted; a mode that this build doesn't know is no grant.
    pub(super) fn granted(grant: &v1::CacheGrant) -> Self {
        match grant.mode() {
            v1::CacheMode::ReadWrite => CacheUse::ReadWrite,
            v1::CacheMode::ReadOnly => CacheUse::ReadOnly,
            v1::CacheMode::Off | v1::CacheMode::Unspecified => CacheUse::Off,
        }
    }
}

/// What was found under a key.
pub(super) struct Looked {
    /// Generation of the entry; 0 = none, or unknown.
    pub(super) generation: u64,
    /// The recording as it is kept, slots and all; for telling whether a new one is the same flow.
    pub(super) stored: Option<Recording>,
    /// The recording with its slots filled, or why it can't be used.
    pub(super) opened: Result<Opened, (CacheReason, String)>,
}

/// Looks a key up. A retry learns the entry's generation and never its content.
pub(super) async fn look_up(
    store: &dyn ReplayStore,
    namespace: &str,
    key: &ReplayKey,
    retry: bool,
    params: &Value,
    unique: &[String],
) -> Looked {
    let span = info_span!(
        "replay.lookup",
        muster.replay.lookup = tracing::field::Empty
    );
    let found = timeout(LOOKUP, store.get(namespace, key))
        .instrument(span.clone())
        .await;
    let miss = |reason, detail: &str| Looked {
        generation: 0,
        stored: None,
        opened: Err((reason, detail.to_owned())),
    };
    let looked = match found {
        Err(_) => miss(
            CacheReason::StoreUnavailable,
            "the store did not answer in 5 s",
        ),
        Ok(Err(error @ StoreError::Damaged { .. })) => {
            miss(CacheReason::InvalidEntry, &error.to_string())
        }
        Ok(Err(error)) => miss(CacheReason::StoreUnavailable, &error.to_string()),
        Ok(Ok(found)) if retry => Looked {
            generation: found.as_ref().map_or(0, |entry| entry.generation),
            stored: found.and_then(|entry| stored(&entry.envelope)),
            opened: Err((CacheReason::Retry, "a retry never replays".to_owned())),
        },
        Ok(Ok(None)) => miss(CacheReason::NoEntry, "nothing is recorded for this goal"),
        Ok(Ok(Some(entry))) => Looked {
            generation: entry.generation,
            stored: stored(&entry.envelope),
            opened: replay::open(&entry.envelope, key, params, unique)
                .map_err(|unusable| (unusable.reason, unusable.detail)),
        },
    };
    span.record(
        "muster.replay.lookup",
        match &looked.opened {
            Ok(_) => "hit",
            Err((CacheReason::NoEntry, _)) => "miss",
            Err((CacheReason::Retry, _)) => "retry",
            Err((CacheReason::StoreUnavailable, _)) => "unavailable",
            Err(_) => "unusable",
        },
    );
    looked
}

fn stored(entry: &[u8]) -> Option<Recording> {
    let envelope: Envelope = serde_json::from_slice(entry).ok()?;
    serde_json::from_str(&envelope.payload).ok()
}
