//! Whether a replay reached the end that was recorded.
//!
//! That the actions ran proves nothing. The end holds if it looks as recorded **and** something of
//! it came about during the replay: it was not there before.

use muster_proto::recording::{Anchor, Recording};

use super::anchor::{Held, anchor_line, anchor_of, echoes};
use super::route::{on_route, route};
use super::screen::Screen;
use super::wording::Wording;
use crate::harness::Observation;

/// The screens of a replay that its end is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The first screen of the step.
    pub start: &'a Observation,
    /// The first screen seen on the end route; changes are measured from it.
    pub baseline: &'a Observation,
    /// The screen that the last action was done on.
    pub before_last: &'a Observation,
    /// The screen now.
    pub end: &'a Observation,
}

/// What the end check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The recorded end is there, and at least one of its effects happened just now.
    Holds,
    /// Not (yet).
    NotYet {
        /// What is missing or too much.
        why: String,
    },
}

/// Compares the end with the recording's, with today's `unique()` values in it:
///
/// 1. the end route is the recorded one;
/// 2. everything that appeared is there with its content, everything that went is not;
/// 3. there is no alert that was neither there at the start nor recorded;
/// 4. at least one recorded change happened since the baseline, or the last action moved to the
///    end route; and the start did not already look like the end. Fields that show what was typed
///    and controls in the state they were put into count only if nothing else was recorded.
pub fn check_end(recording: &Recording, seen: &Seen<'_>) -> End {
    match wanting(recording, seen) {
        None => End::Holds,
        Some(why) => End::NotYet { why },
    }
}

/// Whether everything that was recorded to change already looks as if it had. Then no replay can
/// prove anything.
pub(super) fn reached(recording: &Recording, start: &Observation) -> bool {
    let screen = Screen::new(start);
    // What went from another screen is not on this one; that says nothing.
    let tells = !recording.appeared.is_empty()
        || (!recording.gone.is_empty() && on_route(&recording.end_route, &start.location));
    tells
        && recording
            .appeared
            .iter()
            .all(|anchor| Held::new(anchor).on(&screen))
        && recording
            .gone
            .iter()
            .all(|anchor| !Held::new(anchor).on(&screen))
}

fn wanting(recording: &Recording, seen: &Seen<'_>) -> Option<String> {
    if !on_route(&recording.end_route, &seen.end.location) {
        return Some(format!(
            "the screen is {}; the recording ended on {}",
            route(&seen.end.location),
            recording.end_route
        ));
    }
    if seen.end.snapshot.truncated {
        return Some("the screen was cut; what is gone can't be told".to_owned());
    }
    let end = Screen::new(seen.end);
    if let Some(missing) = recording
        .appeared
        .iter()
        .find(|anchor| !Held::new(anchor).on(&end))
    {
        return Some(format!("{} is not there", anchor_line(missing)));
    }
    if let Some(left) = recording
        .gone
        .iter()
        .find(|anchor| Held::new(anchor).on(&end))
    {
        return Some(format!("{} is still there", anchor_line(left)));
    }
    let start = Screen::new(seen.start);
    if let Some(alert) = unknown_alert(recording, &start, &end) {
        return Some(format!(
            "an alert says {alert:?}; the recording saw none like it"
        ));
    }
    if reached(recording, seen.start) {
        return Some("everything that the recording changed was so from the start".to_owned());
    }
    if on_route(&recording.end_route, &seen.before_last.location)
        && !happened(recording, seen.baseline)
    {
        return Some("no recorded effect happened during the replay".to_owned());
    }
    None
}

/// Whether, at an end that looks as recorded, one of the changes was still to come on `baseline`.
fn happened(recording: &Recording, baseline: &Observation) -> bool {
    let before = Screen::new(baseline);
    let echo = |anchor: &Anchor| echoes(anchor, &recording.actions);
    let only_echoes = recording.gone.is_empty() && recording.appeared.iter().all(echo);
    recording
        .appeared
        .iter()
        .any(|anchor| (only_echoes || !echo(anchor)) && !Held::new(anchor).on(&before))
        || recording
            .gone
            .iter()
            .any(|anchor| Held::new(anchor).on(&before))
}

/// The text of an alert at the end that nobody expects.
fn unknown_alert(recording: &Recording, start: &Screen<'_>, end: &Screen<'_>) -> Option<String> {
    let expected: Vec<Held<'_>> = recording.appeared.iter().map(Held::new).collect();
    let words = Wording::default();
    (0..end.nodes().len()).find_map(|index| {
        let node = &end.nodes()[index];
        if !matches!(node.role.as_str(), "alert" | "alertdialog") {
            return None;
        }
        let text = end.text(index);
        let says = if node.name.is_empty() {
            text.into_owned()
        } else {
            node.name.clone()
        };
        if says.is_empty() || expected.iter().any(|anchor| anchor.is(end, index)) {
            return None;
        }
        let before = anchor_of(end, index, &words)
            .is_some_and(|anchor| Held::new(&anchor).on_in_any_state(start));
        (!before).then_some(says)
    })
}

#[cfg(test)]
mod tests;
