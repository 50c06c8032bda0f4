//! The conversation with the worker: calls one at a time in order of arrival, the test's clock and
//! its two phases (the body; its hooks), and every way in which it may end.

use std::collections::VecDeque;
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Place, Problem};
use muster_suite::frame::{FromWorker, TestOutcome, ToWorker};
use muster_suite::op::Op;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::record::Console;
use super::state::Attempt;
use super::worker::Worker;
use crate::harness::Scope;

/// Most calls that wait; a worker that asks for more is not read until there is room.
const MAX_WAITING: usize = 256;

/// How a conversation ended.
#[derive(Debug, PartialEq)]
pub(super) enum End {
    /// The worker told the test's outcome.
    Told {
        outcome: TestOutcome,
        secondary: Vec<Problem>,
    },
    /// The test's file didn't load, or the worker is broken.
    Broken(Problem),
    /// The time was up, and the worker did not end in the time for clean-up either.
    OutOfTime,
    /// The lease is gone or the run is cancelled.
    Cancelled,
}

/// The times of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// For the body and its `beforeEach` hooks.
    pub(super) test: Duration,
    /// For everything after the body, beside what the body left of its own.
    pub(super) cleanup: Duration,
}

/// A call that waits for its turn.
struct Call {
    id: u64,
    op: Op,
    place: Option<Place>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, on the stack"
)]
enum Event {
    Frame(Result<FromWorker, Problem>),
    PhaseOver,
    Cancelled,
}

/// Everything but the attempt itself, which a step in progress holds.
pub(super) struct Conversation<'a> {
    worker: &'a mut Worker,
    console: &'a mut Console,
    cancel: &'a CancellationToken,
    clock: Clock,
    scope: Scope,
    /// The body is over or given up; what runs now are `afterEach` hooks.
    cleaning: bool,
    /// Something has gone wrong: no check that starts now verifies a goal.
    failed: bool,
    waiting: VecDeque<Call>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        worker: &'a mut Worker,
        console: &'a mut Console,
        cancel: &'a CancellationToken,
        clock: Clock,
    ) -> Self {
        let scope = Scope::phase(cancel, clock.test);
        Self {
            worker,
            console,
            cancel,
            clock,
            scope,
            cleaning: false,
            failed: false,
            waiting: VecDeque::new(),
        }
    }

    /// Sends `first` and serves the worker until it is done.
    pub(super) async fn run(mut self, attempt: &mut Attempt, first: ToWorker) -> End {
        if let Err(problem) = self.worker.send(first) {
            return End::Broken(problem);
        }
        loop {
            let Some(call) = self.waiting.pop_front() else {
                let event = self.event().await;
                match self.take(event) {
                    Some(end) => return end,
                    None => continue,
                }
            };
            let scope = self.scope.clone();
            let step = attempt.step(&scope, &call.op, call.place, !self.failed);
            tokio::pin!(step);
            let result = loop {
                let event = tokio::select! {
                    biased;
                    result = &mut step => break result,
                    event = self.event() => event,
                };
                if let Some(end) = self.take(event) {
                    return end;
                }
            };
            if let Err(problem) = self.worker.send(ToWorker::Reply {
                id: call.id,
                result,
            }) {
                return End::Broken(problem);
            }
        }
    }

    async fn event(&mut self) -> Event {
        let room = self.waiting.len() < MAX_WAITING;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Event::Cancelled,
            () = sleep_until(self.scope.phase_ends()) => Event::PhaseOver,
            frame = self.worker.next(), if room => Event::Frame(frame),
        }
    }

    /// Acts on an event; says how the conversation ended, if it did.
    fn take(&mut self, event: Event) -> Option<End> {
        match event {
            Event::Cancelled => Some(End::Cancelled),
            Event::PhaseOver if self.cleaning => Some(End::OutOfTime),
            Event::PhaseOver => self.abandon().err().map(End::Broken),
            Event::Frame(Err(problem)) => Some(End::Broken(problem)),
            Event::Frame(Ok(frame)) => match frame {
                FromWorker::Call { id, op, place } => {
                    self.waiting.push_back(Call { id, op, place });
                    None
                }
                FromWorker::Console { level, text } => {
                    self.console.line(&level, text);
                    None
                }
                FromWorker::Failed {} => {
                    self.failed = true;
                    None
                }
                FromWorker::BodyEnded { failed } => {
                    self.failed |= failed;
                    self.clean_up(Problem::new(
                        ErrorCode::Cancelled,
                        "the test's body ended without waiting for this step",
                    ));
                    None
                }
                FromWorker::Done { outcome, secondary } => Some(End::Told { outcome, secondary }),
                FromWorker::Broken { problem } => Some(End::Broken(problem)),
                FromWorker::Collected { .. } => Some(End::Broken(Problem::new(
                    ErrorCode::WorkerCrashed,
                    "the test worker answered a run with a collection",
                ))),
            },
        }
    }

    /// The test's time is up: its step ends, what waits is dropped, hooks get time to clean up.
    fn abandon(&mut self) -> Result<(), Problem> {
        let problem = timed_out(self.clock.test);
        self.failed = true;
        self.clean_up(problem.clone());
        self.worker.send(ToWorker::Abandon { problem })
    }

    /// From here on hooks run, until the test's time and that for clean-up are over. Whatever the
    /// body still asks for or has under way ends with `problem`.
    fn clean_up(&mut self, problem: Problem) {
        self.scope.end(problem);
        self.waiting.clear();
        let mut left = self
            .scope
            .phase_ends()
            .saturating_duration_since(Instant::now());
        if !self.cleaning {
            left += self.clock.cleanup;
        }
        self.cleaning = true;
        self.scope = Scope::phase(self.cancel, left);
    }
}

/// TEST_TIMEOUT.
pub(super) fn timed_out(limit: Duration) -> Problem {
    Problem::new(
        ErrorCode::TestTimeout,
        format!("the test took longer than {} ms", limit.as_millis()),
    )
}

/// The clock of a test: its own time or the configured one; clean-up gets 5 s at least.
pub(super) fn clock(own_ms: u64, configured_ms: u64, cleanup_ms: u64) -> Clock {
    const LEAST_CLEANUP: Duration = Duration::from_secs(5);
    Clock {
        test: Duration::from_millis(if own_ms == 0 { configured_ms } else { own_ms }),
        cleanup: Duration::from_millis(cleanup_ms).max(LEAST_CLEANUP),
    }
}
