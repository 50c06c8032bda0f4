//! An attempt between its steps: what it was given, what it remembers, and how one step is served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use muster_engine::Travel;
use muster_proto::code::ErrorCode;
use muster_proto::id::ReplayKey;
use muster_proto::outcome::{Place, Problem};
use muster_proto::step::{AgentStep, StepStatus, Usage};
use muster_suite::config::ExecutorKind;
use muster_suite::frame::CallResult;
use muster_suite::op::{AgentCall, Op};
use serde_json::{Value, json};
use tracing::{Instrument, info_span};

use super::call::{Prepared, prepare};
use super::exact::Exact;
use super::failure::Failure;
use super::given::Given;
use super::goal::GoalRun;
use super::judge::{INTERVAL, JudgmentRun, judge};
use super::record::Steps;
use super::settlement::{Goal, GoalEnd};
use super::title::title;
use crate::harness::{
    AttemptHarness, Limits, Purse, Rules, Scope, StepGrant, StepHarness, StepModels,
};
use crate::replay::{self, KeyParts};

/// Model calls of an assertion or extraction: one, and one repair.
const JUDGMENT_CALLS: u32 = 2;

/// Model calls of a `waitFor`.
const WAIT_CALLS: u32 = 25;

/// Longest time of one step, whatever a test asks for: no clock overflows, and its phase ends it long
/// before.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// An attempt's memory.
pub(super) struct Attempt {
    pub(super) given: Arc<Given>,
    pub(super) harness: Arc<AttemptHarness>,
    pub(super) steps: Steps,
    pub(super) goals: Vec<Goal>,
    pub(super) usage: Usage,
    pub(super) stop_run: bool,
    /// The browser died in a step of a test that had not failed. Whatever the test made of that, it has no verdict on the product.
    pub(super) died: Option<Problem>,
    /// The app, or another address, was opened.
    pub(super) opened: bool,
    /// How often each goal was called.
    calls: BTreeMap<ReplayKey, u32>,
}

/// What a served step yields.
struct Served {
    result: Result<Value, Failure>,
    agent: Option<AgentStep>,
}

impl Served {
    fn plain<T: Into<Value>>(result: Result<T, Problem>) -> Self {
        Self {
            result: result.map(Into::into).map_err(Failure::failed),
            agent: None,
        }
    }

    fn nothing(result: Result<(), Problem>) -> Self {
        Self::plain(result.map(|()| Value::Null))
    }

    fn failed(problem: Problem) -> Self {
        Self {
            result: Err(Failure::failed(problem)),
            agent: None,
        }
    }
}

impl Attempt {
    pub(super) fn new(given: Arc<Given>, harness: Arc<AttemptHarness>, steps: Steps) -> Self {
        Self {
            given,
            harness,
            steps,
            goals: Vec::new(),
            usage: Usage::default(),
            stop_run: false,
            died: None,
            opened: false,
            calls: BTreeMap::new(),
        }
    }

    /// Serves one step and writes it down. Unless it `counts`, it verifies nothing: the test has
    /// failed already.
    pub(super) async fn step(
        &mut self,
        scope: &Scope,
        op: &Op,
        place: Option<Place>,
        counts: bool,
    ) -> CallResult {
        let (kind, title) = title(op, &self.harness.redactor());
        let begun = self.steps.begin(kind, &title, place.clone());
        let span = info_span!(
            "step",
            muster.step = begun.seq,
            muster.step.kind = ?kind,
            error.r#type = tracing::field::Empty,
        );
        let served = match scope.ended() {
            Some(problem) => Served::failed(problem),
            None => {
                self.serve(scope, begun.seq, op)
                    .instrument(span.clone())
                    .await
            }
        };
        if let Some(agent) = &served.agent {
            self.usage += agent.usage;
        }
        match served.result {
            Ok(value) => {
                self.steps
                    .end(&begun, StepStatus::Passed, None, served.agent);
                if counts && verifies(op) {
                    self.verify(begun.seq);
                }
                CallResult::Ok { value }
            }
            Err(failure) => {
                self.stop_run |= failure.stop_run;
                span.record("error.type", failure.problem.code.as_str());
                let (status, blocked) = (failure.status(), failure.blocked);
                let problem = self.harness.redacted(Problem {
                    place,
                    ..failure.problem
                });
                // A product failure before it stands.
                if counts && problem.code == ErrorCode::BrowserCrashed {
                    self.died.get_or_insert_with(|| problem.clone());
                }
                self.steps
                    .end(&begun, status, Some(problem.clone()), served.agent);
                CallResult::Failed { problem, blocked }
            }
        }
    }

