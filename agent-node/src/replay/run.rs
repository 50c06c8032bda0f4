//! The replay loop, beside the browser: find, act, look; no model.

use std::sync::Arc;
use std::time::Duration;

use muster_engine::{Node, NodeId, States};
use muster_proto::action::{Action, Target};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::recording::{RecordedAction, Recording};
use muster_proto::step::CacheReason;
use tokio::time::Instant;

use super::end::{End, Seen, check_end, reached};
use super::line::{action_line, target_line};
use super::matching::{Match, Rung, locate};
use super::route::{on_route, route};
use crate::harness::{Harness, Observation, Performed, StepError};

/// Longest look-up of the start or of a target.
const LOOK_UP: Duration = Duration::from_secs(15);

/// How long an effect that was recorded may stay away after an action before it counts as none;
/// also how long a start that already looks like the end may take to change.
const EFFECT: Duration = Duration::from_secs(2);

/// Least time for the end to settle, however fast it was when recorded.
const END_FLOOR: Duration = Duration::from_secs(5);

/// What a replay leaves of the step's time to the executor after it; half of what is left where
/// that is less.
const RESERVE: Duration = Duration::from_secs(20);

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

/// Replays an opened recording: waits for its start, does each action on the element it finds, and
/// passes only if the recorded end comes about. Time is spent where something is not there yet,
/// never where it is.
pub async fn run(harness: &dyn Harness, recording: &Recording) -> ReplayOutcome {
    let first = match harness.observe().await {
        Ok(first) => first,
        Err(StepError::Stop(problem)) => return ReplayOutcome::Stopped(problem),
        Err(StepError::Refused { message, .. } | StepError::Uncertain { message }) => {
            return ReplayOutcome::Missed {
                reason: CacheReason::WrongContext,
                detail: message,
            };
        }
    };
    let mut replay = Replay {
        harness,
        recording,
        first: first.clone(),
        latest: first,
        baseline: None,
        actions: Vec::new(),
        relocated: Vec::new(),
        performed: Vec::new(),
    };
    let played = replay.play().await;
    let Replay {
        first,
        latest,
        actions,
        relocated,
        performed,
        ..
    } = replay;
    match played {
        Ok(()) => ReplayOutcome::Replayed {
            actions,
            relocated,
            performed,
            first,
            last: latest,
        },
        Err(Halt::Stopped(problem)) => ReplayOutcome::Stopped(problem),
        Err(Halt::Diverged { reason, detail })
            if performed.is_empty() && reason != CacheReason::ActionUncertain =>
        {
            ReplayOutcome::Missed { reason, detail }
        }
        Err(Halt::Diverged { reason, detail }) => ReplayOutcome::HandedOff {
            reason,
            detail,
            actions,
            relocated,
            performed,
            first,
        },
    }
}

/// Why the loop ended early.
enum Halt {
    Diverged { reason: CacheReason, detail: String },
    Stopped(Problem),
}

impl Halt {
    fn at(reason: CacheReason, detail: impl Into<String>) -> Self {
        Halt::Diverged {
            reason,
            detail: detail.into(),
        }
    }
}

impl From<StepError> for Halt {
    /// For errors of looking and waiting; those of acting are told apart where they arise.
    fn from(error: StepError) -> Self {
        match error {
            StepError::Stop(problem) => Halt::Stopped(problem),
            StepError::Refused { message, .. } | StepError::Uncertain { message } => {
                Halt::at(CacheReason::ActionFailed, message)
            }
        }
    }
}

struct Replay<'a> {
    harness: &'a dyn Harness,
    recording: &'a Recording,
    first: Arc<Observation>,
    latest: Arc<Observation>,
    /// The first screen seen on the end route.
    baseline: Option<Arc<Observation>>,
    actions: Vec<String>,
    relocated: Vec<String>,
    performed: Vec<Performed>,
}

