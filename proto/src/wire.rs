//! Between the shared words and the messages that carry them.

mod action;

use crate::code::ErrorCode;
use crate::outcome::{Place, Problem};
use crate::step::Usage;
use crate::v1;

pub use action::VERBS;

impl From<&Problem> for v1::Problem {
    fn from(problem: &Problem) -> Self {
        Self {
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
}

impl From<&v1::Problem> for Problem {
    /// A code that this version doesn't know becomes `INTERNAL_ERROR` and is named in the message:
    /// it must not pass for a failure of the product.
    fn from(problem: &v1::Problem) -> Self {
        let known = ErrorCode::parse(&problem.code);
        let message = match known {
            Some(_) => problem.message.clone(),
            None => format!("unknown error code {:?}: {}", problem.code, problem.message),
        };
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            code: known.unwrap_or(ErrorCode::InternalError),
            message,
            place: problem.place.as_ref().map(|place| Place {
                file: place.file.clone(),
                line: place.line,
                column: place.column,
            }),
            expected: text(&problem.expected),
            actual: text(&problem.actual),
            near: problem.near.clone(),
        }
    }
}

impl From<Usage> for v1::Usage {
    fn from(usage: Usage) -> Self {
        let Usage {
            model_calls,
            decisions,
            actions,
            input_tokens,
            cached_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens,
            cost_microusd,
            estimated,
        } = usage;
        Self {
            model_calls,
            decisions,
            actions,
            input_tokens,
            cached_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens,
            cost_microusd,
            estimated,
        }
    }
}

impl From<&v1::Usage> for Usage {
    fn from(usage: &v1::Usage) -> Self {
        Self {
            model_calls: usage.model_calls,
            decisions: usage.decisions,
            actions: usage.actions,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost_microusd: usage.cost_microusd,
            estimated: usage.estimated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Class;

    #[test]
    fn a_problem_survives_the_wire() {
        let mut problem = Problem::new(ErrorCode::AssertionFailed, "expected 2 items");
        problem.place = Some(Place {
            file: "tests/cart.e2e.ts".to_owned(),
            line: 12,
            column: 3,
        });
        problem.expected = Some("2".to_owned());
        problem.near = vec!["button \"Pay\"".to_owned()];
        assert_eq!(Problem::from(&v1::Problem::from(&problem)), problem);
    }

    #[test]
    fn an_unknown_code_is_never_the_products_fault() {
        let wire = v1::Problem {
            code: "FROM_THE_FUTURE".to_owned(),
            message: "odd".to_owned(),
            ..Default::default()
        };
        let problem = Problem::from(&wire);
        assert_eq!(problem.class(), Class::Internal);
        assert!(problem.message.contains("FROM_THE_FUTURE"), "{problem}");
    }
}