    /// A check has passed: it verifies every goal before it that has passed.
    fn verify(&mut self, check: u32) {
        for goal in &mut self.goals {
            if !matches!(goal.end, GoalEnd::Failed | GoalEnd::Untouched(_)) {
                goal.verified_by.get_or_insert(check);
            }
        }
    }

    async fn serve(&mut self, scope: &Scope, seq: u32, op: &Op) -> Served {
        let given = Arc::clone(&self.given);
        let times = given.timeouts();
        let limit = |own: Option<u64>, configured: u64| {
            Duration::from_millis(own.unwrap_or(configured)).min(LONGEST)
        };
        let navigation = Duration::from_millis(times.navigation_ms);
        let needs_page = !matches!(
            op,
            Op::AppOpen { .. } | Op::AppClearState {} | Op::BrowserGoto { .. }
        );
        if needs_page && !self.opened {
            return Served::failed(Problem::new(
                ErrorCode::AppNotOpen,
                "nothing is open yet; start the test with app.open()",
            ));
        }
        let harness = Arc::clone(&self.harness);
        let exact = Exact {
            harness: &harness,
            scope,
        };
        match op {
            Op::AppOpen { path } => {
                let loaded = exact.goto(path, navigation).await;
                self.opened |= loaded.is_ok();
                Served::nothing(loaded)
            }
            Op::BrowserGoto { url, timeout_ms } => {
                let loaded = exact
                    .goto(url, limit(*timeout_ms, times.navigation_ms))
                    .await;
                self.opened |= loaded.is_ok();
                Served::nothing(loaded)
            }
            Op::AppClearState {} => {
                self.opened = false;
                Served::nothing(
                    harness
                        .clear_state(scope, navigation)
                        .await
                        .map_err(|error| error.problem()),
                )
            }
            Op::AppBack {} | Op::BrowserBack {} => {
                Served::nothing(exact.travel(Travel::Back, navigation).await)
            }
            Op::BrowserForward {} => {
                Served::nothing(exact.travel(Travel::Forward, navigation).await)
            }
            Op::BrowserReload {} => Served::nothing(exact.travel(Travel::Reload, navigation).await),
            Op::BrowserUrl {} => Served::plain(
                harness
                    .location(scope)
                    .await
                    .map(|at| at.url)
                    .map_err(|error| error.problem()),
            ),
            Op::BrowserTitle {} => Served::plain(
                harness
                    .location(scope)
                    .await
                    .map(|at| at.title)
                    .map_err(|error| error.problem()),
            ),
            Op::BrowserWaitForUrl { url, timeout_ms } => Served::nothing(
                exact
                    .wait_for_url(url, limit(*timeout_ms, times.assertion_ms))
                    .await,
            ),
            Op::Act {
                locator,
                gesture,
                timeout_ms,
            } => Served::nothing(
                exact
                    .act(locator, gesture, limit(*timeout_ms, times.action_ms))
                    .await,
            ),
            Op::WaitFor {
                locator,
                visible,
                timeout_ms,
            } => Served::nothing(
                exact
                    .wait_for(locator, *visible, limit(*timeout_ms, times.action_ms))
                    .await,
            ),
            Op::Read { locator, what } => Served::plain(exact.read(locator, what).await),
            Op::ExpectLocator {
                locator,
                matcher,
                negated,
                timeout_ms,
                ..
            } => Served::nothing(
                exact
                    .expect(
                        locator,
                        matcher,
                        *negated,
                        limit(*timeout_ms, times.assertion_ms),
                    )
                    .await,
            ),
            Op::ExpectBrowser {
                matcher,
                negated,
                timeout_ms,
                ..
            } => {
                let limit = limit(*timeout_ms, times.assertion_ms);
                Served::nothing(
                    crate::expect::expect_browser(&harness, scope, matcher, *negated, limit).await,
                )
            }
            Op::AgentAct(call) => self.act(scope, seq, call).await,
            Op::AgentAssert(call) => self.judgment(scope, "assert", call, Ask::Assert).await,
            Op::AgentWaitFor { call, interval_ms } => {
                let interval = interval_ms.map_or(INTERVAL, Duration::from_millis);
                if !(100..=60_000).contains(&interval.as_millis()) {
                    return Served::failed(Problem::new(
                        ErrorCode::InvalidArgument,
                        "interval is 100 to 60000 ms",
                    ));
                }
                self.judgment(scope, "waitFor", call, Ask::WaitFor(interval))
                    .await
            }
            Op::AgentExtract { call, schema } => {
                self.judgment(scope, "extract", call, Ask::Extract(schema))
                    .await
            }
        }
    }

