//! Which element a clause means: a score for each, a best one, and its distance to the second.

use std::cmp::Ordering;

use super::screen::{Item, Screen};
use super::verbs::Verb;
use super::words::{Bag, stem};
use crate::executor::decision::request::{AroundKind, Operation};

/// Least score of a match.
const THRESHOLD: f64 = 0.45;
/// Least distance to the second best.
const MARGIN: f64 = 0.04;

/// Taken off the score of a label that has the right words in another order; more than [`MARGIN`].
const DISORDER: f64 = 0.08;

/// Added where a label says the verb as the goal does and the clause names nothing else: "create
/// it" means "Create" before "New item".
const LITERAL: f64 = 0.06;

/// Taken off a link to the page that is shown: following it would only load that page again.
const NOWHERE: f64 = 0.3;

/// What an element has to answer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted<'a> {
    /// Stems that must all be found on it or around it.
    pub(super) required: Vec<String>,
    /// Stems that may be found.
    pub(super) optional: Vec<String>,
    /// Stems of what a pronoun stands for: the more are found, the better.
    pub(super) antecedent: Vec<String>,
    /// The verb.
    pub(super) verb: Option<&'a Verb>,
    /// Whether the label has to say the verb.
    pub(super) verb_required: bool,
    /// What may be done to it.
    pub(super) operations: &'a [Operation],
    /// Elements that were tried.
    pub(super) excluded: &'a [u64],
    /// Words of an option that has to be among a select's.
    pub(super) option: Option<&'a str>,
    /// The label itself has to have all required words.
    pub(super) label_only: bool,
    /// Some required word, or the verb, has to stand on the element, not only around it.
    pub(super) own_word: bool,
    /// Roles that decide between equals.
    pub(super) prefers: &'a [&'a str],
}

/// An element that a clause means.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pick {
    /// Index of the row.
    pub(super) row: usize,
    /// Index of the option, for a select.
    pub(super) option: Option<usize>,
    /// 0 to 1.
    pub(super) score: f64,
    /// Distance to the second best, 0 to 1.
    pub(super) margin: f64,
}

/// Why none is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Miss {
    /// For people.
    pub(super) why: String,
    /// How close the best came, 0 to 1.
    pub(super) closeness: f64,
}

/// One element, or one option of a select.
struct Scored<'s, 'a> {
    item: &'s Item<'a>,
    option: Option<usize>,
    score: f64,
    missing: Vec<String>,
    verb_missing: bool,
}

/// The element that is meant. What stands in an open dialog goes before what lies behind it.
pub(super) fn pick(screen: &Screen<'_>, wanted: &Wanted<'_>) -> Result<Pick, Miss> {
    if let Some(dialog) = screen.request.page.dialogs.last()
        && let Ok(found) = pick_among(
            screen,
            wanted,
            screen.items.iter().filter(|item| item.inside(dialog.id)),
        )
    {
        return Ok(found);
    }
    pick_among(screen, wanted, screen.items.iter())
}

fn pick_among<'s, 'a: 's>(
    screen: &'s Screen<'a>,
    wanted: &Wanted<'_>,
    items: impl Iterator<Item = &'s Item<'a>>,
) -> Result<Pick, Miss> {
    let mut scored: Vec<Scored<'s, 'a>> = Vec::new();
    for item in items
        .filter(|item| item.offers(wanted.operations) && !wanted.excluded.contains(&item.row.id.0))
    {
        if !(item.row.offers(Operation::Select) && wanted.operations.contains(&Operation::Select)) {
            scored.push(score(screen, item, None, wanted));
            continue;
        }
        for (option, text) in item.row.options.iter().enumerate() {
            if wanted.option.is_none_or(|value| same_text(value, text)) {
                scored.push(score(screen, item, Some(option), wanted));
            }
        }
    }
    scored.sort_by(|a, b| {
        (a.lacks(), b.score)
            .partial_cmp(&(b.lacks(), a.score))
            .unwrap_or(Ordering::Equal)
    });
    let Some(outer) = scored.first() else {
        return Err(Miss {
            why: "nothing on the screen takes that operation".to_owned(),
            closeness: 0.0,
        });
    };
    // A tab with a link in it that says the same: a click is for what is inside.
    let inner = scored[1..]
        .iter()
        .find(|other| other.lacks() == 0 && other.item.row.inside == Some(outer.item.row.id));
    let best = inner.unwrap_or(outer);
    if best.lacks() > 0 {
        return Err(far(best, wanted));
    }
    let second = scored
        .iter()
        .filter(|other| !std::ptr::eq(*other, best))
        .find(|other| other.lacks() == 0 && !twins(best, other));
    let margin = second.map_or(best.score, |other| best.score - other.score);
    let miss = |why: String| Miss {
        why,
        closeness: best.score,
    };
    if best.score < THRESHOLD {
        return Err(miss(format!(
            "{} is too unlike it (score {:.2})",
            best.describe(),
            best.score
        )));
    }
    match second {
        Some(second) if margin < MARGIN => Err(miss(format!(
            "{} and {} fit equally well",
            best.describe(),
            second.describe()
        ))),
        _ => Ok(Pick {
            row: best.item.index,
            option: best.option,
            score: best.score.clamp(0.0, 1.0),
            margin: margin.clamp(0.0, 1.0),
        }),
    }
}

