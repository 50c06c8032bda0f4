//! The door for one step: what executors and replay hold.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use muster_engine::page::{Pointer, Sink};
use muster_engine::{EngineError, NodeId};
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::step::{Event, EventKind, LedgerRow, Tier, Usage};
use muster_providers::model::{Image, ModelInfo, ModelReply, ModelRequest};
use tokio::time::{Instant, sleep};
use tracing::{Instrument, info_span};

use super::authorize::{Denied, Rules, authorize};
use super::budget::{Limits, Meter};
use super::observation::called;
use super::purse::{Amounts, Purse};
use super::settle::{Pace, settle};
use super::whole::MAX_EVENTS;
use super::{
    At, AttemptHarness, Budget, Harness, Means, Observation, PageError, Performed, Scope,
    StepError, StepModels, ToldCall, engine_problem, field, text,
};

/// Longest time that one action of a goal may wait for its element.
const LONGEST_ACTION: Duration = Duration::from_secs(15);

/// What a step may use.
pub struct StepGrant {
    /// What it may do.
    pub rules: Rules,
    /// What it may spend.
    pub limits: Limits,
    /// Its models.
    pub models: StepModels,
    /// What it may spend beside `limits`.
    pub purse: Purse,
    /// Longest time for one action.
    pub action_timeout: Duration,
}

/// The door of one step.
pub struct StepHarness<'a> {
    pub(super) attempt: &'a AttemptHarness,
    pub(super) scope: Scope,
    pub(super) grant: StepGrant,
    meter: Mutex<Meter>,
    purse: Mutex<Purse>,
    seen: Mutex<Seen>,
    /// Actions and looks take turns, first come first served.
    turn: tokio::sync::Mutex<()>,
}

/// What the step has seen and done.
#[derive(Default)]
pub(super) struct Seen {
    newest: Option<Arc<Observation>>,
    /// The screen of the newest picture.
    pub(super) pictured: Option<Arc<Observation>>,
    /// Every element that was on a screen of this step, as messages name it.
    called: BTreeMap<NodeId, String>,
    pub(super) trace: Trace,
    events: Vec<Event>,
}

/// What a step leaves behind.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The committed actions, in order.
    pub performed: Vec<Performed>,
    /// The screen at its start.
    pub first: Option<Arc<Observation>>,
    /// When the last action was dispatched.
    pub last_action: Option<Instant>,
    /// Why the actions above are not all that happened; none = they are.
    pub gap: Option<String>,
    /// Conditions under which the harness ended the step.
    pub stops: Vec<ErrorCode>,
}

