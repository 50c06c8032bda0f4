//! Which value goes into which field.

use super::goal::{Clause, Segment, Slot, Term};
use super::matching::{Miss, Pick, Wanted, pick};
use super::plan::{Act, Next, act_on, required};
use super::progress::Here;
use super::screen::Screen;
use super::words::{Bag, key_words, stem};
use crate::executor::decision::request::{Do, Offered, Operation};

/// Prepositions that lead a value: "set the title to …", "fill in the name with …".
const BEFORE_VALUES: &[&str] = &[
    "to", "with", "as", "saying", "using", "by", "named", "called", "titled",
];

/// A value and how its field is described.
struct Assignment {
    value: usize,
    /// Words that the field has to answer to.
    described: Vec<String>,
    /// Words of the parameter's key.
    key: Vec<String>,
}

/// All of a clause's values into their fields, in the order of the screen.
pub(super) fn fill(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let assignments = assign(clause, screen)?;
    let mut acts = Vec::new();
    for assignment in &assignments {
        if here.is_done(&key_of(assignment.value)) {
            continue;
        }
        match place(assignment, &clause.antecedent, here, screen)? {
            Next::Act(act) => acts.push(act),
            Next::Already => {}
        }
    }
    let left = acts.len();
    match acts.into_iter().min_by_key(|act| act.what.row) {
        Some(act) => Ok(Next::Act(Act {
            finishes: left == 1,
            ..act
        })),
        None => Ok(Next::Already),
    }
}

pub(super) fn key_of(value: usize) -> String {
    format!("value:{value}")
}

fn assign(clause: &Clause, screen: &Screen<'_>) -> Result<Vec<Assignment>, Miss> {
    let values = &screen.request.values;
    let (typed, labels) = split(clause);
    if typed.is_empty() {
        return Err(Miss {
            why: "what is typed has to stand in quotes or in params".to_owned(),
            closeness: 0.0,
        });
    }
    let words = clause
        .segments
        .iter()
        .flat_map(|segment| segment.stems(false))
        .map(str::to_owned);
    let mut described: Vec<String> = words.collect();
    for label in &labels {
        let as_segment = Segment {
            preposition: None,
            terms: vec![Term::Slot((*label).clone())],
        };
        described.extend(required(&[as_segment], values));
    }
    let single = typed.len() == 1 && typed[0].values.len() == 1;
    if single && (typed[0].spoken || described.is_empty()) {
        // "Enter the phone number": the key is the description.
        let value = typed[0].values[0];
        described.extend(typed[0].key.iter().cloned());
        return Ok(vec![Assignment {
            value,
            described,
            key: Vec::new(),
        }]);
    }
    if single {
        return Ok(vec![Assignment {
            value: typed[0].values[0],
            described,
            key: typed[0].key.clone(),
        }]);
    }
    // Several values: each is described by its key, and the rest of the clause by the page.
    let everything = Bag::of([screen.request.page.text.as_str()]);
    let several: Vec<Assignment> = typed
        .iter()
        .flat_map(|slot| slot.values.iter().map(move |&value| (slot, value)))
        .map(|(slot, value)| Assignment {
            value,
            described: near(clause, slot),
            key: leaf_key(&values[value]),
        })
        .collect();
    let used: Vec<&String> = several.iter().flat_map(|one| &one.described).collect();
    match described
        .iter()
        .find(|stem| !used.contains(stem) && !everything.has(stem) && !screen.page.has(stem))
    {
        Some(stem) => Err(Miss {
            why: format!("nothing on the screen has {stem:?}"),
            closeness: 0.1,
        }),
        None => Ok(several),
    }
}

/// Which slots are typed, and which name the field.
fn split(clause: &Clause) -> (Vec<&Slot>, Vec<&Slot>) {
    let leads = |segment: &Segment| {
        segment
            .preposition
            .as_deref()
            .is_some_and(|word| BEFORE_VALUES.contains(&word))
    };
    let mut object = Vec::new();
    let mut led = Vec::new();
    let mut rest = Vec::new();
    for segment in &clause.segments {
        let into = match segment.preposition.as_deref() {
            None => &mut object,
            Some("as") if !object.is_empty() => &mut rest,
            Some(_) if leads(segment) => &mut led,
            Some(_) => &mut rest,
        };
        into.extend(segment.slots());
    }
    if led.is_empty() {
        if object.is_empty() {
            (rest, Vec::new())
        } else {
            (object, rest)
        }
    } else {
        object.extend(rest);
        let (spoken, labels): (Vec<&Slot>, Vec<&Slot>) =
            object.into_iter().partition(|slot| slot.spoken);
        // "fill in the email with {email}": the word is only a word.
        (led, labels.into_iter().chain(spoken).collect())
    }
}

