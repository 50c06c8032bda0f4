//! Judgments of the current screen by a model: statements and data.

use serde_json::Value;

use super::StepContext;
use crate::harness::StepError;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::verdict::{Answer, Judgment};

/// Who judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judge {
    /// The configured judge model, through the harness.
    Model,
    /// Nobody: every statement is inconclusive.
    Nobody,
}

/// Judges a statement.
pub async fn judge(judge: Judge, context: &StepContext<'_>) -> Result<Judgment, StepError> {
    match judge {
        Judge::Nobody => Ok(Judgment {
            answer: Answer::Inconclusive,
            explanation: "no judge model is configured, and nothing else judges: set judge or model of the agent in \
                          muster.toml, or check it with expect"
                .to_owned(),
        }),
        Judge::Model => {
            let _ = context;
            Err(StepError::Stop(Problem::new(ErrorCode::ModelUnavailable, "x")))
        }
    }
}

/// Reads data.
pub async fn extract(
    judge: Judge,
    _context: &StepContext<'_>,
    _schema: &Value,
) -> Result<Option<Value>, StepError> {
    match judge {
        Judge::Nobody | Judge::Model => Err(StepError::Stop(Problem::new(
            ErrorCode::ModelUnavailable,
            "extract needs a judge model: set judge or model of the agent in muster.toml",
        ))),
    }
}