fn far(best: &Scored<'_, '_>, wanted: &Wanted<'_>) -> Miss {
    let mut lacks: Vec<String> = best
        .missing
        .iter()
        .map(|stem| format!("{stem:?}"))
        .collect();
    if best.verb_missing {
        lacks.extend(wanted.verb.map(|verb| format!("{:?}", verb.said.join(" "))));
    }
    let found = wanted.required.len().saturating_sub(best.missing.len());
    let closeness = f64::from(u32::try_from(found).unwrap_or(0))
        / f64::from(u32::try_from(wanted.required.len() + 1).unwrap_or(1));
    let why = if found == 0 {
        format!("no element has {}", lacks.join(", "))
    } else {
        format!(
            "{} comes closest and lacks {}",
            best.describe(),
            lacks.join(", ")
        )
    };
    Miss { why, closeness }
}

impl Scored<'_, '_> {
    /// How many of the wanted words are nowhere.
    fn lacks(&self) -> usize {
        self.missing.len() + usize::from(self.verb_missing)
    }

    fn describe(&self) -> String {
        let row = self.item.row;
        let option = self
            .option
            .map(|option| format!(" option {:?}", row.options[option]))
            .unwrap_or_default();
        let within = row
            .around
            .iter()
            .find(|around| around.kind == AroundKind::Item);
        let within = within
            .map(|around| format!(" in {:?}", around.title))
            .unwrap_or_default();
        format!("{}{option}{within}", row.describe())
    }
}

/// Two elements that lead to the same: a picture and a title with one address, or one inside the
/// other that says the same.
fn twins(one: &Scored<'_, '_>, other: &Scored<'_, '_>) -> bool {
    let (a, b) = (one.item.row, other.item.row);
    let nested = a.inside == Some(b.id) || b.inside == Some(a.id);
    nested || (a.href.is_some() && a.href == b.href && a.role == b.role)
}

