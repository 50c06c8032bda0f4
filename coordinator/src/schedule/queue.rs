//! Waiting units of one run: a queue per capability set, longest expected first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use muster_proto::v1;

/// What a node must offer; sorted, without twins.
pub type Needs = BTreeSet<String>;

/// Waiting units by what they need.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    waiting: BTreeMap<Needs, BTreeSet<Place>>,
    places: Vec<(Needs, Place)>,
}

/// Longest expected first, then collection order.
type Place = (Reverse<u64>, usize);

impl Queues {
    /// Empty queues for these units. A unit of unknown length counts as the median of the known.
    pub fn new(units: &[v1::Unit]) -> Self {
        let mut known: Vec<_> = units
            .iter()
            .map(|unit| unit.expected_ms)
            .filter(|ms| *ms > 0)
            .collect();
        known.sort_unstable();
        let median = known.get(known.len() / 2).copied().unwrap_or(0);
        let place = |(n, unit): (usize, &v1::Unit)| {
            let expected = if unit.expected_ms > 0 {
                unit.expected_ms
            } else {
                median
            };
            (
                unit.requires.iter().cloned().collect(),
                (Reverse(expected), n),
            )
        };
        Self {
            waiting: BTreeMap::new(),
            places: units.iter().enumerate().map(place).collect(),
        }
    }

    /// Puts unit `n` in its queue.
    pub fn push(&mut self, n: usize) {
        let (needs, place) = &self.places[n];
        self.waiting
            .entry(needs.clone())
            .or_default()
            .insert(*place);
    }

    /// Takes unit `n` out of its queue.
    pub fn remove(&mut self, n: usize) {
        let (needs, place) = &self.places[n];
        if let Some(queue) = self.waiting.get_mut(needs) {
            queue.remove(place);
            if queue.is_empty() {
                self.waiting.remove(needs);
            }
        }
    }

    /// The longest unit that a node with `offered` can run and that `fits`.
    pub fn best(&self, offered: &Needs, fits: impl Fn(&Needs, usize) -> bool) -> Option<usize> {
        let candidates = self
            .waiting
            .iter()
            .filter(|(needs, _)| needs.is_subset(offered))
            .filter_map(|(needs, queue)| queue.iter().find(|(_, n)| fits(needs, *n)));
        candidates.min().map(|(_, n)| *n)
    }

    /// What waiting units need, each set once.
    pub fn needs(&self) -> impl Iterator<Item = &Needs> {
        self.waiting.keys()
    }

    /// The waiting units that need exactly this.
    pub fn units(&self, needs: &Needs) -> Vec<usize> {
        self.waiting
            .get(needs)
            .into_iter()
            .flatten()
            .map(|(_, n)| *n)
            .collect()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Empties every queue.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(units: &[(u64, &str)], offered: &[&str]) -> Vec<usize> {
        let units: Vec<_> = units
            .iter()
            .map(|(expected_ms, needs)| v1::Unit {
                expected_ms: *expected_ms,
                requires: needs.split_whitespace().map(str::to_owned).collect(),
                ..Default::default()
            })
            .collect();
        let mut queues = Queues::new(&units);
        (0..units.len()).for_each(|n| queues.push(n));
        let offered = offered.iter().map(|text| (*text).to_owned()).collect();
        std::iter::from_fn(|| {
            let n = queues.best(&offered, |_, _| true)?;
            queues.remove(n);
            Some(n)
        })
        .collect()
    }

    #[test]
    fn longest_first_then_collection_order() {
        assert_eq!(
            order(&[(10, ""), (30, ""), (20, ""), (30, "")], &[]),
            [1, 3, 2, 0]
        );
    }

    #[test]
    fn an_unknown_length_counts_as_the_median() {
        assert_eq!(
            order(&[(10, ""), (0, ""), (20, ""), (90, "")], &[]),
            [3, 1, 2, 0]
        );
        assert_eq!(order(&[(0, ""), (0, "")], &[]), [0, 1]);
    }

    #[test]
    fn a_node_gets_only_what_it_can_run() {
        let units = [
            (10, "browser:chromium"),
            (99, "browser:firefox"),
            (20, "browser:chromium egress"),
            (5, ""),
        ];
        assert_eq!(order(&units, &["browser:chromium"]), [0, 3]);
        assert_eq!(order(&units, &["browser:chromium", "egress"]), [2, 0, 3]);
    }
}
