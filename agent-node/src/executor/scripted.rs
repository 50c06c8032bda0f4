//! Turns that a test wrote beforehand.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use muster_engine::NodeId;
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::verdict::{Answer, Judgment, Verdict, VerdictStatus};
use serde_json::Value;

use super::{Executor, StepContext, verdict};
use crate::harness::{Observation, StepError};

/// What one turn ends with.
#[derive(Clone, Debug)]
pub enum Turn {
    /// Do this and go on.
    Act(Action<NodeId>),
    /// End the step.
    End(Verdict),
}

/// One turn: looks at the screen and says what to do.
pub type Script = Box<dyn Fn(&Observation) -> Turn + Send>;

/// Plays its turns, each once, over all the goals it is given. Statements are inconclusive and data
/// is absent. A goal that finds no turn left ends as STEP_NO_CONCLUSION.
#[derive(Default)]
pub struct Scripted {
    turns: Mutex<VecDeque<Script>>,
}

impl Scripted {
    /// With its turns, in order.
    pub fn new(turns: impl IntoIterator<Item = Script>) -> Self {
        Self {
            turns: Mutex::new(turns.into_iter().collect()),
        }
    }

    /// Taps the element of this role and name; ends as failed where it isn't on the screen.
    pub fn tap(role: &'static str, name: &'static str) -> Script {
        Box::new(move |screen| {
            match screen
                .nodes()
                .iter()
                .find(|node| node.role == role && node.name == name)
            {
                Some(node) => Turn::Act(Action::Tap { target: node.id }),
                None => {
                    let summary = format!("no {role} {name:?} on the screen");
                    Turn::End(verdict(
                        VerdictStatus::Failed,
                        summary,
                        Some(ErrorCode::ActionFailed),
                    ))
                }
            }
        })
    }

    /// Ends as passed.
    pub fn pass() -> Script {
        Box::new(|_| Turn::End(verdict(VerdictStatus::Passed, "as scripted", None)))
    }
}

#[async_trait]
impl Executor for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError> {
        let mut screen = context.harness.observe().await?;
        loop {
            let next = self
                .turns
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            let Some(turn) = next else {
                let code = Some(ErrorCode::StepNoConclusion);
                return Ok(verdict(
                    VerdictStatus::Failed,
                    "the script has no turn left",
                    code,
                ));
            };
            match turn(&screen) {
                Turn::Act(action) => screen = context.harness.perform(action).await?.after,
                Turn::End(verdict) => return Ok(verdict),
            }
        }
    }

    async fn judge(&self, _: &StepContext<'_>) -> Result<Judgment, StepError> {
        Ok(Judgment {
            answer: Answer::Inconclusive,
            explanation: "a script judges nothing".to_owned(),
        })
    }

    async fn extract(&self, _: &StepContext<'_>, _: &Value) -> Result<Option<Value>, StepError> {
        Ok(None)
    }
}
