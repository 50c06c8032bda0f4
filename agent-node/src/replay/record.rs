//! A trace becomes a recording, or a reason why not.

use std::sync::Arc;
use std::time::Duration;

use muster_engine::NodeId;
use muster_proto::action::{Action, MAX_TIMES, Target, Typed};
use muster_proto::recording::{MAX_ACTIONS, RecordedAction, RecordedBy, Recording, SCHEMA};
use serde_json::Value;

use super::derived::{Derived, derived_address, derived_label, derived_text};
use super::describe::describe_as;
use super::effects::{Effects, effects};
use super::end::{End, Seen, check_end};
use super::line::action_line;
use super::open::{MAX_END_WAIT_MS, MAX_TYPED, check};
use super::route::{on_route, stored_route};
use super::screen::{Screen, clip};
use super::template::{OPEN, expand};
use super::wording::Wording;
use crate::harness::{Observation, Performed};

/// A passed goal.
#[derive(Clone, Copy, Debug)]
pub struct RecordInput<'a> {
    /// Every action that was committed in the step, replayed ones first.
    pub trace: &'a [Performed],
    /// The first screen of the step.
    pub start: &'a Observation,
    /// The screen when the verdict was given.
    pub end: &'a Observation,
    /// The goal.
    pub instruction: &'a str,
    /// Its parameters.
    pub params: &'a Value,
    /// JSON Pointers into `params` of values made by `unique()`.
    pub unique: &'a [String],
    /// Who decided.
    pub executor_name: &'a str,
    /// Its version.
    pub executor_version: &'a str,
    /// What it said.
    pub summary: &'a str,
    /// How long the end took to settle after the last action.
    pub end_wait: Duration,
}

/// Why a passed goal leaves no recording, in words for the report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotRecorded {
    /// A word for the rule and what broke it, e.g. `derived (minted-token): …`.
    pub reason: String,
}

impl NotRecorded {
    fn new(rule: &str, detail: impl std::fmt::Display) -> Self {
        Self {
            reason: format!("{rule}: {detail}"),
        }
    }

    fn derived(rule: Derived, action: usize, verb: &str) -> Self {
        Self::new(
            &format!("derived ({})", rule.word()),
            format!(
                "what action {action} ({verb}) enters is in neither instruction nor params; pass it as a param"
            ),
        )
    }
}

/// Makes the recording of a passed goal. Its text holds slots for `unique()` values and masks for
/// what the app mints; [`super::open`] fills the slots.
///
/// # Errors
/// [`NotRecorded`] if a replay could not prove something, or would have to guess:
///
/// - `no-action`, `too-many-actions`: there is nothing, or more than 50 actions, to replay;
/// - `param-collision`: a `unique()` value can't be told from another parameter;
/// - `undescribable`: nothing stable tells an element from its twins;
/// - `derived`: an entered value was read off the screen, or is a date of today;
/// - `redacted`, `too-long`, `placeholder`: an entered value can't be kept as it is;
/// - `no-effect`: nothing came about that a replay could check.
pub fn record(input: &RecordInput<'_>) -> Result<Recording, NotRecorded> {
    let trace = folded(input.trace);
    let Some(last) = trace.last() else {
        return Err(NotRecorded::new(
            "no-action",
            "the goal passed without an action",
        ));
    };
    if trace.len() > MAX_ACTIONS {
        return Err(NotRecorded::new(
            "too-many-actions",
            format!("{} actions; at most {MAX_ACTIONS} replay", trace.len()),
        ));
    }
    let wording = Wording::new(input.instruction, input.params, input.unique)
        .map_err(|collision| NotRecorded::new("param-collision", collision.0))?;
    let actions = trace
        .iter()
        .enumerate()
        .map(|(index, each)| recorded_action(each, index + 1, &trace[..=index], &wording))
        .collect::<Result<Vec<_>, _>>()?;

    let end_route = stored_route(&input.end.location, &wording);
    let here = wording
        .template()
        .expand(&end_route)
        .map_err(|why| NotRecorded::new("route", why))?;
    let screens = [input.start]
        .into_iter()
        .chain(trace.iter().flat_map(|each| [&*each.before, &*each.after]));
    let seen = Seen {
        start: input.start,
        baseline: screens
            .into_iter()
            .find(|screen| on_route(&here, &screen.location))
            .unwrap_or(input.end),
        before_last: &last.before,
        end: input.end,
    };
    let moved = !on_route(&here, &last.before.location);
    let Effects { appeared, gone } = effects(&seen, moved, &actions, &wording);

    let recording = Recording {
        schema: SCHEMA,
        actions,
        summary: clip(input.summary).to_owned(),
        start_route: stored_route(&input.start.location, &wording),
        end_route,
        appeared,
        gone,
        end_wait_ms: u64::try_from(input.end_wait.as_millis())
            .unwrap_or(u64::MAX)
            .min(MAX_END_WAIT_MS),
        recorded_by: RecordedBy {
            executor: input.executor_name.to_owned(),
            version: input.executor_version.to_owned(),
        },
        truncated: None,
    };
    check(&recording).map_err(|why| NotRecorded::new("too-long", why))?;
    // What does not hold for the run that recorded it will hold for none.
    let today = expand(&recording, wording.template())
        .map_err(|why| NotRecorded::new("placeholder", why))?;
    match check_end(&today, &seen) {
        End::Holds => Ok(recording),
        End::NotYet { why } => Err(NotRecorded::new("no-effect", why)),
    }
}