/// The words right before a slot in its segment, back to the slot before it.
fn near(clause: &Clause, slot: &Slot) -> Vec<String> {
    let mut found = Vec::new();
    for segment in &clause.segments {
        found.clear();
        for term in &segment.terms {
            match term {
                Term::Slot(one) if std::ptr::eq(one, slot) => return found,
                Term::Slot(_) => found.clear(),
                Term::Word {
                    stem,
                    optional: false,
                } => found.push(stem.clone()),
                Term::Word { .. } => {}
            }
        }
    }
    Vec::new()
}

pub(super) fn leaf_key(value: &Offered) -> Vec<String> {
    let key = value
        .pointer()
        .and_then(|pointer| pointer.rsplit('/').next())
        .map(key_words)
        .unwrap_or_default();
    key.iter().map(|word| stem(word)).collect()
}

/// The action that puts a value into its field.
fn place(
    assignment: &Assignment,
    antecedent: &[String],
    here: &Here,
    screen: &Screen<'_>,
) -> Result<Next, Miss> {
    let value = &screen.request.values[assignment.value];
    let described = !assignment.described.is_empty();
    let want = Wanted {
        required: if described {
            assignment.described.clone()
        } else {
            assignment.key.clone()
        },
        optional: if described {
            assignment.key.clone()
        } else {
            Vec::new()
        },
        antecedent: antecedent.to_vec(),
        excluded: &here.tried,
        own_word: true,
        ..Wanted::default()
    };
    let what = want
        .required
        .iter()
        .map(|stem| format!("{stem:?}"))
        .collect::<Vec<_>>()
        .join(" ");
    if want.required.is_empty() {
        return Err(Miss {
            why: "nothing says which field it means".to_owned(),
            closeness: 0.0,
        });
    }
    put(
        &want,
        assignment.value,
        value,
        &key_of(assignment.value),
        here,
        screen,
    )
    .map_err(|miss| Miss {
        why: format!("no field for {what}: {}", miss.why),
        ..miss
    })
}

/// A value into the field that answers to `want`: typed, chosen or ticked, as the field takes it.
pub(super) fn put(
    want: &Wanted<'_>,
    index: usize,
    value: &Offered,
    key: &str,
    here: &Here,
    screen: &Screen<'_>,
) -> Result<Next, Miss> {
    let act = |found: &Pick, operation: Operation| {
        Next::Act(Act {
            what: Do {
                operation,
                row: Some(found.row),
                value: Some(index),
                option: None,
            },
            key: key.to_owned(),
            needs_change: false,
            finishes: false,
            score: found.score,
            margin: found.margin,
        })
    };
    let Some(text) = value.text() else {
        let mut open = here.tried.clone();
        open.extend(
            screen
                .items
                .iter()
                .filter(|item| !item.row.is("secure"))
                .map(|item| item.row.id.0),
        );
        let secure = Wanted {
            operations: &[Operation::TypeSecret],
            excluded: &open,
            ..want.clone()
        };
        let any = Wanted {
            operations: &[Operation::TypeSecret],
            ..want.clone()
        };
        return pick(screen, &secure)
            .or_else(|_| pick(screen, &any))
            .map(|found| act(&found, Operation::TypeSecret));
    };
    let typed = Wanted {
        operations: &[Operation::Type],
        ..want.clone()
    };
    let first = match pick(screen, &typed) {
        Ok(found) if screen.items[found.row].row.value.as_deref() == Some(text) => {
            return Ok(Next::Already);
        }
        Ok(found) => return Ok(act(&found, Operation::Type)),
        Err(miss) => miss,
    };
    // "The text field", where there is only one.
    if !want.required.is_empty() && want.required.iter().all(|stem| stem == "text") {
        let fields = screen.items.iter().enumerate();
        let mut fields = fields.filter(|(_, item)| item.row.offers(Operation::Type));
        if let (Some((row, only)), None) = (fields.next(), fields.next())
            && !only.row.is("secure")
            && !want.excluded.contains(&only.row.id.0)
        {
            let found = Pick {
                row,
                option: None,
                score: 1.0,
                margin: 1.0,
            };
            return Ok(match only.row.value.as_deref() == Some(text) {
                true => Next::Already,
                false => act(&found, Operation::Type),
            });
        }
    }
    let chosen = Wanted {
        operations: &[Operation::Select],
        option: Some(text),
        ..want.clone()
    };
    if let Ok(found) = pick(screen, &chosen) {
        return Ok(act_on(screen, &found, key, false));
    }
    let ticked = Wanted {
        operations: &[Operation::Check, Operation::Uncheck],
        ..want.clone()
    };
    match (text, pick(screen, &ticked)) {
        ("true" | "false", Ok(found)) => {
            let row = screen.items[found.row].row;
            let on = text == "true";
            if row.is("checked") == on {
                return Ok(Next::Already);
            }
            let operation = if on {
                Operation::Check
            } else {
                Operation::Uncheck
            };
            let Next::Act(tick) = act(&found, operation) else {
                return Err(first);
            };
            Ok(Next::Act(Act {
                what: Do {
                    value: None,
                    ..tick.what
                },
                ..tick
            }))
        }
        // "Every week" for a group of radio buttons.
        _ => {
            let mut radio = ticked;
            radio.required.extend(
                crate::executor::decision::keyless::words::words(text)
                    .iter()
                    .map(|word| stem(word)),
            );
            pick(screen, &radio)
                .map(|found| act_on(screen, &found, key, false))
                .map_err(|_| first)
        }
    }
}

