//! The loop of the decision executor: ask, check that it was offered, do, ask again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use muster_engine::NodeId;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::step::EventKind;
use muster_proto::verdict::{Answer as Tristate, Judgment, Verdict, VerdictStatus};
use serde_json::Value;

use super::compile::{compile, row};
use super::request::{Answer, Choice, Do, Effect, Offered, Operation, Past, Question, Request};
use super::{Chooser, Unanswered, table, values, writer};
use crate::executor::{Executor, StepContext, verdict};
use crate::harness::{Observation, StepError};

/// History entries in a request.
const HISTORY: usize = 10;
/// Actions without effect in a row that end the step.
const STUCK: usize = 3;
/// Claims that a fresh screen didn't confirm after which a chooser is not asked again.
const CLAIMS: usize = 2;
/// How long to wait before believing that nothing on the screen fits: it may still be loading.
const SECOND_LOOK: Duration = Duration::from_millis(1000);

/// Below these a chooser counts as unsure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gates {
    /// Least probability, 0 to 1; 0 = any.
    pub min_probability: f64,
    /// Least confidence, 0 to 1; 0 = any.
    pub min_confidence: f64,
}

impl Gates {
    /// Why a choice is not sure enough; none = it is.
    fn unsure(&self, choice: &Choice) -> Option<String> {
        let low =
            choice.probability < self.min_probability || choice.confidence < self.min_confidence;
        low.then(|| {
            format!(
                "unsure (probability {:.2}, confidence {:.2}): {}",
                choice.probability, choice.confidence, choice.why
            )
        })
    }
}

/// A chooser and how sure it has to be.
struct Decider {
    chooser: Arc<dyn Chooser>,
    gates: Gates,
}

/// Reaches goals by choices.
pub struct DecisionExecutor {
    /// In the order in which they are asked; never empty.
    deciders: Vec<Decider>,
    /// Whether a text model writes what is typed.
    writes: bool,
}

impl DecisionExecutor {
    /// With one chooser and its gates.
    pub fn new(chooser: Arc<dyn Chooser>, gates: Gates) -> Self {
        Self {
            deciders: vec![Decider { chooser, gates }],
            writes: false,
        }
    }

    /// Asks this one too, once those before have handed the goal on.
    pub fn then(mut self, chooser: Arc<dyn Chooser>, gates: Gates) -> Self {
        self.deciders.push(Decider { chooser, gates });
        self
    }

    /// Whether the step's text model writes what is typed, where a chooser leaves that open.
    pub fn writing(self, writes: bool) -> Self {
        Self { writes, ..self }
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

    /// One question to the first chooser that judges. The built-in one sees words, not meaning: it
    /// never says that a statement holds.
    async fn judge(&self, context: &StepContext<'_>) -> Result<Judgment, StepError> {
        let judging = self.deciders.iter().filter(|one| one.chooser.judges());
        let judging: Vec<&Decider> = judging.collect();
        for (at, Decider { chooser, gates }) in judging.iter().enumerate() {
            let screen = context.harness.observe().await?;
            let request = Run::new(self, context, screen).request(Question::Verdict);
            let choice = match chooser.choose(&request, context.harness).await {
                Ok(choice) => choice,
                Err(Unanswered::Failed(problem)) if at + 1 < judging.len() => {
                    let note = &problem.message;
                    context.harness.note(EventKind::Hop, chooser.name(), note);
                    continue;
                }
                Err(Unanswered::Failed(problem)) => return Err(StepError::Stop(problem)),
                Err(Unanswered::Ended(ended)) => return Err(ended),
            };
            let unsure = gates.unsure(&choice);
            let answer = match choice.answer {
                _ if unsure.is_some() => Tristate::Inconclusive,
                Answer::Holds => Tristate::Holds,
                Answer::Fails => Tristate::Fails,
                _ => Tristate::Inconclusive,
            };
            return Ok(Judgment {
                answer,
                explanation: unsure.unwrap_or(choice.why),
            });
        }
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
    /// Index of the decider at hand.
    at: usize,
    /// Why those before it handed the goal on.
    declined: Vec<String>,
    history: Vec<Past>,
    memory: Option<Value>,
    /// Actions without effect since the last one with.
    stuck: usize,
    /// "Nothing fits" was said about this screen before.
    looked_twice: bool,
    /// Claims of the decider at hand that the fresh screen didn't confirm.
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
            at: 0,
            declined: Vec::new(),
            history: Vec::new(),
            memory: None,
            stuck: 0,
            looked_twice: false,
            unconfirmed: 0,
        }
    }