    async fn act(&mut self, scope: &Scope, seq: u32, call: &AgentCall) -> Served {
        let (given, harness) = (Arc::clone(&self.given), Arc::clone(&self.harness));
        let prepared = match prepare(call, &given.unit.agent, &given.spec, &harness) {
            Ok(prepared) => prepared,
            Err(problem) => return Served::failed(problem),
        };
        let key = self.key(&prepared);
        let agent = prepared.agent;
        let limits = Limits {
            actions: agent.max_steps,
            model_calls: agent.max_model_calls,
        }
        .lowered(call.max_steps, call.max_model_calls);
        let scope = timed(scope, call.timeout_ms, given.timeouts().step_ms);
        let models = given.models(prepared.name, agent);
        let door = door(&given, &harness, &scope, &prepared, limits, models);
        let run = GoalRun {
            given: &given,
            door,
            scope,
            call: prepared,
            key,
            ledger: self.steps.ledger(),
        };
        let done = run.run(seq).await;
        self.goals.extend(done.goal);
        let (usage, cache) = (done.report.usage, done.report.cache.as_ref());
        let result = done.result.map(|summary| {
            json!({
                "summary": summary,
                "modelCalls": usage.model_calls,
                "decisions": usage.decisions,
                "actions": usage.actions,
                "cache": cache.map(|cache| json!({"mode": cache.mode, "reason": cache.reason})),
            })
        });
        Served {
            result,
            agent: Some(done.report),
        }
    }

