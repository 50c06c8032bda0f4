//! The loop of the decision executor: ask, check that it was offered, do, ask again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use muster_engine::NodeId;
use muster_proto::action::{Action, Typed};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::verdict::{Answer as Tristate, Judgment, Verdict, VerdictStatus};
use serde_json::Value;

use super::request::{
    Answer, Choice, Do, Effect, Offered, Operation, Past, Question, Request, Row,
};
use super::{Chooser, table, values};
use crate::executor::{Executor, StepContext, verdict};
use crate::harness::{Observation, StepError};

/// History entries in a request.
const HISTORY: usize = 10;
/// Actions without effect in a row that end the step.
const STUCK: usize = 3;
/// How long to wait before believing that nothing on the screen fits: it may still be loading.
const SECOND_LOOK: Duration = Duration::from_millis(1000);

/// Below these a choice is not acted on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gates {
    /// Least probability, 0 to 1; 0 = any.
    pub min_probability: f64,
    /// Least margin to the second best, 0 to 1; 0 = any.
    pub min_margin: f64,
}

/// Reaches goals by choices.
pub struct DecisionExecutor {
    chooser: Arc<dyn Chooser>,
    gates: Gates,
}

impl DecisionExecutor {
    /// With a chooser and its gates.
    pub fn new(chooser: Arc<dyn Chooser>, gates: Gates) -> Self {
        Self { chooser, gates }
    }
}

#[async_trait]
impl Executor for DecisionExecutor {
    fn name(&self) -> &'static str {
        "decision"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError> {
        let screen = context.harness.observe().await?;
        Run::new(self, context, screen).run().await
    }

    /// A chooser sees words, not meaning: it never says that a statement holds.
    async fn judge(&self, _: &StepContext<'_>) -> Result<Judgment, StepError> {
        Ok(Judgment {
            answer: Tristate::Inconclusive,
            explanation:
                "no model judges for this agent: set judge in muster.toml, or check with expect"
                    .to_owned(),
        })
    }

    async fn extract(&self, _: &StepContext<'_>, _: &Value) -> Result<Option<Value>, StepError> {
        let message =
            "extract needs a model: set judge of the agent in muster.toml, or read with locators";
        Err(StepError::Stop(Problem::new(
            ErrorCode::ModelUnavailable,
            message,
        )))
    }
}

/// One goal being followed.
struct Run<'a> {
    executor: &'a DecisionExecutor,
    context: &'a StepContext<'a>,
    values: Vec<Offered>,
    screen: Arc<Observation>,
    history: Vec<Past>,
    memory: Option<Value>,
    /// Actions without effect since the last one with.
    stuck: usize,
    /// "Nothing fits" was said about this screen before.
    looked_twice: bool,
    /// Claims to be done that the fresh screen didn't confirm.
    unconfirmed: usize,
}

impl<'a> Run<'a> {
    fn new(
        executor: &'a DecisionExecutor,
        context: &'a StepContext<'a>,
        screen: Arc<Observation>,
    ) -> Self {
        Self {
            executor,
            context,
            values: values::offer(context.instruction, context.params),
            screen,
            history: Vec::new(),
            memory: None,
            stuck: 0,
            looked_twice: false,
            unconfirmed: 0,
        }
    }

    async fn run(mut self) -> Result<Verdict, StepError> {
        loop {
            let (request, choice) = self.ask(Question::Operation).await?;
            let low = choice.probability < self.executor.gates.min_probability
                || choice.margin < self.executor.gates.min_margin;
            let verdict = match choice.answer {
                Answer::Do(_) if low => Some(blocked(format!(
                    "unsure ({:.2}, margin {:.2}): {}",
                    choice.probability, choice.margin, choice.why
                ))),
                Answer::Do(chosen) => self.act(&request, chosen).await?,
                Answer::None => self.look_again(choice.why).await?,
                Answer::Done => self.confirm().await?,
                Answer::Blocked => Some(blocked(choice.why)),
                Answer::Holds | Answer::Fails | Answer::Inconclusive => {
                    return Err(
                        self.invalid("it answered the question of completion, which was not asked")
                    );
                }
            };
            if let Some(verdict) = verdict {
                return Ok(verdict);
            }
        }
    }

    async fn ask(&mut self, question: Question) -> Result<(Request, Choice), StepError> {
        let (rows, omitted) = table::rows(&self.screen);
        let request = Request {
            question,
            goal: self.context.instruction.to_owned(),
            params: self.context.params.clone(),
            context: self.context.agent_context.to_owned(),
            ledger: self.context.ledger.to_owned(),
            replayed: self.context.replayed.to_vec(),
            page: table::page(&self.screen),
            rows,
            omitted,
            values: self.values.clone(),
            history: self
                .history
                .iter()
                .rev()
                .take(HISTORY)
                .rev()
                .cloned()
                .collect(),
            memory: self.memory.clone(),
        };
        self.context.harness.decide()?;
        let choice = self.executor.chooser.choose(&request).await;
        self.memory.clone_from(&choice.memory);
        Ok((request, choice))
    }

