//! Steps that a goal doesn't name and that are evident from it: to the place it names, to the page
//! of the thing it names, past a dialog in the way, through a question that its own action raised.

use super::goal::{Clause, Segment};
use super::matching::{Pick, Wanted, pick};
use super::plan::{Act, Next, act_on, details, optional, required};
use super::progress::Here;
use super::screen::{Item, Screen};
use super::verbs::{CONFIRM, DISMISS, Kind};
use super::words::Bag;
use crate::executor::decision::request::{AroundKind, Dialog, Operation};

/// Where a thing is, as against where it goes.
const PLACES: &[&str] = &["in", "from", "on", "at", "inside"];

/// One step towards a clause whose target is not on the screen; each kind of step once a clause.
pub(super) fn towards(
    clause: &Clause,
    here: &Here,
    opened: &[u64],
    screen: &Screen<'_>,
) -> Option<Act> {
    past_dialog(here, opened, screen).or_else(|| {
        let reaches = !matches!(clause.verb.kind, Kind::Back | Kind::LogIn | Kind::Search);
        reaches
            .then(|| to_place(clause, here, screen).or_else(|| to_thing(clause, here, screen)))
            .flatten()
    })
}

fn detour(next: Next, key: String) -> Option<Act> {
    match next {
        Next::Act(act) => Some(Act {
            key,
            finishes: false,
            needs_change: true,
            ..act
        }),
        Next::Already => None,
    }
}

/// "Remove the file from the archive" where a link "Archive" is on the screen, which is not it.
fn to_place(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Option<Act> {
    let place = clause.segments.iter().find(|segment| {
        segment
            .preposition
            .as_deref()
            .is_some_and(|word| PLACES.contains(&word))
            && segment.slots().next().is_none()
    })?;
    let key = "place".to_owned();
    let stems = required(std::slice::from_ref(place), &screen.request.values);
    if here.detours.contains(&key)
        || stems.is_empty()
        || stems.iter().all(|stem| screen.page.has(stem))
    {
        return None;
    }
    let want = Wanted {
        required: stems,
        optional: optional(std::slice::from_ref(place)),
        operations: &[Operation::Tap],
        excluded: &here.tried,
        label_only: true,
        ..Wanted::default()
    };
    let found = pick(screen, &want).ok()?;
    whole_label(&screen.items[found.row], &want)
        .then(|| detour(act_on(screen, &found, "", false), key))
        .flatten()
}

/// A link named exactly as the clause's object, or the one way into an entry that has its words.
fn to_thing(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Option<Act> {
    let key = "thing".to_owned();
    if !matches!(clause.verb.kind, Kind::Named | Kind::Change) || here.detours.contains(&key) {
        return None;
    }
    let about = |segment: &&Segment| {
        segment
            .preposition
            .as_deref()
            .is_none_or(|word| matches!(word, "of" | "with" | "for"))
    };
    let segments: Vec<Segment> = clause.segments.iter().filter(about).cloned().collect();
    let stems = required(&segments, &screen.request.values);
    let want = Wanted {
        required: stems.clone(),
        operations: &[Operation::Tap],
        excluded: &here.tried,
        label_only: true,
        ..Wanted::default()
    };
    let link = pick(screen, &want)
        .ok()
        .filter(|found| !stems.is_empty() && whole_label(&screen.items[found.row], &want));
    let found = link.or_else(|| details(&stems, here, screen))?;
    let entry = entry_of(&screen.items[found.row]);
    let here_already = |item: &Item<'_>| {
        entry.is_some() && entry_of(item) == entry && clause.verb.fits(&item.label).is_some()
    };
    if screen.items.iter().any(here_already) {
        // The thing can be acted on where it stands; its page would show nothing else.
        return None;
    }
    detour(act_on(screen, &found, "", false), key)
}

/// The row, list item or article around an element.
fn entry_of(item: &Item<'_>) -> Option<muster_engine::NodeId> {
    item.row
        .around
        .iter()
        .find(|around| around.kind == AroundKind::Item)
        .map(|around| around.id)
}

/// Whether a label says nothing but what is wanted.
fn whole_label(item: &Item<'_>, want: &Wanted<'_>) -> bool {
    item.label
        .content
        .iter()
        .all(|stem| want.required.contains(stem) || want.optional.contains(stem))
}

/// A message that none of the goal's actions opened, with one way to let it go.
fn past_dialog(here: &Here, opened: &[u64], screen: &Screen<'_>) -> Option<Act> {
    let dialog = screen
        .request
        .page
        .dialogs
        .iter()
        .rev()
        .find(|dialog| !opened.contains(&dialog.id.0))?;
    if has_fields(dialog, screen) {
        return None;
    }
    let key = format!("dialog:{}", dialog.id);
    if here.detours.contains(&key) {
        return None;
    }
    let found = only(screen, dialog, |item| {
        DISMISS.iter().any(|phrase| item.label.has_phrase(phrase))
    })?;
    detour(act_on(screen, &found, "", false), key)
}

/// Whether it is a form rather than a message.
fn has_fields(dialog: &Dialog, screen: &Screen<'_>) -> bool {
    let takes = [
        Operation::Type,
        Operation::Select,
        Operation::Check,
        Operation::Uncheck,
    ];
    screen
        .items
        .iter()
        .any(|item| item.inside(dialog.id) && item.offers(&takes))
}

/// The one button of a dialog that fits.
fn only(screen: &Screen<'_>, dialog: &Dialog, fits: impl Fn(&Item<'_>) -> bool) -> Option<Pick> {
    let mut found = screen
        .items
        .iter()
        .filter(|item| item.inside(dialog.id) && item.row.offers(Operation::Tap) && fits(item));
    match (found.next(), found.next()) {
        (Some(item), None) => Some(Pick {
            row: item.index,
            option: None,
            score: 0.8,
            margin: 0.8,
        }),
        _ => None,
    }
}

/// A dialog that came up by the last action and asks whether to go through with it.
pub(super) fn question<'a>(
    clause: &Clause,
    before: &[u64],
    screen: &Screen<'a>,
) -> Option<&'a Dialog> {
    let dialog = screen
        .request
        .page
        .dialogs
        .iter()
        .rev()
        .find(|dialog| !before.contains(&dialog.id.0))?;
    let text = Bag::of([dialog.text.as_str()]);
    let asks = dialog.text.contains('?') || text.has("confirm");
    let about = clause.verb.fits(&text).is_some()
        || required(&clause.segments, &screen.request.values)
            .iter()
            .any(|stem| text.has(stem));
    (asks && about && !has_fields(dialog, screen)).then_some(dialog)
}

/// The one answer that goes through with what the clause asked for.
pub(super) fn confirm(clause: &Clause, dialog: &Dialog, screen: &Screen<'_>) -> Option<Act> {
    let says_verb = |item: &Item<'_>| clause.verb.fits(&item.label).is_some();
    let confirms = |item: &Item<'_>| CONFIRM.iter().any(|phrase| item.label.has_phrase(phrase));
    let lets_go = |item: &Item<'_>| DISMISS.iter().any(|phrase| item.label.has_phrase(phrase));
    let found = only(screen, dialog, |item| {
        (says_verb(item) || confirms(item)) && !lets_go(item)
    })?;
    match act_on(screen, &found, "confirmed", true) {
        Next::Act(act) => Some(act),
        Next::Already => None,
    }
}

/// Whether a row stands in this dialog.
pub(super) fn stands_in(row: usize, dialog: &Dialog, screen: &Screen<'_>) -> bool {
    screen
        .items
        .get(row)
        .is_some_and(|item| item.inside(dialog.id))
}
