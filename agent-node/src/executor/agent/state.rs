//! When two screens are the same to a loop that asks whether anything was gained.

use std::sync::LazyLock;

use regex::Regex;

use crate::harness::{Observation, text};

/// Times that run by themselves: `12 s`, `3 minutes ago`, `00:12`, which [`text::shape`] masked.
static RUNNING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b\d+(\.\d+)?\s*(ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b")
        .expect("the pattern is constant")
});

/// The screen without ids, focus, clocks and counters of time.
pub(super) fn state(screen: &Observation) -> String {
    RUNNING.replace_all(&text::shape(screen), "#").into_owned()
}

/// Whether a person could act on anything there.
pub(super) fn interactive(screen: &Observation) -> bool {
    screen.nodes().iter().any(muster_engine::Node::operable)
}

/// Whether a choice in one field emptied or changed another field that held something.
pub(super) fn resets(
    chosen: Option<muster_engine::NodeId>,
    before: &Observation,
    after: &Observation,
) -> bool {
    let filled = |node: &&muster_engine::Node| {
        Some(node.id) != chosen && node.value.as_ref().is_some_and(|value| !value.is_empty())
    };
    before
        .nodes()
        .iter()
        .filter(filled)
        .any(|was| after.node(was.id).is_some_and(|now| now.value != was.value))
}

#[cfg(test)]
mod tests {
    use muster_engine::{Node, NodeId, Snapshot};

    use super::*;

    fn screen(id: u64, text: &str) -> Observation {
        let node = Node {
            id: NodeId(id),
            text: text.to_owned(),
            ..Node::default()
        };
        Observation {
            revision: id,
            location: "/".to_owned(),
            notes: Vec::new(),
            snapshot: Snapshot {
                nodes: vec![node],
                ..Snapshot::default()
            },
        }
    }

    #[test]
    fn time_that_passes_and_new_ids_are_no_new_state() {
        let seen = |id, text| state(&screen(id, text));
        assert_eq!(seen(1, "open for 12 s"), seen(2, "open for 14 s"));
        assert_eq!(seen(1, "3 minutes ago"), seen(2, "4 minutes ago"));
        assert_eq!(seen(1, "it is 10:04:11"), seen(2, "it is 10:04:12"));
        assert_ne!(seen(1, "3 items"), seen(1, "4 items"));
    }
}
