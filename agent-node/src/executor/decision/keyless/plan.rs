//! The next action for one clause on one screen.

use super::credentials;
use super::fields;
use super::goal::{Clause, Segment, Term};
use super::matching::{Miss, Pick, Wanted, pick, same_text};
use super::progress::Here;
use super::screen::Screen;
use super::verbs::{DETAILS, Kind};
use super::words::{Bag, is_stop, stem, words};
use crate::executor::decision::request::{AroundKind, Do, Offered, Operation};

/// What comes next for a clause.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// Do this.
    Act(Act),
    /// The clause asks for what already is.
    Already,
}

/// An action for a part of a clause.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Act {
    /// What is done.
    pub(super) what: Do,
    /// Names the part within the clause.
    pub(super) key: String,
    /// The screen has to change for it to count: setting a state to what it is doesn't.
    pub(super) needs_change: bool,
    /// The clause is consumed by it.
    pub(super) finishes: bool,
    /// 0 to 1.
    pub(super) score: f64,
    /// 0 to 1.
    pub(super) margin: f64,
}

/// What leads somewhere, as against what does something.
const LEADS: &[&str] = &["link", "tab", "menuitem", "treeitem"];

const ANY: &[Operation] = &[Operation::Tap, Operation::Check, Operation::Select];

/// The next action for `clause`.
pub(super) fn next(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    match clause.verb.kind {
        Kind::Open => open(clause, here, screen),
        Kind::Back => Ok(Next::Act(Act {
            what: Do {
                operation: Operation::Back,
                row: None,
                value: None,
                option: None,
            },
            key: "back".to_owned(),
            needs_change: true,
            finishes: true,
            score: 1.0,
            margin: 1.0,
        })),
        Kind::Search => search(clause, here, screen),
        Kind::Type => fields::fill(clause, here, screen),
        Kind::Change
            if clause
                .segments
                .iter()
                .any(|segment| segment.slots().next().is_some()) =>
        {
            fields::fill(clause, here, screen)
        }
        Kind::Change => choose(clause, here, screen)
            .or_else(|_| named(clause, here, screen))
            .map_err(|miss| Miss {
                why: format!("{}; text to type comes from quotes or params", miss.why),
                ..miss
            }),
        Kind::Choose => choose(clause, here, screen),
        Kind::Check => toggle(clause, here, screen, true)
            .or_else(|miss| otherwise(miss, named(clause, here, screen))),
        Kind::Uncheck => toggle(clause, here, screen, false)
            .or_else(|miss| otherwise(miss, named(clause, here, screen))),
        Kind::LogIn => credentials::log_in(clause, here, screen),
        Kind::Named => named(clause, here, screen)
            .or_else(|miss| otherwise(miss, composed(clause, here, screen))),
    }
}

/// The second try, or the miss that came closer.
fn otherwise(first: Miss, second: Result<Next, Miss>) -> Result<Next, Miss> {
    second.map_err(|second| {
        if second.closeness > first.closeness {
            second
        } else {
            first
        }
    })
}

/// The required words of segments; the words of values count as names.
pub(super) fn required(segments: &[Segment], values: &[Offered]) -> Vec<String> {
    let mut stems = Vec::new();
    for term in segments.iter().flat_map(|segment| &segment.terms) {
        match term {
            Term::Word {
                stem,
                optional: false,
            } => stems.push(stem.clone()),
            Term::Word { .. } => {}
            Term::Slot(slot) => {
                for text in slot
                    .values
                    .iter()
                    .filter_map(|&index| values.get(index)?.text())
                {
                    stems.extend(
                        words(text)
                            .iter()
                            .filter(|word| !is_stop(word))
                            .map(|word| stem(word)),
                    );
                }
            }
        }
    }
    if stems.is_empty() {
        stems.extend(
            segments
                .iter()
                .flat_map(|segment| segment.stems(true))
                .map(str::to_owned),
        );
    }
    stems
}

/// What may be found beside the required words: kinds of element, and prepositions.
pub(super) fn optional(segments: &[Segment]) -> Vec<String> {
    let roles = segments
        .iter()
        .flat_map(|segment| segment.stems(true))
        .map(str::to_owned);
    roles
        .chain(
            segments
                .iter()
                .filter_map(|segment| segment.preposition.clone()),
        )
        .collect()
}

/// What a clause wants, with its values read as names.
pub(super) fn wanted<'a>(
    clause: &'a Clause,
    here: &'a Here,
    screen: &Screen<'_>,
    operations: &'a [Operation],
) -> Wanted<'a> {
    Wanted {
        required: required(&clause.segments, &screen.request.values),
        optional: optional(&clause.segments),
        antecedent: clause.antecedent.clone(),
        verb: Some(&clause.verb),
        operations,
        excluded: &here.tried,
        ..Wanted::default()
    }
}

