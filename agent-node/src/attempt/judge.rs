//! Judgments: statements and data that a model reads off the current screen. Never cached.

use std::sync::Arc;
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::verdict::{Answer, Judgment};
use muster_suite::config::{Agent, ExecutorKind};
use serde_json::Value;

use super::call::Prepared;
use super::failure::Failure;
use super::given::Given;
use crate::executor::{Executor, StepContext};
use crate::harness::{Harness, Scope, StepError, StepHarness, text};

/// Between two looks of `waitFor`, unless the test says otherwise.
pub(super) const INTERVAL: Duration = Duration::from_secs(3);

/// One judgment under way.
pub(super) struct JudgmentRun<'a> {
    pub(super) door: StepHarness<'a>,
    pub(super) scope: Scope,
    pub(super) call: Prepared<'a>,
    pub(super) judge: Arc<dyn Executor>,
}

/// Who judges for an agent. The built-in judge needs a model; an agent without one lets its own
/// executor judge, where `needs_model` permits that. Pictures need a model that takes them.
pub(super) fn judge(
    given: &Given,
    call: &Prepared<'_>,
    needs_model: bool,
) -> Result<Arc<dyn Executor>, Problem> {
    let (name, agent) = (call.name, call.agent);
    let (model, seeing) = (agent.judging(), !call.vision.is_off());
    let own = match agent.executor {
        ExecutorKind::Agent | ExecutorKind::Abort => true,
        // A service judges statements, and hands what it can't answer to the model.
        ExecutorKind::Decision if agent.decision.is_some() && !needs_model => true,
        ExecutorKind::Decision | ExecutorKind::Random | ExecutorKind::Remote => model.is_none(),
    };
    let by_itself = match agent.executor {
        ExecutorKind::Abort => true,
        ExecutorKind::Remote => own && !seeing,
        ExecutorKind::Agent | ExecutorKind::Decision | ExecutorKind::Random => false,
    };
    if (needs_model || seeing) && !by_itself {
        let info = given.judge_model(name, agent)?.info();
        if seeing && !info.vision {
            return Err(blind(call, &info.model));
        }
    }
    if own {
        return given.brains.executor(name, agent);
    }
    let built_in = Agent {
        executor: ExecutorKind::Agent,
        model: model.cloned(),
        ..agent.clone()
    };
    given.brains.executor(name, &built_in)
}

fn blind(call: &Prepared<'_>, model: &str) -> Problem {
    let table = match call.agent.judge {
        Some(_) => "judge",
        None => "model",
    };
    let message = format!(
        "model {model:?} takes no pictures, which `vision` needs; if it does take them, set `vision = true` in [agents.{}.{table}]",
        call.name
    );
    Problem::new(ErrorCode::InvalidConfig, message)
}

impl JudgmentRun<'_> {
    fn context(&self) -> StepContext<'_> {
        StepContext {
            harness: &self.door,
            instruction: &self.call.instruction,
            params: &self.call.params,
            agent_context: &self.call.context,
            ledger: "",
            replayed: &[],
            handed_off: None,
            vision: self.call.vision,
        }
    }

    /// One judgment of the screen as it is.
    pub(super) async fn assert(&self) -> Result<Judgment, Failure> {
        let judgment = self.ended(self.scope.run(self.judge.judge(&self.context())).await)?;
        self.held(judgment)
    }

    /// Judges again whenever the screen has changed, until the statement holds. A picture may have
    /// changed at any time.
    pub(super) async fn wait_for(&self, interval: Duration) -> Result<Judgment, Failure> {
        let mut judged: Option<String> = None;
        let mut last: Option<Judgment> = None;
        loop {
            match self.look(&mut judged, interval).await {
                Ok(Some(judgment)) if judgment.answer == Answer::Holds => return Ok(judgment),
                Ok(judgment) => last = judgment.or(last),
                Err(mut failure) => {
                    if let Some(last) =
                        last.filter(|_| failure.problem.code == ErrorCode::StepTimeout)
                    {
                        failure.problem.message = format!(
                            "{}; last judgment: {}",
                            failure.problem.message, last.explanation
                        );
                        failure.problem.actual = Some(last.explanation);
                    }
                    return Err(failure);
                }
            }
        }
    }

    /// One look of `wait_for`, and the pause before it if it isn't the first.
    async fn look(
        &self,
        judged: &mut Option<String>,
        interval: Duration,
    ) -> Result<Option<Judgment>, Failure> {
        if judged.is_some() {
            let paused = self.door.pause(interval).await;
            self.ended(Ok(paused))?;
        }
        let screen = self.door.observe().await;
        let shape = text::shape(&*self.ended(Ok(screen))?);
        if judged.as_ref() == Some(&shape) && self.call.vision.is_off() {
            return Ok(None);
        }
        *judged = Some(shape);
        let judgment = self.scope.run(self.judge.judge(&self.context())).await;
        self.ended(judgment).map(Some)
    }

    /// Data off the screen.
    pub(super) async fn extract(&self, schema: &Value) -> Result<Value, Failure> {
        let data = self
            .scope
            .run(self.judge.extract(&self.context(), schema))
            .await;
        self.ended(data)?.ok_or_else(|| {
            Failure::failed(Problem::new(
                ErrorCode::AssertionInconclusive,
                format!("{:?} is not on the screen", self.call.instruction),
            ))
        })
    }

    fn held(&self, judgment: Judgment) -> Result<Judgment, Failure> {
        let code = match judgment.answer {
            Answer::Holds => return Ok(judgment),
            Answer::Fails => ErrorCode::AssertionFailed,
            Answer::Inconclusive => ErrorCode::AssertionInconclusive,
        };
        let verb = if judgment.answer == Answer::Fails {
            "does not hold"
        } else {
            "could not be judged"
        };
        let message = format!(
            "{:?} {verb}: {}",
            self.call.instruction, judgment.explanation
        );
        Err(Failure::failed(Problem {
            expected: Some(self.call.instruction.clone()),
            actual: Some(judgment.explanation),
            ..Problem::new(code, message)
        }))
    }

    fn ended<T>(&self, done: Result<Result<T, StepError>, Problem>) -> Result<T, Failure> {
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::of(error, &self.door.trace().stops)),
            Err(problem) => Err(Failure::stopped(problem)),
        }
    }
}
