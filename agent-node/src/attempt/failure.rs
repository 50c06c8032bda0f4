//! How a step fails, and what follows from it beyond the step.

use muster_proto::code::{Class, ErrorCode};
use muster_proto::outcome::Problem;
use muster_proto::step::StepStatus;

use crate::harness::{StepError, verdict};

/// Why a step did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) problem: Problem,
    /// A goal without a verdict on the product.
    pub(super) blocked: bool,
    /// The whole run has to end.
    pub(super) stop_run: bool,
}

impl Failure {
    /// The product, or the test's idea of it, is wrong.
    pub(super) fn failed(problem: Problem) -> Self {
        Self {
            stop_run: problem.code == ErrorCode::ModelUnavailable,
            problem,
            blocked: false,
        }
    }

    /// No verdict on the product.
    pub(super) fn blocked(problem: Problem) -> Self {
        Self {
            blocked: true,
            ..Self::failed(problem)
        }
    }

    /// The step was ended from outside.
    pub(super) fn stopped(problem: Problem) -> Self {
        Self {
            blocked: problem.code.blocked().is_some(),
            ..Self::failed(problem)
        }
    }

    /// What an executor handed on; `stops` is what the harness recorded itself.
    pub(super) fn of(error: StepError, stops: &[ErrorCode]) -> Self {
        match error {
            StepError::Refused { code, message } => Self::failed(Problem::new(code, message)),
            StepError::Uncertain { message } => {
                Self::failed(Problem::new(ErrorCode::ActionFailed, message))
            }
            StepError::Stop(problem) => Self::stopped(verdict::validate_stop(problem, stops)),
        }
    }

    /// Whether nothing follows for a recording: machines, vendors or people ended the step.
    pub(super) fn tells_nothing(&self) -> bool {
        self.stop_run || no_verdict(&self.problem)
    }

    /// As the step's record shows it.
    pub(super) fn status(&self) -> StepStatus {
        match self.problem.code {
            ErrorCode::StepTimeout | ErrorCode::TestTimeout => StepStatus::TimedOut,
            ErrorCode::Cancelled | ErrorCode::Interrupted => StepStatus::Cancelled,
            _ if self.blocked => StepStatus::Blocked,
            _ => StepStatus::Failed,
        }
    }
}

/// Whether a problem says nothing about the product.
pub(super) fn no_verdict(problem: &Problem) -> bool {
    matches!(
        problem.class(),
        Class::Infrastructure | Class::Interrupted | Class::Internal
    ) || problem.code == ErrorCode::ModelUnavailable
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::failed(problem)
    }
}