    async fn judgment(
        &mut self,
        scope: &Scope,
        name: &str,
        call: &AgentCall,
        ask: Ask<'_>,
    ) -> Served {
        let (given, harness) = (Arc::clone(&self.given), Arc::clone(&self.harness));
        let prepared = match prepare(call, &given.unit.agent, &given.spec, &harness) {
            Ok(prepared) => prepared,
            Err(problem) => return Served::failed(problem),
        };
        let mut report = AgentStep {
            call: name.to_owned(),
            instruction: prepared.instruction.clone(),
            agent: prepared.name.to_owned(),
            executor: prepared.agent.executor.as_str().to_owned(),
            ..AgentStep::default()
        };
        let needs_model = !matches!(ask, Ask::Assert);
        let judge = match judge(&given, &prepared, needs_model) {
            Ok(judge) => judge,
            Err(problem) => {
                return Served {
                    agent: Some(report),
                    ..Served::failed(problem)
                };
            }
        };
        let calls = if matches!(ask, Ask::WaitFor(_)) {
            WAIT_CALLS
        } else {
            JUDGMENT_CALLS
        };
        let limits = Limits {
            actions: 0,
            model_calls: calls,
        }
        .lowered(None, call.max_model_calls);
        let scope = timed(scope, call.timeout_ms, given.timeouts().judgment_ms);
        let models = given.models(prepared.name, prepared.agent);
        let door = door(&given, &harness, &scope, &prepared, limits, models);
        judge.name().clone_into(&mut report.executor);
        let run = JudgmentRun {
            door,
            scope,
            call: prepared,
            judge,
        };
        let judged = match ask {
            Ask::Assert => run
                .assert()
                .await
                .map(|judgment| (Value::Null, Some(judgment.explanation))),
            Ask::WaitFor(interval) => run
                .wait_for(interval)
                .await
                .map(|judgment| (Value::Null, Some(judgment.explanation))),
            Ask::Extract(schema) => run.extract(schema).await.map(|data| (data, None)),
        };
        report.usage = run.door.usage();
        report.ledger = run.door.ledger();
        report.events = run.door.events();
        let aborts = run.call.agent.executor == ExecutorKind::Abort;
        let result = match judged {
            Ok((value, summary)) => {
                report.summary = summary;
                Ok(value)
            }
            Err(failure) => Err(Failure {
                stop_run: failure.stop_run || aborts,
                ..failure
            }),
        };
        Served {
            result,
            agent: Some(report),
        }
    }

    /// The goal's key. Calls that are alike are told apart by how many came before.
    fn key(&mut self, call: &Prepared<'_>) -> ReplayKey {
        let given = Arc::clone(&self.given);
        let parts = KeyParts {
            project: &given.spec.project,
            test_id: &given.unit.test_id,
            target: &given.unit.target,
            engine: self.harness.engine(),
            call_index: 0,
            instruction: &call.instruction,
            params: &call.params,
            unique: call.unique,
            app_identity: &given.app_identity,
            agent: call.name,
            agent_context: &call.context,
        };
        let before = self.calls.entry(replay::replay_key(&parts)).or_default();
        let call_index = *before;
        *before += 1;
        replay::replay_key(&KeyParts {
            call_index,
            ..parts
        })
    }
}

/// Kinds of judgment.
enum Ask<'a> {
    Assert,
    WaitFor(Duration),
    Extract(&'a Value),
}

/// A step's scope: its own time, if the test gives one lower than configured.
fn timed(scope: &Scope, own: Option<u64>, configured: u64) -> Scope {
    let limit = own.map_or(configured, |own| own.min(configured));
    scope.within(
        Duration::from_millis(limit),
        Problem::new(
            ErrorCode::StepTimeout,
            format!("the step took longer than {limit} ms"),
        ),
    )
}

fn door<'a>(
    given: &Given,
    harness: &'a AttemptHarness,
    scope: &Scope,
    call: &Prepared<'_>,
    limits: Limits,
    models: StepModels,
) -> StepHarness<'a> {
    let rules = Rules {
        app: harness.app().clone(),
        secrets: call.secrets.clone(),
    };
    let action_timeout = Duration::from_millis(given.timeouts().action_ms);
    StepHarness::new(
        harness,
        scope.clone(),
        StepGrant {
            rules,
            limits,
            models,
            purse: Purse::step(&given.spec.budgets),
            action_timeout,
        },
    )
}

/// Whether a passed step verifies the goals before it.
fn verifies(op: &Op) -> bool {
    matches!(
        op,
        Op::ExpectLocator { .. }
            | Op::ExpectBrowser { .. }
            | Op::WaitFor { .. }
            | Op::BrowserWaitForUrl { .. }
            | Op::AgentAssert(_)
            | Op::AgentWaitFor { .. }
    )
}