/// The trace with scrolls that follow each other made one: those to the same element, and those of
/// the same area in the same direction, as far as one action may go.
fn folded(trace: &[Performed]) -> Vec<Performed> {
    let mut out: Vec<Performed> = Vec::new();
    for each in trace {
        let taken_in = out.last_mut().is_some_and(|last| {
            let again = again(&mut last.action, &each.action);
            if again {
                last.after = Arc::clone(&each.after);
                last.changed |= each.changed;
            }
            again
        });
        if !taken_in {
            out.push(each.clone());
        }
    }
    out
}

/// Lets a scroll take in the one that follows it, if it can.
fn again(last: &mut Action<NodeId>, next: &Action<NodeId>) -> bool {
    match (last, next) {
        (Action::ScrollTo { target }, Action::ScrollTo { target: next }) => target == next,
        (
            Action::Scroll {
                target,
                direction,
                times,
            },
            Action::Scroll {
                target: to,
                direction: way,
                times: more,
            },
        ) if target == to && direction == way && *times + more <= MAX_TIMES => {
            *times += more;
            true
        }
        _ => false,
    }
}

fn recorded_action(
    performed: &Performed,
    number: usize,
    so_far: &[Performed],
    wording: &Wording,
) -> Result<RecordedAction, NotRecorded> {
    let verb = performed.action.verb();
    let screen = Screen::new(&performed.before);
    let target = |id: &NodeId| -> Result<Target, NotRecorded> {
        describe_as(&screen, *id, wording).ok_or_else(|| {
            NotRecorded::new(
                "undescribable",
                format!("nothing stable tells the element of action {number} ({verb}) from others; give it a test id or a name"),
            )
        })
    };
    let kept = |text: &str| {
        wording.slotted(text).ok_or_else(|| {
            NotRecorded::new(
                "placeholder",
                format!("what action {number} ({verb}) enters holds {OPEN:?}"),
            )
        })
    };
    let derived = |rule: Option<Derived>| match rule {
        Some(rule) => Err(NotRecorded::derived(rule, number, verb)),
        None => Ok(()),
    };
    let typed = |text: &str| {
        if text.contains("<secret:") {
            return Err(NotRecorded::new(
                "redacted",
                format!(
                    "action {number} typed a text with a secret in it; declare the secret and type it by name"
                ),
            ));
        }
        if text.chars().count() > MAX_TYPED {
            return Err(NotRecorded::new(
                "too-long",
                format!("action {number} typed more than {MAX_TYPED} characters"),
            ));
        }
        derived(derived_text(text, so_far, wording))?;
        kept(text)
    };
    let action = match performed.action.clone().try_map(|id| target(&id))? {
        Action::Type {
            value: Typed::Template { .. },
            ..
        } => {
            return Err(NotRecorded::new(
                "placeholder",
                format!("action {number} typed a template"),
            ));
        }
        Action::Type {
            target,
            value: Typed::Literal { text },
            replace,
        } => {
            let text = typed(&text)?;
            let value = match text.contains(OPEN) {
                true => Typed::Template { text },
                false => Typed::Literal { text },
            };
            Action::Type {
                target,
                value,
                replace,
            }
        }
        Action::TypeText { text } => Action::TypeText {
            text: typed(&text)?,
        },
        Action::Select { target, label } => {
            derived(derived_label(&label, wording))?;
            let label = kept(&label)?;
            Action::Select { target, label }
        }
        Action::ScrollUntil {
            target,
            text,
            direction,
        } => {
            derived(derived_label(&text, wording))?;
            let text = kept(&text)?;
            Action::ScrollUntil {
                target,
                text,
                direction,
            }
        }
        Action::Navigate { path } => {
            derived(derived_address(&path, wording))?;
            Action::Navigate { path: kept(&path)? }
        }
        as_it_is @ (Action::Type {
            value: Typed::Secret { .. },
            ..
        }
        | Action::Tap { .. }
        | Action::DoubleTap { .. }
        | Action::LongPress { .. }
        | Action::RightClick { .. }
        | Action::Drag { .. }
        | Action::Press { .. }
        | Action::Check { .. }
        | Action::Hover { .. }
        | Action::Scroll { .. }
        | Action::ScrollTo { .. }
        | Action::Upload { .. }
        | Action::Back {}) => as_it_is,
    };
    Ok(RecordedAction {
        summary: action_line(&action),
        action,
        quiet: !performed.changed,
    })
}

#[cfg(test)]
mod tests;
