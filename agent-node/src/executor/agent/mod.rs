//! The agent executor: a language model acts in a loop of tool calls.
//!
//! The model is told of [`tools`] and proposes; [`call`] parses a proposal against a closed schema;
//! the harness authorizes and does it; the result goes back as text. [`guard`] ends loops that lead nowhere, by the
//! [`state`] of the screen. [`conversation`] is what the model remembers; [`prompt`] and [`change`]
//! are pure text. [`judge`] answers about the screen and does nothing to it.

mod call;
mod change;
mod conversation;
mod guard;
mod judge;
mod prompt;
pub(super) mod schema;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod tools;

use async_trait::async_trait;
use muster_proto::verdict::{Judgment, Verdict};
use serde_json::Value;

pub(super) use self::prompt::Fence;
use super::{Executor, StepContext};
use crate::harness::StepError;

/// A language model in a tool loop. The model is the step's own, behind `Harness::complete`.
#[derive(Clone, Copy, Debug)]
pub struct AgentExecutor {
    /// Looks in a row without a change after which only a verdict is left.
    pub idle_looks: u32,
}

#[async_trait]
impl Executor for AgentExecutor {
    fn name(&self) -> &'static str {
        "agent"
    }

    /// History: 1 = first; 2 = a memory, screenshots, loops by progress.
    fn version(&self) -> &'static str {
        "2"
    }

    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError> {
        let screen = context.harness.observe().await?;
        steps::Loop::new(context, self.idle_looks, &screen)
            .run(screen)
            .await
    }

    async fn judge(&self, context: &StepContext<'_>) -> Result<Judgment, StepError> {
        judge::judge(context).await
    }

    async fn extract(
        &self,
        context: &StepContext<'_>,
        schema: &Value,
    ) -> Result<Option<Value>, StepError> {
        judge::extract(context, schema).await
    }
}