/// The action on a picked element: a tap, a tick or a choice, as the element takes it. None where
/// it already is as wanted.
pub(super) fn act_on(screen: &Screen<'_>, found: &Pick, key: &str, finishes: bool) -> Next {
    let row = screen.items[found.row].row;
    let operation = match found.option {
        Some(option)
            if row
                .value
                .as_deref()
                .is_some_and(|value| same_text(value, &row.options[option])) =>
        {
            return Next::Already;
        }
        Some(_) => Operation::Select,
        None if row.offers(Operation::Check) && row.is("checked") => return Next::Already,
        None if row.offers(Operation::Check) => Operation::Check,
        None if row.offers(Operation::Uncheck) => return Next::Already,
        None => Operation::Tap,
    };
    Next::Act(Act {
        what: Do {
            operation,
            row: Some(found.row),
            value: None,
            option: found.option,
        },
        key: key.to_owned(),
        needs_change: operation == Operation::Tap,
        finishes,
        score: found.score,
        margin: found.margin,
    })
}

fn open(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let mut want = wanted(clause, here, screen, &[Operation::Tap]);
    want.own_word = true;
    if !matches!(
        clause.verb.said[0].as_str(),
        "click" | "press" | "tap" | "hit"
    ) {
        want.prefers = LEADS;
    }
    if want.required.is_empty() {
        return Err(Miss {
            why: "it names no element".to_owned(),
            closeness: 0.0,
        });
    }
    let first = match pick(screen, &want) {
        Ok(found) => return Ok(act_on(screen, &found, "open", true)),
        Err(miss) => miss,
    };
    want.operations = &[Operation::Check, Operation::Uncheck, Operation::Select];
    if let Ok(found) = pick(screen, &want) {
        return Ok(act_on(screen, &found, "open", true));
    }
    match details(&want.required, here, screen) {
        Some(found) => Ok(act_on(screen, &found, "open", true)),
        None => Err(first),
    }
}

/// The one element that leads to the page of an entry (row, list item, article) which has all
/// these words.
pub(super) fn details(stems: &[String], here: &Here, screen: &Screen<'_>) -> Option<Pick> {
    let mut found: Option<usize> = None;
    for item in screen
        .items
        .iter()
        .filter(|item| item.row.offers(Operation::Tap) && !here.tried.contains(&item.row.id.0))
    {
        let entry = item
            .row
            .around
            .iter()
            .find(|around| around.kind == AroundKind::Item);
        let Some(entry) = entry else { continue };
        let text = Bag::of([entry.text.as_str()]);
        let leads = DETAILS.iter().any(|phrase| item.label.has_phrase(phrase));
        if leads
            && !stems.is_empty()
            && stems.iter().all(|stem| text.has(stem))
            && found.replace(item.index).is_some()
        {
            return None;
        }
    }
    found.map(|row| Pick {
        row,
        option: None,
        score: 0.6,
        margin: 0.6,
    })
}

fn search(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let object = clause
        .segments
        .first()
        .is_some_and(|segment| segment.preposition.is_none() && segment.slots().next().is_none());
    if object && let Ok(next) = composed(clause, here, screen) {
        // "find rooms near {town}": a form of its own.
        return Ok(next);
    }
    let mut slots = clause
        .segments
        .iter()
        .flat_map(Segment::slots)
        .flat_map(|slot| &slot.values);
    let Some(&value) = slots.next() else {
        return named(clause, here, screen).map_err(|miss| Miss {
            why: format!(
                "{}; text to search for comes from quotes or params",
                miss.why
            ),
            ..miss
        });
    };
    if slots.next().is_some() {
        return Err(Miss {
            why: "it searches for more than one text".to_owned(),
            closeness: 0.0,
        });
    }
    let field = fields::search_field(clause, here, screen)?;
    let act = |operation: Operation, value: Option<usize>, key: &str, finishes: bool| {
        Next::Act(Act {
            what: Do {
                operation,
                row: Some(field.row),
                value,
                option: None,
            },
            key: key.to_owned(),
            needs_change: finishes,
            finishes,
            score: field.score,
            margin: field.margin,
        })
    };
    if !here.is_done("typed") {
        return Ok(act(Operation::Type, Some(value), "typed", false));
    }
    if !here.tried.contains(&screen.items[field.row].row.id.0) {
        return Ok(act(Operation::Submit, None, "submitted", true));
    }
    // Enter did nothing: the button beside the field.
    let want = Wanted {
        verb: Some(&clause.verb),
        verb_required: true,
        operations: &[Operation::Tap],
        excluded: &here.tried,
        label_only: true,
        ..Wanted::default()
    };
    pick(screen, &want).map(|found| act_on(screen, &found, "submitted", true))
}

