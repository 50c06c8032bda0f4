//! Waiting for an action's effect: until the screen's shape changes, then until it rests.

use std::time::Duration;

use muster_engine::EngineError;
use muster_proto::action::{Action, Typed};
use tokio::time::{Instant, sleep};

use super::whole::{BETWEEN_LOOKS, LOOK};
use super::{AttemptHarness, Observation, PageError, Scope, StepError, engine_problem, text};

/// Longest wait for a page that an action set on its way, e.g. by sending a form whose button then
/// says that it is being sent.
const LANDING: Duration = Duration::from_secs(10);
/// Longest wait for the effect of an action that had none when it was recorded.
const QUIET: Duration = Duration::from_millis(300);

/// How long an action's effect is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Until the shape changes.
    change: Duration,
    /// Then until two looks in a row are equal; none = the first look after the change will do.
    rest: Option<Duration>,
}

impl Pace {
    /// The pace of an action that changes nothing.
    pub(super) fn quiet(self) -> Self {
        Self {
            change: self.change.min(QUIET),
            ..self
        }
    }

    /// The pace of an action.
    pub(super) fn of<T>(action: &Action<T>) -> Self {
        let millis = Duration::from_millis;
        match action {
            Action::Type {
                value: Typed::Secret { .. },
                ..
            } => Self {
                change: Duration::ZERO,
                rest: None,
            },
            Action::Type { .. } => Self {
                change: millis(2000),
                rest: None,
            },
            Action::Scroll { .. }
            | Action::ScrollTo { .. }
            | Action::ScrollUntil { .. }
            | Action::Hover { .. } => Self {
                change: millis(500),
                rest: Some(millis(1000)),
            },
            Action::Tap { .. }
            | Action::DoubleTap { .. }
            | Action::LongPress { .. }
            | Action::RightClick { .. }
            | Action::Drag { .. }
            | Action::TypeText { .. }
            | Action::Upload { .. }
            | Action::Press { .. }
            | Action::Select { .. }
            | Action::Check { .. }
            | Action::Navigate { .. }
            | Action::Back {} => Self {
                change: millis(2000),
                rest: Some(millis(1000)),
            },
        }
    }
}

/// The screen after an action, and whether its shape differs from `before`. A page that is on its
/// way elsewhere is looked at again.
pub(super) async fn settle(
    harness: &AttemptHarness,
    scope: &Scope,
    before: &str,
    pace: Pace,
) -> Result<(Observation, bool), StepError> {
    let began = Instant::now();
    let under_way = || harness.loading() && began.elapsed() < LANDING;
    let mut last = None;
    loop {
        if let Some(seen) = glance(harness, scope).await? {
            let shape = text::shape(&seen);
            let changed = shape != before;
            last = Some((shape, seen));
            if changed {
                break;
            }
        }
        let waited = began.elapsed();
        let expired = waited >= pace.change && !under_way();
        if expired && (last.is_some() || waited >= LOOK) {
            break;
        }
        rest(scope).await?;
    }
    let Some((mut shape, mut seen)) = last else {
        return Err(StepError::Uncertain {
            message: "it was done, but the screen can't be read since".to_owned(),
        });
    };
    let changed = shape != before;
    if let Some(limit) = pace.rest.filter(|_| changed) {
        let ends = Instant::now() + limit;
        while Instant::now() < ends || under_way() {
            rest(scope).await?;
            let Some(next) = glance(harness, scope).await? else {
                continue;
            };
            let next_shape = text::shape(&next);
            let resting = next_shape == shape && !under_way();
            (shape, seen) = (next_shape, next);
            if resting {
                break;
            }
        }
    }
    Ok((seen, shape != before))
}

/// A look, or nothing while the page can't be read.
async fn glance(harness: &AttemptHarness, scope: &Scope) -> Result<Option<Observation>, StepError> {
    match harness.look(scope).await {
        Ok(seen) => Ok(Some(seen)),
        Err(PageError::Ended(problem)) => Err(StepError::Stop(problem)),
        Err(PageError::Engine(error @ EngineError::Dead(_))) => {
            Err(StepError::Stop(engine_problem(&error)))
        }
        Err(PageError::Engine(_)) => Ok(None),
    }
}

async fn rest(scope: &Scope) -> Result<(), StepError> {
    scope
        .run(sleep(BETWEEN_LOOKS))
        .await
        .map_err(StepError::Stop)
}