/// The value of one segment into its field, which the segment's words, its preposition or the
/// value's key describe.
pub(super) fn fill_segment(
    segment: &Segment,
    key: &str,
    here: &Here,
    screen: &Screen<'_>,
) -> Result<Next, Miss> {
    let mut slots = segment.slots();
    let (Some(slot), None) = (slots.next(), slots.next()) else {
        return Err(Miss {
            why: "it has more values than fields".to_owned(),
            closeness: 0.0,
        });
    };
    let &[value] = slot.values.as_slice() else {
        return Err(Miss {
            why: "it has more values than fields".to_owned(),
            closeness: 0.0,
        });
    };
    let words: Vec<String> = segment.stems(false).map(str::to_owned).collect();
    let preposition: Vec<String> = segment.preposition.iter().cloned().collect();
    let tries = if words.is_empty() {
        vec![slot.key.clone(), preposition]
    } else {
        vec![words, slot.key.clone()]
    };
    let mut closest: Option<Miss> = None;
    for required in tries.into_iter().filter(|stems| !stems.is_empty()) {
        let want = Wanted {
            required,
            excluded: &here.tried,
            own_word: true,
            ..Wanted::default()
        };
        match put(
            &want,
            value,
            &screen.request.values[value],
            key,
            here,
            screen,
        ) {
            Ok(next) => return Ok(next),
            Err(miss)
                if closest
                    .as_ref()
                    .is_none_or(|known| known.closeness < miss.closeness) =>
            {
                closest = Some(miss)
            }
            Err(_) => {}
        }
    }
    Err(closest.unwrap_or(Miss {
        why: "nothing says which field it means".to_owned(),
        closeness: 0.0,
    }))
}

/// The field to search with.
pub(super) fn search_field(
    clause: &Clause,
    here: &Here,
    screen: &Screen<'_>,
) -> Result<Pick, Miss> {
    const SEARCHES: &[&str] = &["search", "find", "look", "query"];
    let searches = |item: &&super::screen::Item<'_>| {
        let says = |stem: &&&str| item.label.has(stem) || item.hints.has(stem);
        item.row.offers(Operation::Type)
            && (item.row.role == "searchbox" || SEARCHES.iter().any(|word| says(&word)))
    };
    let fields: Vec<usize> = screen
        .items
        .iter()
        .filter(searches)
        .map(|item| item.index)
        .collect();
    let words: Vec<String> = clause
        .segments
        .iter()
        .flat_map(|segment| segment.stems(false))
        .map(str::to_owned)
        .collect();
    let sure = |row: usize| Pick {
        row,
        option: None,
        score: 0.9,
        margin: 0.9,
    };
    match fields.as_slice() {
        [] => Err(Miss {
            why: "there is no search field".to_owned(),
            closeness: 0.0,
        }),
        [one] if words.is_empty() => Ok(sure(*one)),
        _ => {
            let others = screen
                .items
                .iter()
                .filter(|item| !fields.contains(&item.index))
                .map(|item| item.row.id.0);
            // Enter has been tried on the field itself; it stays the field.
            let excluded: Vec<u64> = others.filter(|id| !here.tried.contains(id)).collect();
            let required = if words.is_empty() {
                vec!["search".to_owned()]
            } else {
                words
            };
            let want = Wanted {
                required,
                operations: &[Operation::Type],
                excluded: &excluded,
                ..Wanted::default()
            };
            pick(screen, &want)
        }
    }
}