/// An option, a radio button, a tab or whatever else has the name.
pub(super) fn choose(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let mut want = wanted(
        clause,
        here,
        screen,
        &[Operation::Select, Operation::Check, Operation::Uncheck],
    );
    want.own_word = true;
    if want.required.is_empty() {
        return Err(Miss {
            why: "it names nothing to choose".to_owned(),
            closeness: 0.0,
        });
    }
    let first = match pick(screen, &want) {
        Ok(found) => return Ok(act_on(screen, &found, "chosen", true)),
        Err(miss) => miss,
    };
    want.operations = &[Operation::Tap];
    let second = pick(screen, &want).map(|found| act_on(screen, &found, "chosen", true));
    otherwise(first, second)
}

fn toggle(clause: &Clause, here: &Here, screen: &Screen<'_>, on: bool) -> Result<Next, Miss> {
    let mut want = wanted(
        clause,
        here,
        screen,
        &[Operation::Check, Operation::Uncheck],
    );
    want.own_word = true;
    if want.required.is_empty() {
        return Err(Miss {
            why: "it names nothing to tick".to_owned(),
            closeness: 0.0,
        });
    }
    let found = pick(screen, &want)?;
    let row = screen.items[found.row].row;
    if row.is("checked") == on {
        return Ok(Next::Already);
    }
    let operation = if on {
        Operation::Check
    } else {
        Operation::Uncheck
    };
    if !row.offers(operation) {
        return Err(Miss {
            why: format!("{} can't be put into that state", row.describe()),
            closeness: found.score,
        });
    }
    Ok(Next::Act(Act {
        what: Do {
            operation,
            row: Some(found.row),
            value: None,
            option: None,
        },
        key: "toggled".to_owned(),
        needs_change: false,
        finishes: true,
        score: found.score,
        margin: found.margin,
    }))
}

/// The element whose label has the verb, and all other words on it or around it.
pub(super) fn named(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let mut want = wanted(clause, here, screen, ANY);
    want.verb_required = true;
    pick(screen, &want).map(|found| act_on(screen, &found, "done", true))
}

/// The element whose label has the verb, after controls beside it have taken the words and values
/// that it doesn't have: "find rooms near {town} within 5 miles".
fn composed(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    if clause
        .segments
        .iter()
        .all(|segment| segment.preposition.is_none() && segment.slots().next().is_none())
    {
        return Err(Miss {
            why: String::new(),
            closeness: -1.0,
        });
    }
    let mut want = wanted(clause, here, screen, &[Operation::Tap]);
    want.verb_required = true;
    let all = std::mem::take(&mut want.required);
    want.optional.extend(all);
    let target = pick(screen, &want)?;
    let item = &screen.items[target.row];
    for (index, segment) in clause.segments.iter().enumerate() {
        let key = format!("segment:{index}");
        let one = std::slice::from_ref(segment);
        let stems = required(one, &screen.request.values);
        let covers = |stem: &String| {
            item.label.has(stem)
                || item.hints.has(stem)
                || item.around.has(stem)
                || screen.page.has(stem)
        };
        if here.is_done(&key) || stems.iter().all(covers) {
            continue;
        }
        let found = match segment.slots().next() {
            Some(_) => fields::fill_segment(segment, &key, here, screen)
                .or_else(|miss| otherwise(miss, control(segment, stems, &key, screen)))?,
            None if segment.preposition.is_some() => control(segment, stems, &key, screen)?,
            None => {
                let lacks: Vec<String> = stems
                    .iter()
                    .filter(|stem| !covers(stem))
                    .map(|stem| format!("{stem:?}"))
                    .collect();
                let why = format!(
                    "{} comes closest and lacks {}",
                    item.row.describe(),
                    lacks.join(", ")
                );
                return Err(Miss {
                    why,
                    closeness: 0.3,
                });
            }
        };
        if let Next::Act(act) = found {
            return Ok(Next::Act(act));
        }
    }
    Ok(act_on(screen, &target, "done", true))
}

fn control(
    segment: &Segment,
    stems: Vec<String>,
    key: &str,
    screen: &Screen<'_>,
) -> Result<Next, Miss> {
    let want = Wanted {
        required: stems,
        optional: segment.preposition.iter().cloned().collect(),
        operations: &[Operation::Select, Operation::Check, Operation::Uncheck],
        own_word: true,
        ..Wanted::default()
    };
    pick(screen, &want).map(|found| act_on(screen, &found, key, false))
}
