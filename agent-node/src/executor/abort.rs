//! Ends the run as soon as anybody has to decide.

use async_trait::async_trait;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::verdict::{Judgment, Verdict};
use serde_json::Value;

use super::{Executor, StepContext};
use crate::harness::StepError;

/// For runs that must replay everything: being asked is the failure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abort;

#[async_trait]
impl Executor for Abort {
    fn name(&self) -> &'static str {
        "abort"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError> {
        let why = context.handed_off.map_or_else(
            || "nothing is recorded for it".to_owned(),
            |why| format!("its replay stopped: {why}"),
        );
        Err(called(context.instruction, &why))
    }

    async fn judge(&self, context: &StepContext<'_>) -> Result<Judgment, StepError> {
        Err(called(context.instruction, "a judgment is never replayed"))
    }

    async fn extract(
        &self,
        context: &StepContext<'_>,
        _: &Value,
    ) -> Result<Option<Value>, StepError> {
        Err(called(context.instruction, "data is never replayed"))
    }
}

fn called(instruction: &str, why: &str) -> StepError {
    StepError::Stop(Problem::new(
        ErrorCode::ModelUnavailable,
        format!(
            "{instruction:?} needs an executor, but this run must replay everything (executor = \"abort\"): {why}; \
             record it with another executor first"
        ),
    ))
}
