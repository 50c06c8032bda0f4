//! What follows an attempt. Retrying belongs to the coordinator alone, with a budget per class.

use muster_proto::code::Class;
use muster_proto::outcome::Status;

use crate::words::Outcome;

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The unit's end.
    End,
    /// A product retry: the next `try`.
    Retry,
    /// Again at the same `try`, at the cost of one infrastructure try.
    Requeue,
}

/// A unit's budgets.
#[derive(Clone, Copy, Debug)]
pub struct Budgets {
    /// Product retries left.
    pub retries: u32,
    /// Infrastructure tries left, the one of this attempt included.
    pub infra_tries: u32,
}

/// Only the product (class test, or the test's own clock) consumes a retry; configuration never
/// does, for it would fail the same way again.
pub fn after(outcome: &Outcome, left: Budgets) -> Next {
    if outcome.stops_run {
        return Next::End;
    }
    match (outcome.status, outcome.class()) {
        (Status::Passed | Status::Flaky | Status::Skipped, _) => Next::End,
        (_, Some(Class::Test)) if left.retries > 0 => Next::Retry,
        (_, Some(Class::Infrastructure)) if left.infra_tries > 1 => Next::Requeue,
        (_, _) => Next::End,
    }
}

#[cfg(test)]
mod tests {
    use muster_proto::code::ErrorCode;
    use muster_proto::outcome::Problem;

    use super::*;

    fn failed(code: ErrorCode) -> Outcome {
        Outcome {
            status: Status::Failed,
            problem: Some(Problem::new(code, "")),
            stops_run: false,
        }
    }

    #[test]
    fn each_class_has_its_own_budget() {
        let rich = Budgets {
            retries: 1,
            infra_tries: 2,
        };
        let poor = Budgets {
            retries: 0,
            infra_tries: 1,
        };
        let next = |code, left| after(&failed(code), left);
        assert_eq!(next(ErrorCode::AssertionFailed, rich), Next::Retry);
        assert_eq!(next(ErrorCode::AssertionFailed, poor), Next::End);
        assert_eq!(next(ErrorCode::BrowserCrashed, rich), Next::Requeue);
        assert_eq!(next(ErrorCode::BrowserCrashed, poor), Next::End);
        assert_eq!(next(ErrorCode::PolicyDenied, rich), Next::End);
        assert_eq!(next(ErrorCode::InternalError, rich), Next::End);
        let timed_out = Outcome {
            status: Status::TimedOut,
            ..failed(ErrorCode::TestTimeout)
        };
        assert_eq!(after(&timed_out, rich), Next::Retry);
        let stopping = Outcome {
            stops_run: true,
            ..failed(ErrorCode::AssertionFailed)
        };
        assert_eq!(after(&stopping, rich), Next::End);
    }
}