impl Replay<'_> {
    async fn play(&mut self) -> Result<(), Halt> {
        self.start().await?;
        let recording = self.recording;
        for recorded in &recording.actions {
            self.act(recorded).await?;
        }
        self.end().await
    }

    /// Waits for the start route, and for a screen that does not already look like the end. What
    /// counts as the first screen is the one on which the replay begins.
    async fn start(&mut self) -> Result<(), Halt> {
        let anywhere = matches!(
            self.recording.actions.first(),
            Some(RecordedAction {
                action: Action::Navigate { .. },
                ..
            })
        );
        let began = Instant::now();
        let limit = self.limit(LOOK_UP);
        let mut waits = backoff(Duration::from_secs(3));
        loop {
            let wait = waits.next().unwrap_or(LOOK_UP);
            let over = |limit: Duration| began.elapsed() + wait > limit;
            if !(anywhere || on_route(&self.recording.start_route, &self.latest.location)) {
                if over(limit) {
                    return Err(Halt::at(
                        CacheReason::WrongContext,
                        format!(
                            "the screen is {}; the recording starts on {}",
                            route(&self.latest.location),
                            self.recording.start_route
                        ),
                    ));
                }
            } else if reached(self.recording, &self.latest) {
                if over(limit.min(EFFECT)) {
                    return Err(Halt::at(
                        CacheReason::EndMismatch,
                        "everything that the recording changed is so already; a replay could prove nothing",
                    ));
                }
            } else {
                self.first = self.latest.clone();
                self.baseline = None;
                self.note(&self.latest.clone());
                return Ok(());
            }
            self.look_after(wait).await?;
        }
    }

    async fn act(&mut self, recorded: &RecordedAction) -> Result<(), Halt> {
        let line = action_line(&recorded.action);
        let mut tried = false;
        let (performed, found) = loop {
            let mut found = Vec::new();
            for target in recorded.action.targets() {
                found.push(self.find(target).await?);
            }
            let mut nodes = found.iter().map(|(node, _)| *node);
            let action = recorded
                .action
                .clone()
                .map(|_| nodes.next().expect("one was found for each target"));
            let done = match recorded.quiet {
                true => self.harness.perform_quiet(action).await,
                false => self.harness.perform(action).await,
            };
            match done {
                Ok(performed) => break (performed, found),
                // Nothing was done: the page may have moved under us, so look once more.
                Err(StepError::Refused { code, .. })
                    if !tried && code != ErrorCode::PolicyDenied =>
                {
                    tried = true;
                    self.look_after(FIRST_WAIT).await?;
                }
                Err(StepError::Refused { message, .. }) => {
                    return Err(Halt::at(
                        CacheReason::ActionFailed,
                        format!("{line}: {message}"),
                    ));
                }
                Err(StepError::Uncertain { message }) => {
                    return Err(Halt::at(
                        CacheReason::ActionUncertain,
                        format!(
                            "{line} may have been done ({message}); look before doing it again"
                        ),
                    ));
                }
                Err(StepError::Stop(problem)) => return Err(Halt::Stopped(problem)),
            }
        };
        self.note(&performed.before);
        self.note(&performed.after);
        self.latest = performed.after.clone();
        self.actions.push(line);
        let relocated = found.iter().filter_map(|(_, rung)| rung.relocated());
        self.relocated.extend(relocated.map(str::to_owned));
        let (before, changed) = (performed.before.clone(), performed.changed);
        self.performed.push(performed);
        if !recorded.action.only_moves() && !recorded.quiet && !changed {
            self.await_change(&before).await?;
        }
        Ok(())
    }

    /// An action that changed the screen when it was recorded has to change it now: going on after
    /// one that did nothing would end in a pass that the last action alone earned.
    async fn await_change(&mut self, before: &Observation) -> Result<(), Halt> {
        let began = Instant::now();
        let limit = self.limit(EFFECT);
        for wait in backoff(Duration::from_secs(1)) {
            if !looks_like(before, &self.latest) {
                return Ok(());
            }
            if began.elapsed() + wait > limit {
                break;
            }
            self.look_after(wait).await?;
        }
        let line = self.actions.last().cloned().unwrap_or_default();
        Err(Halt::at(
            CacheReason::EndMismatch,
            format!("{line} changed nothing; it did when it was recorded"),
        ))
    }

    async fn find(&mut self, target: &Target) -> Result<(NodeId, Rung), Halt> {
        let began = Instant::now();
        let limit = self.limit(LOOK_UP);
        let mut waits = backoff(Duration::from_secs(3));
        loop {
            let (reason, detail) = match locate(target, &self.latest) {
                Match::One {
                    node,
                    rung: rung @ (Rung::Exact | Rung::WithoutTestId),
                } => return Ok((node, rung)),
                Match::One {
                    node,
                    rung: Rung::TestId,
                } => {
                    let before = self.latest.clone();
                    self.look_after(FIRST_WAIT).await?;
                    let still = locate(target, &self.latest)
                        == Match::One {
                            node,
                            rung: Rung::TestId,
                        }
                        && before.node(node).map(|node| node.rect)
                            == self.latest.node(node).map(|node| node.rect);
                    if still {
                        return Ok((node, Rung::TestId));
                    }
                    (
                        CacheReason::TargetNotFound,
                        format!("{} did not hold still", target_line(target)),
                    )
                }
                Match::NotFound { detail } => (CacheReason::TargetNotFound, detail),
                Match::Ambiguous { detail } => (CacheReason::TargetAmbiguous, detail),
            };
            let wait = waits.next().unwrap_or(LOOK_UP);
            if began.elapsed() + wait > limit {
                return Err(Halt::at(reason, detail));
            }
            self.look_after(wait).await?;
        }
    }

    async fn end(&mut self) -> Result<(), Halt> {
        let began = Instant::now();
        let limit = self.limit(Duration::from_millis(self.recording.end_wait_ms).max(END_FLOOR));
        let mut waits = backoff(Duration::from_secs(1));
        loop {
            let seen = Seen {
                start: &self.first,
                baseline: self.baseline.as_ref().unwrap_or(&self.latest),
                before_last: self
                    .performed
                    .last()
                    .map_or(&self.first, |last| &last.before),
                end: &self.latest,
            };
            let why = match check_end(self.recording, &seen) {
                End::Holds => return Ok(()),
                End::NotYet { why } => why,
            };
            let wait = waits.next().unwrap_or(LOOK_UP);
            if began.elapsed() + wait > limit {
                return Err(Halt::at(CacheReason::EndMismatch, why));
            }
            self.look_after(wait).await?;
        }
    }

    async fn look_after(&mut self, wait: Duration) -> Result<(), Halt> {
        self.harness.pause(wait).await?;
        let seen = self.harness.observe().await?;
        self.note(&seen);
        self.latest = seen;
        Ok(())
    }

    fn note(&mut self, seen: &Arc<Observation>) {
        if self.baseline.is_none() && on_route(&self.recording.end_route, &seen.location) {
            self.baseline = Some(seen.clone());
        }
    }

    /// `wanted`, or less where the executor would be left too little.
    fn limit(&self, wanted: Duration) -> Duration {
        let left = self.harness.budget().time;
        wanted.min(left - RESERVE.min(left / 2))
    }
}

/// The first and shortest wait.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Waits between looks: short ones first, for ever `last` in the end.
fn backoff(last: Duration) -> impl Iterator<Item = Duration> {
    [100, 300, 600, 1000]
        .into_iter()
        .map(Duration::from_millis)
        .chain(std::iter::repeat(last))
}

/// Whether two screens show the same, wherever it stands and whatever has the focus.
fn looks_like(a: &Observation, b: &Observation) -> bool {
    let same = |a: &Node, b: &Node| {
        let focused = |states: States| States {
            focused: false,
            ..states
        };
        a.depth == b.depth
            && a.role == b.role
            && a.name == b.name
            && a.text == b.text
            && a.value == b.value
            && focused(a.states) == focused(b.states)
    };
    a.location == b.location
        && a.nodes().len() == b.nodes().len()
        && a.nodes().iter().zip(b.nodes()).all(|(a, b)| same(a, b))
}

#[cfg(test)]
mod tests;