    async fn act(&mut self, request: &Request, chosen: Do) -> Result<Option<Verdict>, StepError> {
        let (action, line) = self.compile(request, chosen)?;
        let target = action.target().copied();
        let effect = match self.context.harness.perform(action).await {
            Ok(done) => {
                self.screen = done.after;
                if done.changed {
                    Effect::Changed
                } else {
                    Effect::Unchanged
                }
            }
            Err(StepError::Refused { code, message }) => {
                self.screen = self.context.harness.observe().await?;
                Effect::Refused(format!("{code}: {message}"))
            }
            Err(StepError::Uncertain { message }) => {
                let summary =
                    format!("{line} may have been done in part and is not repeated: {message}");
                return Ok(Some(verdict(
                    VerdictStatus::Failed,
                    summary,
                    Some(ErrorCode::ActionFailed),
                )));
            }
            Err(stop) => return Err(stop),
        };
        self.stuck = if effect == Effect::Changed {
            0
        } else {
            self.stuck + 1
        };
        self.looked_twice = false;
        self.history.push(Past {
            action: line,
            target,
            effect,
        });
        Ok((self.stuck >= STUCK).then(|| {
            let last = self.history.last().map_or("", |past| &past.action);
            blocked(format!(
                "{STUCK} actions in a row had no effect, the last: {last}"
            ))
        }))
    }

    /// The action for a choice, if all of it was offered.
    fn compile(
        &self,
        request: &Request,
        chosen: Do,
    ) -> Result<(Action<NodeId>, String), StepError> {
        if chosen.operation == Operation::Back {
            return Ok((Action::Back {}, "go back".to_owned()));
        }
        let row = chosen
            .row
            .and_then(|index| request.rows.get(index))
            .filter(|row| row.offers(chosen.operation));
        let row: &Row =
            row.ok_or_else(|| self.invalid("it chose an element that doesn't take the operation"))?;
        let value = chosen.value.and_then(|index| request.values.get(index));
        let target = row.id;
        let it = row.describe();
        Ok(match chosen.operation {
            Operation::Tap => (Action::Tap { target }, format!("tap {it}")),
            Operation::Type => {
                let text = value
                    .and_then(Offered::text)
                    .ok_or_else(|| self.invalid("it chose no text to type"))?;
                let typed = Typed::Literal {
                    text: text.to_owned(),
                };
                (
                    Action::Type {
                        target,
                        value: typed,
                        replace: true,
                    },
                    format!("type {text:?} into {it}"),
                )
            }
            Operation::TypeSecret => {
                let Some(Offered::Secret { name, .. }) = value else {
                    return Err(self.invalid("it chose no secret to type"));
                };
                let typed = Typed::Secret { name: name.clone() };
                (
                    Action::Type {
                        target,
                        value: typed,
                        replace: true,
                    },
                    format!("type secret {name:?} into {it}"),
                )
            }
            Operation::Submit => (
                Action::Press {
                    target: Some(target),
                    key: "Enter".to_owned(),
                    times: 1,
                },
                format!("press Enter on {it}"),
            ),
            Operation::Select => {
                let label = chosen.option.and_then(|index| row.options.get(index));
                let label = label
                    .ok_or_else(|| self.invalid("it chose no option"))?
                    .clone();
                let line = format!("select {label:?} in {it}");
                (Action::Select { target, label }, line)
            }
            Operation::Check => (
                Action::Check {
                    target,
                    checked: true,
                },
                format!("check {it}"),
            ),
            Operation::Uncheck => (
                Action::Check {
                    target,
                    checked: false,
                },
                format!("uncheck {it}"),
            ),
            Operation::ScrollTo => (Action::ScrollTo { target }, format!("scroll to {it}")),
            Operation::Back => (Action::Back {}, "go back".to_owned()),
        })
    }

    /// Nothing fits: looks once more after a while before it is believed.
    async fn look_again(&mut self, why: String) -> Result<Option<Verdict>, StepError> {
        if !self.looked_twice {
            self.looked_twice = true;
            self.context.harness.pause(SECOND_LOOK).await?;
            let later = self.context.harness.observe().await?;
            let moved = later.snapshot.nodes != self.screen.snapshot.nodes
                || later.location != self.screen.location;
            self.screen = later;
            if moved {
                return Ok(None);
            }
        }
        Ok(Some(blocked(why)))
    }

    /// A claim to be done is believed only on a fresh screen.
    async fn confirm(&mut self) -> Result<Option<Verdict>, StepError> {
        self.screen = self.context.harness.observe().await?;
        let (_, choice) = self.ask(Question::Completion).await?;
        let sure = choice.probability >= self.executor.gates.min_probability;
        let fails = match choice.answer {
            Answer::Holds if sure => {
                let lines: Vec<&str> = self
                    .history
                    .iter()
                    .map(|past| past.action.as_str())
                    .collect();
                let summary = if lines.is_empty() {
                    choice.why
                } else {
                    lines.join("; ")
                };
                return Ok(Some(verdict(VerdictStatus::Passed, summary, None)));
            }
            Answer::Fails => true,
            Answer::Holds | Answer::Inconclusive => false,
            Answer::Do(_) | Answer::None | Answer::Done | Answer::Blocked => {
                return Err(self.invalid("it didn't answer the question of completion"));
            }
        };
        self.unconfirmed += 1;
        if self.unconfirmed < 2 {
            return Ok(None);
        }
        Ok(Some(if fails {
            verdict(
                VerdictStatus::Failed,
                choice.why,
                Some(ErrorCode::ActionFailed),
            )
        } else {
            blocked(choice.why)
        }))
    }

    fn invalid(&self, why: &str) -> StepError {
        let message = format!(
            "the chooser {:?} broke its protocol: {why}",
            self.executor.chooser.name()
        );
        StepError::Stop(Problem::new(ErrorCode::ModelOutputInvalid, message))
    }
}

fn blocked(why: String) -> Verdict {
    verdict(
        VerdictStatus::Blocked,
        format!("this goal can't be followed: {why}"),
        Some(ErrorCode::AutomationUnsupported),
    )
}
