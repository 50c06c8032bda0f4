//! Which changes of a passed goal are worth checking at the end of a replay.

use std::collections::HashSet;
use std::sync::LazyLock;

use muster_engine::Node;
use muster_proto::recording::{Anchor, RecordedAction};
use regex::Regex;

use super::anchor::{Held, anchor_of, echoes};
use super::end::Seen;
use super::open::MAX_ANCHORS;
use super::screen::{Screen, announces, label};
use super::template::expand_anchor;
use super::wording::{Wording, fold};

/// The anchors of a recording.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) appeared: Vec<Anchor>,
    pub(super) gone: Vec<Anchor>,
}

/// Chooses anchors: what is new since the baseline before what is merely on the end screen;
/// announcements, then leaves, then containers; one per label, at most eight of a kind. Text with
/// ids, dates or clocks is taken only if nothing stable changed, alerts always. `moved` says that
/// the last action came to the end route: then all of its screen is new.
pub(super) fn effects(
    seen: &Seen<'_>,
    moved: bool,
    actions: &[RecordedAction],
    wording: &Wording,
) -> Effects {
    let (start, baseline, end) = (
        Screen::new(seen.start),
        Screen::new(seen.baseline),
        Screen::new(seen.end),
    );
    let own_screen = super::route::stored_route(&seen.start.location, wording)
        == super::route::stored_route(&seen.end.location, wording);

    let mut appeared = candidates(&end, wording, |node| own_screen || !counts(node));
    appeared.retain(|each| !Held::new(&each.today).on(&start));
    for each in &mut appeared {
        each.new = moved || !Held::new(&each.today).on(&baseline);
    }
    // A control in another state or a field with another value has appeared, not gone.
    let mut gone = candidates(&baseline, wording, |node| {
        !announces(node) || node.role == "alertdialog"
    });
    gone.retain(|each| !Held::new(&each.today).on_in_any_state(&end));

    // News from before the last action may be over by the time a replay is here.
    let before_last = Screen::new(seen.before_last);
    let old_news = |each: &Candidate| {
        each.class == NEWS && !each.alert && Held::new(&each.today).on(&before_last)
    };
    if appeared.iter().any(|each| each.new && !old_news(each)) {
        appeared.retain(|each| !old_news(each));
    }

    let stable = appeared.iter().any(|each| each.new && !each.anchor.shape)
        || gone.iter().any(|each| !each.anchor.shape);
    appeared.retain(|each| !(each.anchor.shape && stable) || each.alert);
    gone.retain(|each| !(each.anchor.shape && stable));

    // Echoes prove something only where they are all there is: then nothing else is recorded.
    let echo = |each: &Candidate| echoes(&each.anchor, actions);
    let real = moved || !gone.is_empty() || appeared.iter().any(|each| each.new && !echo(each));
    if !real {
        appeared.retain(|each| (each.new && echo(each)) || each.alert);
    }
    Effects {
        appeared: chosen(appeared),
        gone: chosen(gone),
    }
}

/// The class of announcements.
const NEWS: u8 = 0;

struct Candidate {
    /// As it is stored.
    anchor: Anchor,
    /// With its slots filled.
    today: Anchor,
    label: String,
    alert: bool,
    /// It was not on the baseline.
    new: bool,
    /// Announcements, headings, other leaves, containers.
    class: u8,
}

fn candidates(
    screen: &Screen<'_>,
    wording: &Wording,
    keep: impl Fn(&Node) -> bool,
) -> Vec<Candidate> {
    // A hundred rows with a minted id each make one anchor, which is looked for once.
    let mut seen = HashSet::new();
    (0..screen.nodes().len())
        .filter(|&index| keep(&screen.nodes()[index]))
        .filter_map(|index| {
            let node = &screen.nodes()[index];
            let anchor = anchor_of(screen, index, wording)?;
            let mut today = anchor.clone();
            expand_anchor(&mut today, wording.template()).ok()?;
            let inner = screen
                .below(index)
                .any(|below| label(&screen.nodes()[below]).is_some());
            let class = match () {
                () if announces(node) => NEWS,
                () if inner => 3,
                () if node.role == "heading" => 1,
                () => 2,
            };
            let shown = if anchor.target.name.is_empty() {
                &anchor.target.text
            } else {
                &anchor.target.name
            };
            Some(Candidate {
                label: fold(if shown.is_empty() {
                    anchor.value.as_deref().unwrap_or("")
                } else {
                    shown
                }),
                alert: matches!(node.role.as_str(), "alert" | "alertdialog"),
                new: true,
                class,
                anchor,
                today,
            })
        })
        .filter(|each| seen.insert((format!("{:?}", each.anchor), each.class)))
        .collect()
}

fn chosen(mut candidates: Vec<Candidate>) -> Vec<Anchor> {
    // Stable: document order within a class.
    candidates.sort_by_key(|each| (!each.alert, !each.new, each.class));
    let mut labels: Vec<String> = Vec::new();
    candidates
        .into_iter()
        .filter(|each| {
            let first = !labels.contains(&each.label);
            if first {
                labels.push(each.label.clone());
            }
            first
        })
        .map(|each| each.anchor)
        .take(MAX_ANCHORS)
        .collect()
}

/// Whether a node's label counts something: `2 items`, `Cart (2)`, `Total: 3`. Such a count is an
/// effect on the screen that it changed on; elsewhere it tells of other tests' data.
fn counts(node: &Node) -> bool {
    static COUNT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\d+\s+\p{L}|\(\d+\)|:\s*\d+(?:[.,]\d+)?$").expect("the pattern is constant")
    });
    label(node).is_some_and(|text| COUNT.is_match(text))
}
