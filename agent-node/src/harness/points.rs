//! Points of a picture: what stands there, and input to a place that no element stands for.
//!
//! A picture is good only as long as the screen it was taken of. A control under a point is acted on
//! by its id, like any other; what is done at a bare point can't be described, so the step is not
//! recorded.

use std::sync::Arc;
use std::time::Duration;

use muster_engine::page::Pointer;
use muster_engine::{EngineError, NodeId};
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::step::EventKind;
use tokio::time::Instant;

use super::budget::Meter;
use super::purse::Amounts;
use super::settle::Pace;
use super::step::StepHarness;
use super::{Harness as _, Observation, PageError, StepError, engine_problem, text};

/// Longest time for one look or input at a point.
const LONGEST: Duration = Duration::from_secs(15);

/// What stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A control that the newest screen lists.
    Control(NodeId),
    /// Nothing that can be named.
    Bare,
}

impl StepHarness<'_> {
    /// See [`super::Harness::at`].
    pub(super) async fn stands(&self, x: u32, y: u32) -> Result<At, StepError> {
        let (then, now) = self.pictured(x, y).await?;
        let hit = self.attempt.hit(&self.scope, x, y, LONGEST).await;
        let hit = hit.map_err(|error| self.unseen(error))?;
        let listed = hit.iter().enumerate().find_map(|(place, id)| {
            let node = then.node(*id)?;
            Some((node, place == 0))
        });
        // A place that takes clicks itself is named by them only where they meet it first.
        let Some((node, _)) =
            listed.filter(|(node, first)| node.operable() && (*first || !node.clickable))
        else {
            return Ok(At::Bare);
        };
        if now.node(node.id).map(|node| node.rect) != Some(node.rect) {
            return Err(self.stale());
        }
        Ok(At::Control(node.id))
    }

    /// See [`super::Harness::point`].
    pub(super) async fn point_to(
        &self,
        x: u32,
        y: u32,
        pointer: Pointer,
    ) -> Result<(Arc<Observation>, Arc<Observation>), StepError> {
        let (then, now) = self.pictured(x, y).await?;
        let same = text::shape(&then) == text::shape(&now)
            && then.nodes().len() == now.nodes().len()
            && then
                .nodes()
                .iter()
                .zip(now.nodes())
                .all(|(then, now)| then.rect == now.rect);
        if !same {
            return Err(self.stale());
        }
        let before = self.newest()?;
        self.reserve(Amounts::actions(1), |meter: &mut Meter| {
            meter.reserve_actions(1)
        })?;
        self.seen().trace.last_action = Some(Instant::now());
        let result = self
            .attempt
            .point(&self.scope, x, y, pointer, self.limit())
            .await;
        let (verb, pace) = match pointer {
            Pointer::Tap => ("tap_at", Pace::of(&Action::Tap { target: () })),
            Pointer::Hover => ("hover_at", Pace::of(&Action::Hover { target: () })),
        };
        self.dispatched(verb, 1, false, result)?;
        self.seen().trace.gap = Some(format!("{verb} {x},{y} met nothing that can be named"));
        let (after, _) = self.settled(&before, verb, pace).await?;
        Ok((before, after))
    }

    /// The screen of the newest picture, and the one there is now.
    async fn pictured(&self, x: u32, y: u32) -> Result<(Arc<Observation>, Observation), StepError> {
        if let Some(problem) = self.scope.ended() {
            return Err(self.stop(problem));
        }
        if Guard::PixelsTainted.holds() && self.attempt.tainted() {
            let guard = Guard::PixelsTainted.as_str();
            self.note(EventKind::Denied, guard, "a point of a picture");
            return Err(self.refused(
                ErrorCode::PolicyDenied,
                "a secret was filled in this attempt: no pictures and no points until its end",
            ));
        }
        let pictured = self.seen().pictured.clone();
        let Some(then) = pictured else {
            return Err(self.refused(ErrorCode::ActionFailed, "take a screenshot first"));
        };
        let (width, height) = then.snapshot.viewport;
        if x >= width || y >= height {
            let why = format!("{x},{y} is outside of the picture, which is {width}×{height}");
            return Err(self.refused(ErrorCode::ActionFailed, &why));
        }
        let now = self.attempt.look(&self.scope).await;
        Ok((then, now.map_err(|error| self.unseen(error))?))
    }

    fn stale(&self) -> StepError {
        self.refused(
            ErrorCode::ActionFailed,
            "the screen changed since the screenshot; take another",
        )
    }

    fn unseen(&self, error: PageError) -> StepError {
        match error {
            PageError::Ended(problem) => self.stop(problem),
            PageError::Engine(error @ EngineError::Dead(_)) => self.stop(engine_problem(&error)),
            PageError::Engine(error) => self.refused(ErrorCode::ActionFailed, &error.to_string()),
        }
    }
}
