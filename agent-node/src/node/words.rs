//! Between the shared words and the wire.

use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Place, Problem, Status};
use muster_proto::step::Usage;
use muster_proto::v1;

use crate::attempt::News;

/// A problem for the wire.
pub(super) fn to_wire(problem: &Problem) -> v1::Problem {
    v1::Problem {
        code: problem.code.as_str().to_owned(),
        message: problem.message.clone(),
        place: problem.place.as_ref().map(|place| v1::Place {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
        }),
        expected: problem.expected.clone().unwrap_or_default(),
        actual: problem.actual.clone().unwrap_or_default(),
        near: problem.near.clone(),
    }
}

/// A problem off the wire. A code that we don't know is our own broken invariant.
pub(super) fn problem(wire: &v1::Problem) -> Problem {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Problem {
        code: ErrorCode::parse(&wire.code).unwrap_or(ErrorCode::InternalError),
        message: wire.message.clone(),
        place: wire.place.as_ref().map(|place| Place {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
        }),
        expected: text(&wire.expected),
        actual: text(&wire.actual),
        near: wire.near.clone(),
    }
}

/// How an attempt ended, for the wire.
pub(super) fn status(status: Status) -> v1::Status {
    match status {
        // Only a unit can be flaky; of an attempt it would mean that it passed.
        Status::Passed | Status::Flaky => v1::Status::Passed,
        Status::Failed => v1::Status::Failed,
        Status::TimedOut => v1::Status::TimedOut,
        Status::Skipped => v1::Status::Skipped,
        Status::Interrupted => v1::Status::Interrupted,
    }
}

/// What an attempt used, for the wire.
pub(super) fn usage(usage: Usage) -> v1::Usage {
    let Usage {
        model_calls,
        decisions,
        actions,
        input_tokens,
        cached_tokens,
        output_tokens,
    } = usage;
    v1::Usage {
        model_calls,
        decisions,
        actions,
        input_tokens,
        cached_tokens,
        output_tokens,
    }
}

/// News of an attempt, for the wire.
pub(super) fn progress(news: News) -> v1::progress::What {
    match news {
        News::Step(line) => v1::progress::What::Step(line),
        News::Console(line) => v1::progress::What::Console(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_survives_the_wire() {
        let mut told = Problem::new(ErrorCode::LocatorAmbiguous, "3 buttons");
        told.place = Some(Place {
            file: "tests/cart.e2e.ts".to_owned(),
            line: 12,
            column: 3,
        });
        told.expected = Some("one".to_owned());
        told.near = vec!["getByRole('button')".to_owned()];
        assert_eq!(problem(&to_wire(&told)), told);
    }

    #[test]
    fn an_unknown_code_is_never_a_product_failure() {
        let wire = v1::Problem {
            code: "FROM_THE_FUTURE".to_owned(),
            ..v1::Problem::default()
        };
        assert_eq!(problem(&wire).code, ErrorCode::InternalError);
    }
}
