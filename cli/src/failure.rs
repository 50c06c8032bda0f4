//! How a command fails: one problem, printed once, with the exit code of its class.

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;

/// Why a command ended without doing its job.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Vec<Problem>);

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(vec![Problem::new(code, message)])
    }

    /// What the terminal shows: a block per problem, place first.
    pub(crate) fn render(&self) -> String {
        let blocks: Vec<String> = self
            .0
            .iter()
            .map(|problem| {
                let place = problem
                    .place
                    .as_ref()
                    .map(|place| format!("{place}: "))
                    .unwrap_or_default();
                format!("muster: {place}{} [{}]", problem.message, problem.code)
            })
            .collect();
        blocks.join("\n")
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.0
            .iter()
            .map(|problem| problem.class())
            .max()
            .map_or(4, |class| class.exit_code())
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_class_decides_the_exit_code() {
        let failure = Failure(vec![
            Problem::new(ErrorCode::CollectionError, "a"),
            Problem::new(ErrorCode::BrowserUnavailable, "b"),
        ]);
        assert_eq!(failure.exit_code(), 3);
        assert_eq!(
            failure.render(),
            "muster: a [COLLECTION_ERROR]\nmuster: b [BROWSER_UNAVAILABLE]"
        );
    }
}