    async fn run(mut self) -> Result<Verdict, StepError> {
        loop {
            let Some((request, choice)) = self.ask(Question::Operation).await? else {
                continue;
            };
            let verdict = match (self.decider().gates.unsure(&choice), choice.answer) {
                (Some(unsure), _) => self.hand_on(unsure),
                (None, Answer::Do(chosen)) => self.act(&request, chosen).await?,
                (None, Answer::None) => self.look_again(choice.why).await?,
                (None, Answer::Done) => self.confirm(true).await?,
                (None, Answer::Failed) => self.confirm(false).await?,
                (None, Answer::Blocked) => self.hand_on(choice.why),
                (None, Answer::Holds | Answer::Fails | Answer::Inconclusive) => {
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

    fn decider(&self) -> &'a Decider {
        &self.executor.deciders[self.at]
    }

    fn request(&self, question: Question) -> Request {
        let (rows, omitted) = table::rows(&self.screen);
        let last = self.history.len().saturating_sub(HISTORY);
        Request {
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
            writes: self.executor.writes,
            history: self.history[last..].to_vec(),
            memory: self.memory.clone(),
        }
    }

    /// Asks the decider at hand; none = it failed and the next one is at hand.
    async fn ask(&mut self, question: Question) -> Result<Option<(Request, Choice)>, StepError> {
        let request = self.request(question);
        let chooser = &self.decider().chooser;
        match chooser.choose(&request, self.context.harness).await {
            Ok(choice) => {
                self.memory.clone_from(&choice.memory);
                Ok(Some((request, choice)))
            }
            Err(Unanswered::Failed(problem)) if self.at + 1 < self.executor.deciders.len() => {
                self.hand_on(problem.message);
                Ok(None)
            }
            Err(Unanswered::Failed(problem)) => Err(StepError::Stop(problem)),
            Err(Unanswered::Ended(ended)) => Err(ended),
        }
    }

    /// Hands the goal to the next decider for the rest of the step; without one it is blocked.
    fn hand_on(&mut self, why: String) -> Option<Verdict> {
        let name = self.decider().chooser.name();
        if self.executor.deciders.len() == 1 {
            return Some(blocked(why));
        }
        self.declined.push(format!("{name}: {why}"));
        if self.at + 1 == self.executor.deciders.len() {
            return Some(blocked(self.declined.join("; ")));
        }
        self.context.harness.note(EventKind::Hop, name, &why);
        self.at += 1;
        self.memory = None;
        self.looked_twice = false;
        self.unconfirmed = 0;
        None
    }

    async fn act(&mut self, request: &Request, chosen: Do) -> Result<Option<Verdict>, StepError> {
        let mut written = None;
        if chosen.operation == Operation::Type && chosen.value.is_none() && request.writes {
            let row = row(request, chosen).map_err(|why| self.invalid(why))?;
            if row.is("secure") {
                return Err(self.invalid("it chose a secure field for written text"));
            }
            written = writer::write(request, row, self.context.harness).await?;
            if written.is_none() {
                let line = format!("type into {}", row.describe());
                let why = "goal and parameters give no text for it".to_owned();
                return Ok(self.did(line, Some(row.id), Effect::Refused(why)));
            }
        }
        let (action, line) = compile(request, chosen, written).map_err(|why| self.invalid(why))?;
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
        self.looked_twice = false;
        Ok(self.did(line, target, effect))
    }

    /// Remembers an action; ends the step after too many without effect.
    fn did(&mut self, action: String, target: Option<NodeId>, effect: Effect) -> Option<Verdict> {
        self.stuck = if effect == Effect::Changed {
            0
        } else {
            self.stuck + 1
        };
        let stuck = (self.stuck >= STUCK).then(|| {
            blocked(format!(
                "{STUCK} actions in a row had no effect, the last: {action}"
            ))
        });
        self.history.push(Past {
            action,
            target,
            effect,
        });
        stuck
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
        Ok(self.hand_on(why))
    }

    /// A claim that the goal is reached, or that it failed, is believed only on a fresh screen.
    async fn confirm(&mut self, done: bool) -> Result<Option<Verdict>, StepError> {
        self.screen = self.context.harness.observe().await?;
        let Some((_, choice)) = self.ask(Question::Completion).await? else {
            return Ok(None);
        };
        let unsure = self.decider().gates.unsure(&choice);
        let holds = match choice.answer {
            _ if unsure.is_some() => None,
            Answer::Holds => Some(true),
            Answer::Fails => Some(false),
            Answer::Inconclusive => None,
            _ => return Err(self.invalid("it didn't answer the question of completion")),
        };
        let why = unsure.unwrap_or(choice.why);
        let failed = |why| verdict(VerdictStatus::Failed, why, Some(ErrorCode::ActionFailed));
        match (done, holds) {
            (true, Some(true)) => return Ok(Some(self.passed(why))),
            (false, Some(false)) => return Ok(Some(failed(why))),
            _ => self.unconfirmed += 1,
        }
        if self.unconfirmed < CLAIMS {
            let action = match done {
                true => "claim that the goal is reached",
                false => "claim that the goal failed",
            };
            self.history.push(Past {
                action: action.to_owned(),
                target: None,
                effect: Effect::Refused(format!("not confirmed on a fresh screen: {why}")),
            });
            return Ok(None);
        }
        Ok(match holds {
            Some(false) => Some(failed(why)),
            Some(true) | None => self.hand_on(why),
        })
    }

    /// Passed by what was done.
    fn passed(&self, why: String) -> Verdict {
        let done = self.history.iter();
        let done = done.filter(|past| !matches!(past.effect, Effect::Refused(_)));
        let lines: Vec<&str> = done.map(|past| past.action.as_str()).collect();
        let summary = match lines.is_empty() {
            true => why,
            false => lines.join("; "),
        };
        verdict(VerdictStatus::Passed, summary, None)
    }

    fn invalid(&self, why: &str) -> StepError {
        let name = self.decider().chooser.name();
        let message = format!("the chooser {name:?} broke its protocol: {why}");
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
