//! Where a goal stands after a replay did the first part of it.

use super::goal::{Clause, Declined, Segment};
use super::plan::required;
use super::progress::Progress;
use super::verbs::Kind;
use super::words::Bag;
use crate::executor::decision::request::Offered;

/// Gives each replayed line to the clause that it belongs to, in order. A clause is consumed if its
/// last line finishes it. What can't be accounted for is declined: it might be done twice.
pub(super) fn resume(
    clauses: &[Clause],
    replayed: &[String],
    values: &[Offered],
) -> Result<Progress, Declined> {
    let mut progress = Progress::default();
    for line in replayed {
        let bag = Bag::of([line.as_str()]);
        // The line's own verb ("tap", "check") is ours, not the goal's.
        let object = Bag::of([line.split_once(' ').map_or("", |(_, object)| object)]);
        let owner = (progress.clause..clauses.len())
            .find(|&index| belongs(&clauses[index], &object, values));
        let Some(owner) = owner else {
            return Err(Declined(format!(
                "the replay did {line:?}, which no clause of the goal accounts for"
            )));
        };
        progress.clause = owner;
        progress.effects += 1;
        let clause = &clauses[owner];
        match clause.verb.kind {
            Kind::Search if bag.has("press") || bag.has("tap") => progress.clause += 1,
            Kind::Search => progress.here.done.push("typed".to_owned()),
            Kind::Type | Kind::LogIn | Kind::Change | Kind::Named if bag.has("typ") => {
                // Which of its values is seen on the screen: a field that has its value is done.
            }
            _ => {
                progress.clause += 1;
                progress.here = super::progress::Here::default();
            }
        }
    }
    Ok(progress)
}

fn belongs(clause: &Clause, line: &Bag, values: &[Offered]) -> bool {
    let words = required(&clause.segments, values);
    let keys = clause
        .segments
        .iter()
        .flat_map(Segment::slots)
        .flat_map(|slot| slot.key.clone());
    words
        .iter()
        .chain(&keys.collect::<Vec<_>>())
        .any(|stem| line.has(stem))
        || clause.verb.fits(line).is_some()
}