impl<'a> StepHarness<'a> {
    /// Opens the door.
    pub fn new(attempt: &'a AttemptHarness, scope: Scope, grant: StepGrant) -> Self {
        let meter = Mutex::new(Meter::new(grant.limits));
        let purse = Mutex::new(grant.purse.clone());
        Self {
            attempt,
            scope,
            grant,
            meter,
            purse,
            seen: Mutex::default(),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// What was used so far.
    pub fn usage(&self) -> Usage {
        self.meter().usage()
    }

    /// The same by model and tier.
    pub fn ledger(&self) -> Vec<LedgerRow> {
        self.meter().ledger()
    }

    /// What guards and deciders did so far.
    pub fn events(&self) -> Vec<Event> {
        self.seen().events.clone()
    }

    /// What happened so far.
    pub fn trace(&self) -> Trace {
        self.seen().trace.clone()
    }

    pub(super) fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().expect("counting can't panic")
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("remembering can't panic")
    }

    /// Ends the step, and remembers that it was the harness that did.
    pub(super) fn stop(&self, problem: Problem) -> StepError {
        self.seen().trace.stops.push(problem.code);
        StepError::Stop(self.attempt.redacted(problem))
    }

    /// Writes down the rule that an action breaks, and refuses it.
    pub(super) fn denied(&self, denied: &Denied) -> StepError {
        if let Some(guard) = denied.guard {
            self.note(EventKind::Denied, guard.as_str(), &denied.message);
        }
        self.refused(denied.code, &denied.message)
    }

    /// Asks the rules of secrets' fields on the newest screen; yields what the page is to check.
    pub(super) fn sink(
        &self,
        name: &str,
        field: NodeId,
        on: &Observation,
    ) -> Result<Sink, StepError> {
        let origins = self.attempt.origins(name);
        if let Some(field) = on.node(field) {
            field::takes(name, field, on, &origins, self.attempt.app())
                .map_err(|denied| self.denied(&denied))?;
        }
        let password = self.grant.rules.secrets.get(name) == Some(&true);
        Ok(Sink {
            origins: Guard::SecretOrigin.holds().then_some(origins),
            secure: password && Guard::SecretPurpose.holds(),
            seen: Guard::SecretVisible.holds(),
        })
    }

    pub(super) fn refused(&self, code: ErrorCode, message: &str) -> StepError {
        StepError::Refused {
            code,
            message: self.attempt.redactor().text(message),
        }
    }

    /// Takes that much off the step's and the attempt's purse.
    fn hold(&self, amounts: Amounts) -> Result<(), StepError> {
        let mut own = self.purse();
        let held = own.hold(amounts).and_then(|()| {
            let whole = self.attempt.purse().hold(amounts);
            whole.inspect_err(|_| own.settle(amounts, Amounts::default()))
        });
        drop(own);
        held.map_err(|problem| {
            self.note(
                EventKind::Denied,
                Guard::BudgetReserved.as_str(),
                &problem.message,
            );
            self.stop(problem)
        })
    }

    /// Takes something off the purses and off the step's own limits, or off none of them.
    pub(super) fn reserve(
        &self,
        amounts: Amounts,
        limit: impl FnOnce(&mut Meter) -> Result<(), Problem>,
    ) -> Result<(), StepError> {
        self.hold(amounts)?;
        let reserved = limit(&mut self.meter());
        reserved.map_err(|problem| {
            self.settle(amounts, Amounts::default());
            self.stop(problem)
        })
    }

    /// Reserved actions were committed, or may have been.
    fn acted(&self, count: u32) {
        self.meter().acted(count);
        self.settle(Amounts::actions(count), Amounts::actions(count));
    }

    /// Reserved actions were refused before anything was done.
    fn released(&self, count: u32) {
        self.meter().released(count);
        self.settle(Amounts::actions(count), Amounts::default());
    }

    pub(super) fn settle(&self, held: Amounts, used: Amounts) {
        self.purse().settle(held, used);
        self.attempt.purse().settle(held, used);
    }

    fn purse(&self) -> MutexGuard<'_, Purse> {
        self.purse.lock().expect("counting can't panic")
    }

    /// Makes a screen the newest one.
    fn remember(&self, observation: Observation) -> Arc<Observation> {
        let observation = Arc::new(observation);
        let mut seen = self.seen();
        seen.called.extend(
            observation
                .nodes()
                .iter()
                .map(|node| (node.id, called(node))),
        );
        seen.trace
            .first
            .get_or_insert_with(|| Arc::clone(&observation));
        seen.newest = Some(Arc::clone(&observation));
        observation
    }

    /// Counts a dispatched action and says what its failure means.
    pub(super) fn dispatched(
        &self,
        verb: &str,
        cost: u32,
        moves: bool,
        result: Result<(), PageError>,
    ) -> Result<(), StepError> {
        let Err(error) = result else {
            self.acted(cost);
            return Ok(());
        };
        let uncertain = |message: String| {
            self.acted(cost);
            self.seen().trace.gap = Some(format!("{verb} may have been done in part"));
            StepError::Uncertain {
                message: self.attempt.redactor().text(&message),
            }
        };
        Err(match error {
            PageError::Ended(problem) => {
                uncertain(String::new());
                self.stop(problem)
            }
            PageError::Engine(error @ EngineError::Dead(_)) => {
                uncertain(String::new());
                self.stop(engine_problem(&error))
            }
            PageError::Engine(error @ EngineError::MayHaveCommitted { .. })
                if Guard::ActionOnce.holds() =>
            {
                uncertain(error.to_string())
            }
            // Not the goal's doing: the app is gone.
            PageError::Engine(error @ EngineError::Navigation { .. })
                if moves && engine_problem(&error).code == ErrorCode::AppUnreachable =>
            {
                uncertain(String::new());
                self.stop(engine_problem(&error))
            }
            // A page that began to move can't be told to stay.
            PageError::Engine(
                error @ (EngineError::Timeout { .. } | EngineError::Navigation { .. }),
            ) if moves => uncertain(error.to_string()),
            PageError::Engine(error) => {
                self.released(cost);
                if let EngineError::Unfit { guard, .. } = &error {
                    self.note(EventKind::Denied, guard.as_str(), &error.to_string());
                }
                let code = match engine_problem(&error).code {
                    ErrorCode::InvalidArgument => ErrorCode::ActionFailed,
                    code => code,
                };
                self.refused(code, &error.to_string())
            }
        })
    }

