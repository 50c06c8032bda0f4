//! The replay loop, beside the browser: find, act, look; no model.

use std::sync::Arc;

use muster_proto::outcome::Problem;
use muster_proto::recording::Recording;
use muster_proto::step::CacheReason;

use crate::harness::{Harness, Observation, Performed};

/// How a replay ended.
#[derive(Clone, Debug)]
pub enum ReplayOutcome {
    /// The recorded end is reached: the step has passed.
    Replayed {
        /// One line per action.
        actions: Vec<String>,
        /// How targets were found that were not as recorded, e.g. `test-id`, one for each.
        relocated: Vec<String>,
        /// What was done.
        performed: Vec<Performed>,
        /// The first screen of the step.
        first: Arc<Observation>,
        /// The screen on which the end check held.
        last: Arc<Observation>,
    },
    /// Some of it was done; the executor goes on from here and must not repeat it.
    HandedOff {
        /// Why it stopped.
        reason: CacheReason,
        /// The reason in words; says so if the last action may have been done.
        detail: String,
        /// One line per action that was done.
        actions: Vec<String>,
        /// As in `Replayed`.
        relocated: Vec<String>,
        /// What was done.
        performed: Vec<Performed>,
        /// The first screen of the step.
        first: Arc<Observation>,
    },
    /// Nothing was done.
    Missed {
        /// Why.
        reason: CacheReason,
        /// The reason in words.
        detail: String,
    },
    /// The step is over: budget, deadline, cancellation, a dead browser.
    Stopped(Problem),
}

/// Replays an opened recording.
pub async fn run(_harness: &dyn Harness, _recording: &Recording) -> ReplayOutcome {
    ReplayOutcome::Missed {
        reason: CacheReason::InvalidEntry,
        detail: "the replay loop is being built".to_owned(),
    }
}
