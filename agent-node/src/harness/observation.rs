//! A redacted screen: the only form in which executors, replay and prompts know the page.

use muster_engine::{Node, NodeId, Snapshot};

/// A screen after redaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Grows by one with every observation of an attempt, from 1.
    pub revision: u64,
    /// The address without the app's own origin: path, sorted query, fragment if it routes.
    pub location: String,
    /// The screen; its texts are redacted and its `url` is cut to `location`.
    pub snapshot: Snapshot,
}

impl Observation {
    /// The nodes in document order.
    pub fn nodes(&self) -> &[Node] {
        &self.snapshot.nodes
    }

    /// The node with this id, if it is on this screen.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.snapshot.nodes.iter().find(|node| node.id == id)
    }

    /// Index of a node's parent in [`Observation::nodes`].
    pub fn parent(&self, index: usize) -> Option<usize> {
        let depth = self.snapshot.nodes.get(index)?.depth;
        self.snapshot.nodes[..index].iter().rposition(|node| node.depth < depth)
    }
}
