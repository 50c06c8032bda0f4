//! Element ids of one page, whatever documents and windows it goes through.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::snapshot::{Node, NodeId};

/// Elements whose role and name are remembered, so that a stale id can say what it was.
const REMEMBERED: usize = 10_000;

/// See the module.
pub(super) struct Ids {
    /// The lowest that is free.
    next: AtomicU64,
    /// What ids stood for; ids grow, so the first are the oldest.
    seen: Mutex<BTreeMap<NodeId, String>>,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self {
            next: AtomicU64::new(1),
            seen: Mutex::default(),
        }
    }

    /// The lowest that is free.
    pub(super) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// All below are taken.
    pub(super) fn taken(&self, next: u64) {
        self.next.fetch_max(next, Ordering::Relaxed);
    }

    pub(super) fn remember<'a>(&self, nodes: impl Iterator<Item = &'a Node>) {
        let mut seen = self.seen();
        for node in nodes {
            let role = if node.role.is_empty() {
                &node.tag
            } else {
                &node.role
            };
            let label = if node.name.is_empty() {
                &node.text
            } else {
                &node.name
            };
            let was = if label.is_empty() {
                role.clone()
            } else {
                format!("{role} {label:?}")
            };
            seen.insert(node.id, was);
        }
        while seen.len() > REMEMBERED {
            seen.pop_first();
        }
    }

    /// Role and name when it was last told.
    pub(super) fn was(&self, id: NodeId) -> String {
        self.seen()
            .get(&id)
            .cloned()
            .unwrap_or_else(|| "an element that was never told".into())
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<NodeId, String>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