    /// Longest time for one action.
    pub(super) fn limit(&self) -> Duration {
        self.grant.action_timeout.min(LONGEST_ACTION)
    }

    /// The newest screen.
    pub(super) fn newest(&self) -> Result<Arc<Observation>, StepError> {
        let newest = self.seen().newest.clone();
        newest.ok_or_else(|| {
            self.refused(
                ErrorCode::ActionFailed,
                "observe the screen before acting on it",
            )
        })
    }

    /// The screen after an action, and whether its shape differs from `before`.
    pub(super) async fn settled(
        &self,
        before: &Observation,
        verb: &str,
        pace: Pace,
    ) -> Result<(Arc<Observation>, bool), StepError> {
        let settled = settle(self.attempt, &self.scope, &text::shape(before), pace).await;
        let (after, changed) = settled.map_err(|error| {
            self.seen().trace.gap = Some(format!("the screen after {verb} was not seen"));
            match error {
                StepError::Stop(problem) => self.stop(problem),
                StepError::Refused { .. } | StepError::Uncertain { .. } => error,
            }
        })?;
        Ok((self.remember(self.attempt.mint(after)), changed))
    }

    async fn act(&self, action: Action<NodeId>, pace: Pace) -> Result<Performed, StepError> {
        if let Some(problem) = self.scope.ended() {
            return Err(self.stop(problem));
        }
        let before = self.newest()?;
        authorize(
            &action,
            &before,
            |id| self.seen().called.get(&id).cloned(),
            &self.grant.rules,
        )
        .map_err(|denied| self.denied(&denied))?;
        let (cost, left) = (action.cost(), self.meter().left().actions);
        if cost > left && left > 0 && Guard::BudgetReserved.holds() {
            let why = format!("it counts as {cost} actions and {left} are left");
            return Err(self.refused(ErrorCode::ActionFailed, &why));
        }
        let dispatch = self.resolve(&action, &before).await?;
        self.reserve(Amounts::actions(cost), |meter| meter.reserve_actions(cost))?;
        let began = Instant::now();
        self.seen().trace.last_action = Some(began);
        let result = self.dispatch(&dispatch, cost).await;
        let moves = dispatch.moves();
        self.dispatched(action.verb(), cost, moves, result)?;
        let committed = Instant::now();
        let (after, changed) = self.settled(&before, action.verb(), pace).await?;
        let performed = Performed {
            action,
            before,
            after,
            changed,
            settled_in: committed.elapsed(),
        };
        self.seen().trace.performed.push(performed.clone());
        Ok(performed)
    }
}

