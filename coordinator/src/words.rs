//! Between the wire's messages and the shared words of `muster_proto`.

use muster_proto::code::{Class, ErrorCode};
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;

/// What the scheduler and the verdict read of an attempt's result; nothing else of it matters to
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How the attempt ended; never `Flaky`.
    pub status: Status,
    /// Why, unless it passed or was skipped.
    pub problem: Option<Problem>,
    /// It found a condition that must end the run.
    pub stops_run: bool,
}

impl Outcome {
    /// Reads a decoded result. A status that is absent or unknown is our own broken invariant.
    pub fn of(result: &v1::AttemptResult) -> Self {
        let problem = result.problem.as_ref().map(Problem::from);
        let (status, fallback) = match result.status() {
            v1::Status::Passed => (Status::Passed, None),
            v1::Status::Skipped => (Status::Skipped, None),
            v1::Status::Failed => (Status::Failed, Some(ErrorCode::Error)),
            v1::Status::TimedOut => (Status::TimedOut, Some(ErrorCode::TestTimeout)),
            v1::Status::Interrupted => (Status::Interrupted, Some(ErrorCode::Cancelled)),
            v1::Status::Unspecified => (Status::Failed, Some(ErrorCode::InternalError)),
        };
        let problem = match (fallback, problem) {
            (None, _) => None,
            (Some(_), Some(problem)) => Some(problem),
            (Some(code), None) => Some(Problem::new(code, "the node gave no reason")),
        };
        Self {
            status,
            problem,
            stops_run: result.stop_run,
        }
    }

    /// Whose fault it is; `None` for a pass or a skip.
    pub fn class(&self) -> Option<Class> {
        let problem = self.problem.as_ref()?;
        Some(match self.status {
            Status::Passed | Status::Flaky | Status::Skipped => return None,
            // The test's own clock, whatever it was waiting for.
            Status::TimedOut => Class::Test,
            // A node that stops an attempt by itself is a machine's matter.
            Status::Interrupted => Class::Infrastructure,
            Status::Failed => problem.class(),
        })
    }
}

/// The word for a status in a `UnitView`.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Passed => "passed",
        Status::Flaky => "flaky",
        Status::Failed => "failed",
        Status::TimedOut => "timed-out",
        Status::Skipped => "skipped",
        Status::Interrupted => "interrupted",
    }
}

/// The status behind a word of a `UnitView`; `None` while the unit has not ended.
pub fn parse_status(word: &str) -> Option<Status> {
    use Status::{Failed, Flaky, Interrupted, Passed, Skipped, TimedOut};
    [Passed, Flaky, Failed, TimedOut, Skipped, Interrupted]
        .into_iter()
        .find(|status| status_word(*status) == word)
}