fn score<'s, 'a>(
    screen: &Screen<'_>,
    item: &'s Item<'a>,
    option: Option<usize>,
    wanted: &Wanted<'_>,
) -> Scored<'s, 'a> {
    let own = option.and_then(|option| item.options.get(option));
    let label = own.unwrap_or(&item.label);
    let verb = wanted.verb.and_then(|verb| {
        verb.fits(label)
            .or_else(|| own.and_then(|_| verb.fits(&item.label)))
            .or_else(|| {
                if label.is_empty() || wanted.label_only {
                    verb.fits(&item.hints)
                } else {
                    None
                }
            })
    });
    let level = |stem: &str| {
        let beside = own.is_some() && item.label.has(stem);
        match () {
            () if label.has(stem) => 1.0,
            () if beside => 0.9,
            () if wanted.label_only => 0.0,
            () if item.hints.has(stem) => 0.8,
            () if item.around.has(stem) => 0.6,
            () if screen.page.has(stem) => 0.35,
            () => 0.0,
        }
    };
    let (mut got, mut most) = (0.0, 0.0);
    let mut missing = Vec::new();
    let mut explained: Vec<&str> = verb
        .iter()
        .flat_map(|fit| fit.stems.iter().map(String::as_str))
        .collect();
    let mut own_words = 0;
    let mut by_context = false;
    for stem in &wanted.required {
        let level = level(stem);
        let weight = screen.weight(stem);
        got += weight * level;
        most += weight;
        if level == 0.0 {
            missing.push(stem.clone());
        }
        own_words += usize::from(level >= 0.8);
        by_context |= level == 0.6;
        explained.push(stem);
    }
    for stem in wanted.optional.iter().filter(|stem| level(stem) > 0.0) {
        got += screen.weight(stem) * level(stem) * 0.5;
        most += screen.weight(stem) * 0.5;
        explained.push(stem);
    }
    for stem in &wanted.antecedent {
        got += screen.weight(stem) * level(stem) * 0.5;
        most += screen.weight(stem) * if level(stem) > 0.0 { 0.5 } else { 0.1 };
        explained.push(stem);
    }
    if let Some(fit) = &verb {
        let weight = if wanted.verb_required { 1.0 } else { 0.3 };
        got += weight * if fit.literal { 1.0 } else { 0.85 };
        most += weight;
    }
    let quality = if most > 0.0 { got / most } else { 0.0 };
    let precision = share(label, &explained);
    let mut score = 0.6 * quality + 0.35 * precision;
    if by_context {
        score += 0.05 * share(&item.title, &explained);
    } else if missing.is_empty() && own_words == wanted.required.len() {
        score += 0.05;
    }
    if !in_order(label, &wanted.required) {
        score -= DISORDER;
    }
    if wanted.prefers.contains(&item.row.role.as_str()) {
        score += 0.06;
    }
    if wanted.required.is_empty() && verb.as_ref().is_some_and(|fit| fit.literal) {
        score += LITERAL;
    }
    if item
        .row
        .href
        .as_deref()
        .is_some_and(|href| leads_nowhere(href, &screen.request.page.location))
    {
        score -= NOWHERE;
    }
    if wanted.own_word && own_words == 0 && !verb.as_ref().is_some_and(|fit| fit.literal) {
        missing.extend(
            wanted
                .required
                .first()
                .cloned()
                .filter(|_| missing.is_empty()),
        );
    }
    Scored {
        item,
        option,
        score,
        missing,
        verb_missing: wanted.verb_required && verb.is_none(),
    }
}

/// Whether an address is that of the page shown; `href` may be absolute or without its origin.
fn leads_nowhere(href: &str, location: &str) -> bool {
    let path = match href.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => href,
    };
    path == location
}

/// Whether the words that a label shares with `wanted` stand in the same order: "low to high" is
/// not "high to low".
fn in_order(label: &Bag, wanted: &[String]) -> bool {
    let shared = label
        .words
        .iter()
        .map(|word| stem(word))
        .filter(|stem| wanted.contains(stem));
    let mut rest = wanted.iter();
    shared
        .into_iter()
        .all(|stem| rest.any(|wanted| *wanted == stem))
}

/// How much of a label's meaning is explained, 0 to 1.
fn share(label: &Bag, explained: &[&str]) -> f64 {
    if label.content.is_empty() {
        return 0.0;
    }
    // "check out" on a label is explained by "checkout", and the other way round.
    let joined: Vec<String> = label
        .words
        .windows(2)
        .filter(|pair| explained.contains(&stem(&pair.concat()).as_str()))
        .flatten()
        .map(|word| stem(word))
        .collect();
    let pairs: Vec<String> = explained.windows(2).map(|pair| pair.concat()).collect();
    let known = label.content.iter().filter(|stem| {
        explained.contains(&stem.as_str()) || joined.contains(stem) || pairs.contains(stem)
    });
    let part = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    part(known.count()) / part(label.content.len())
}

/// Whether two texts read the same: whitespace and letter case apart.
pub(super) fn same_text(one: &str, other: &str) -> bool {
    let fold = |text: &str| {
        text.split_whitespace()
            .map(str::to_lowercase)
            .collect::<Vec<_>>()
    };
    fold(one) == fold(other)
}
