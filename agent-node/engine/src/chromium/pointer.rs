//! Clicks, presses that are held, and drags.

use std::time::Duration;

use muster_proto::guard::Guard;
use serde::Deserialize;
use serde_json::json;

use super::deadline::Deadline;
use super::tab::{AskError, Tab};
use super::touch::{Aim, Look, Need, unsure};
use super::wire::CallError;
use crate::page::{EngineError, Pointer};
use crate::snapshot::NodeId;

/// Moves of the pointer on its way from one end of a drag to the other.
const STEPS: u32 = 8;

/// What a clicked or dragged element must be.
const POINTED: Need = Need {
    enabled: true,
    editable: false,
    pointer: true,
};

/// A kind of click.
pub(super) struct Click<'a> {
    verb: &'a str,
    /// DevTools' name of the button, and its bit.
    button: (&'static str, u8),
    count: u8,
    hold: Duration,
}

impl<'a> Click<'a> {
    pub(super) fn tap(verb: &'a str) -> Self {
        Self {
            verb,
            button: ("left", 1),
            count: 1,
            hold: Duration::ZERO,
        }
    }

    pub(super) fn double() -> Self {
        Self {
            count: 2,
            ..Click::tap("double tap")
        }
    }

    pub(super) fn held(hold: Duration) -> Self {
        Self {
            hold,
            ..Click::tap("long press")
        }
    }

    pub(super) fn right() -> Self {
        Self {
            button: ("right", 2),
            ..Click::tap("right click")
        }
    }
}

/// Where guarded input went.
#[derive(Debug, Deserialize)]
struct Outcome {
    outcome: String,
    by: String,
}

/// Sends the pointer to a point of the viewport.
pub(super) async fn at(
    tab: &Tab,
    (x, y): (u32, u32),
    pointer: Pointer,
    deadline: Deadline,
) -> Result<(), EngineError> {
    let what = format!("the pointer at {x},{y}");
    let moved = json!({"type": "mouseMoved", "x": x, "y": y, "button": "none"});
    tab.call("Input.dispatchMouseEvent", moved, deadline)
        .await
        .map_err(|error| deadline.explain(error, &what))?;
    if pointer == Pointer::Hover {
        return Ok(());
    }
    for (kind, held) in [("mousePressed", 1), ("mouseReleased", 0)] {
        let params = json!({
            "type": kind, "x": x, "y": y, "button": "left", "buttons": held, "clickCount": 1,
        });
        tab.call("Input.dispatchMouseEvent", params, deadline)
            .await
            .map_err(|error| unsure(&what, error))?;
    }
    Ok(())
}

impl Aim<'_> {
    /// Clicks once; input that would miss the element is swallowed by the script's guard, and then
    /// the click is aimed anew.
    pub(super) async fn click(&self, click: &Click<'_>) -> Result<(), EngineError> {
        if self.deadline.left() < click.hold {
            return Err(self.deadline.timeout(click.verb));
        }
        loop {
            let point = self.ready(POINTED).await?;
            self.arm().await?;
            self.point_at(&point, click.verb).await?;
            for count in 1..=click.count {
                self.button("mousePressed", &point, click, count).await?;
                if !click.hold.is_zero() {
                    tokio::time::sleep(click.hold).await;
                }
                self.button("mouseReleased", &point, click, count).await?;
            }
            let Some(outcome) = self.disarm(click.verb).await? else {
                return Ok(());
            };
            match outcome.outcome.as_str() {
                "missed" if self.deadline.passed() => {
                    return Err(self.not_actionable(format!("{} took its place", outcome.by)));
                }
                "missed" => {}
                "left" => {
                    let why = format!("{} took its place after the first click", outcome.by);
                    return Err(self.may_have(click.verb, &why));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Presses on the element, moves to the other and lets go there. Both must be in view at once.
    pub(super) async fn drag(&self, to: NodeId) -> Result<(), EngineError> {
        let verb = "drag";
        let end = Aim {
            tab: self.tab,
            ids: self.ids,
            id: to,
            was: self.ids.was(to),
            deadline: self.deadline,
        };
        // Bringing one end into view may take the other out of it.
        end.ready(POINTED).await?;
        let from = self.ready(POINTED).await?;
        let place: Look = end.ask("spot", json!([end.id])).await?;
        let there = end.accept(place)?;
        self.arm().await?;
        self.point_at(&from, verb).await?;
        let click = Click::tap(verb);
        self.button("mousePressed", &from, &click, 1).await?;
        let way = |step: u32| {
            let part = f64::from(step) / f64::from(STEPS);
            let between = |a: f64, b: f64| a + (b - a) * part;
            (between(from.x, there.x), between(from.y, there.y))
        };
        for (x, y) in (1..=STEPS).map(way) {
            self.held_move(x, y, verb).await?;
        }
        // What made room for the dragged element may have moved the place.
        let place: Option<Look> = end.ask("spot", json!([end.id])).await.ok();
        let last = place.and_then(|place| end.accept(place).ok());
        let last = last.unwrap_or(there);
        self.held_move(last.x, last.y, verb).await?;
        self.button("mouseReleased", &last, &click, 1).await?;
        match self.disarm(verb).await? {
            Some(outcome) if outcome.outcome == "missed" => {
                Err(self.not_actionable(format!("{} took its place", outcome.by)))
            }
            _ => Ok(()),
        }
    }

    /// Moves the pointer there; nothing is pressed.
    pub(super) async fn point_at(&self, point: &Look, verb: &str) -> Result<(), EngineError> {
        let params = json!({"type": "mouseMoved", "x": point.x, "y": point.y, "button": "none"});
        self.tab
            .call("Input.dispatchMouseEvent", params, self.deadline)
            .await
            .map(drop)
            .map_err(|error| self.deadline.explain(error, verb))
    }

    async fn held_move(&self, x: f64, y: f64, verb: &str) -> Result<(), EngineError> {
        let params = json!({"type": "mouseMoved", "x": x, "y": y, "button": "left", "buttons": 1});
        self.tab
            .call("Input.dispatchMouseEvent", params, self.deadline)
            .await
            .map(drop)
            .map_err(|error| self.unsure(verb, error))
    }

    async fn button(
        &self,
        kind: &str,
        point: &Look,
        click: &Click<'_>,
        count: u8,
    ) -> Result<(), EngineError> {
        let (button, bit) = click.button;
        let params = json!({
            "type": kind,
            "x": point.x,
            "y": point.y,
            "button": button,
            "buttons": if kind == "mousePressed" { bit } else { 0 },
            "clickCount": count,
        });
        self.tab
            .call("Input.dispatchMouseEvent", params, self.deadline)
            .await
            .map(drop)
            .map_err(|error| self.unsure(click.verb, error))
    }

    async fn arm(&self) -> Result<(), EngineError> {
        let look: Look = self
            .ask("arm", json!([self.id, Guard::TargetHit.holds()]))
            .await?;
        self.accept(look).map(drop)
    }

    /// Where the input went; none = it led to another document.
    async fn disarm(&self, verb: &str) -> Result<Option<Outcome>, EngineError> {
        match self
            .tab
            .ask_once::<Outcome>("disarm", json!([]), self.deadline, verb)
            .await
        {
            Ok(outcome) => Ok(Some(outcome)),
            Err(AskError::Lost) => Ok(None),
            Err(AskError::Late) => Err(self.unsure(verb, CallError::Timeout)),
            Err(AskError::Failed(error)) => Err(error),
        }
    }
}