#[async_trait]
impl Harness for StepHarness<'_> {
    async fn observe(&self) -> Result<Arc<Observation>, StepError> {
        let _turn = self.turn.lock().await;
        match self.attempt.observe(&self.scope).await {
            Ok(observation) => Ok(self.remember(observation)),
            Err(PageError::Ended(problem)) => Err(self.stop(problem)),
            Err(PageError::Engine(error @ EngineError::Dead(_))) => {
                Err(self.stop(engine_problem(&error)))
            }
            Err(PageError::Engine(error)) => {
                Err(self.refused(ErrorCode::ActionFailed, &error.to_string()))
            }
        }
    }

    async fn perform(&self, action: Action<NodeId>) -> Result<Performed, StepError> {
        let pace = Pace::of(&action);
        self.perform_at(action, pace).await
    }

    async fn perform_quiet(&self, action: Action<NodeId>) -> Result<Performed, StepError> {
        let pace = Pace::of(&action).quiet();
        self.perform_at(action, pace).await
    }

    async fn screenshot(&self) -> Result<Image, StepError> {
        let _turn = self.turn.lock().await;
        let guard = Guard::PixelsTainted;
        if guard.holds() && self.attempt.tainted() {
            self.note(EventKind::Denied, guard.as_str(), "a screenshot");
            return Err(self.refused(
                ErrorCode::PolicyDenied,
                "a secret was filled in this attempt: no pixels until its end",
            ));
        }
        // Before the picture: what changes under it makes its points stale, not wrong.
        let look = self.attempt.look(&self.scope).await.ok();
        let bytes = match self.attempt.screenshot(&self.scope).await {
            Ok(bytes) => bytes,
            Err(PageError::Ended(problem)) => return Err(self.stop(problem)),
            Err(PageError::Engine(error @ EngineError::Dead(_))) => {
                return Err(self.stop(engine_problem(&error)));
            }
            Err(PageError::Engine(error)) => {
                let code = if let EngineError::Unfit { guard, .. } = &error {
                    self.note(EventKind::Denied, guard.as_str(), &error.to_string());
                    ErrorCode::PolicyDenied
                } else {
                    ErrorCode::ActionFailed
                };
                return Err(self.refused(code, &error.to_string()));
            }
        };
        self.seen().pictured = look.map(Arc::new);
        let jpeg = bytes.starts_with(&[0xff, 0xd8]);
        Ok(Image {
            media_type: if jpeg { "image/jpeg" } else { "image/png" },
            bytes: bytes.into(),
        })
    }

    async fn at(&self, x: u32, y: u32) -> Result<At, StepError> {
        let _turn = self.turn.lock().await;
        self.stands(x, y).await
    }

    async fn point(
        &self,
        x: u32,
        y: u32,
        pointer: Pointer,
    ) -> Result<(Arc<Observation>, Arc<Observation>), StepError> {
        let _turn = self.turn.lock().await;
        self.point_to(x, y, pointer).await
    }

    fn means(&self) -> Means {
        Means {
            pixels: !self.attempt.tainted(),
            files: self.attempt.has_files(),
        }
    }

    fn model(&self, tier: Tier) -> Option<ModelInfo> {
        let model = self.grant.models.of(tier).ok();
        model.map(|model| model.client.info())
    }

    fn note(&self, kind: EventKind, name: &str, detail: &str) {
        let event = self.attempt.event(kind, name, detail);
        let mut seen = self.seen();
        if seen.events.len() < MAX_EVENTS {
            seen.events.push(event);
        }
    }

    async fn complete(&self, tier: Tier, request: &ModelRequest) -> Result<ModelReply, StepError> {
        self.ask(tier, request).await
    }

    fn decide(&self) -> Result<(), StepError> {
        if let Some(problem) = self.scope.ended() {
            return Err(self.stop(problem));
        }
        let one = Amounts::decision();
        self.reserve(one, Meter::reserve_decision)?;
        self.settle(one, one);
        Ok(())
    }

    fn told(&self, tier: Tier, call: &ToldCall) -> Result<(), StepError> {
        self.count_told(tier, call)
    }

    fn budget(&self) -> Budget {
        let left = self.meter().left();
        Budget {
            actions: left.actions,
            model_calls: left.model_calls,
            time: self.scope.remaining(),
        }
    }

    async fn pause(&self, delay: Duration) -> Result<(), StepError> {
        self.scope
            .run(sleep(delay))
            .await
            .map_err(|problem| self.stop(problem))
    }
}

impl StepHarness<'_> {
    async fn perform_at(&self, action: Action<NodeId>, pace: Pace) -> Result<Performed, StepError> {
        let _turn = self.turn.lock().await;
        let span = info_span!(
            "execute_tool",
            otel.name = %format_args!("execute_tool {}", action.verb()),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = action.verb(),
            muster.action.result = tracing::field::Empty,
        );
        let result = self.act(action, pace).instrument(span.clone()).await;
        span.record(
            "muster.action.result",
            match &result {
                Ok(_) => "done",
                Err(StepError::Refused { .. }) => "refused",
                Err(StepError::Uncertain { .. }) => "uncertain",
                Err(StepError::Stop(_)) => "stopped",
            },
        );
        result
    }
}
