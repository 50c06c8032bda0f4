//! A redacted screen: the only form in which executors, replay and prompts know the page.

use muster_engine::{Node, NodeId, Snapshot};
use muster_redact::Redactor;
use url::Url;

use super::location;
use super::screen;

/// What stands for the value of a secure field that is not empty.
pub const SECURE: &str = "<secure>";

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
    /// Redacts a screen, once, and tells what was found. A secure field's value becomes [`SECURE`],
    /// whatever it holds.
    pub(super) fn of(
        revision: u64,
        mut snapshot: Snapshot,
        app: &Url,
        redactor: &Redactor,
    ) -> (Self, screen::Found) {
        snapshot.url = location::cut(&snapshot.url, app);
        for href in snapshot
            .nodes
            .iter_mut()
            .filter_map(|node| node.href.as_mut())
        {
            *href = location::without_origin(href, app);
        }
        for node in snapshot.nodes.iter_mut().filter(|node| node.states.secure) {
            if let Some(value) = node.value.as_mut().filter(|value| !value.is_empty()) {
                SECURE.clone_into(value);
            }
        }
        let found = screen::clean(&mut snapshot, redactor);
        let seen = Self {
            revision,
            location: snapshot.url.clone(),
            snapshot,
        };
        (seen, found)
    }

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
        self.snapshot.nodes[..index]
            .iter()
            .rposition(|node| node.depth < depth)
    }
}

/// A node as messages name it: role and quoted name, or its text.
pub(crate) fn called(node: &Node) -> String {
    let role = if node.role.is_empty() {
        "text"
    } else {
        &node.role
    };
    let name = if node.name.is_empty() {
        &node.text
    } else {
        &node.name
    };
    if name.is_empty() {
        format!("unnamed {role}")
    } else {
        format!("{role} {name:?}")
    }
}

#[cfg(test)]
mod tests {
    use muster_engine::States;

    use super::*;

    #[test]
    fn links_within_the_app_are_told_by_their_path() {
        let link = |href: &str| Node {
            href: Some(href.to_owned()),
            ..Node::default()
        };
        let snapshot = Snapshot {
            nodes: vec![
                link("http://shop.test:8080/cart?b=2&a=1#top"),
                link("http://shop.test/cart"),
                link("mailto:ann@shop.test"),
            ],
            ..Snapshot::default()
        };
        let app = Url::parse("http://shop.test:8080/").unwrap();
        let (seen, _) = Observation::of(1, snapshot, &app, &Redactor::new(&Default::default()));
        let hrefs: Vec<_> = seen
            .nodes()
            .iter()
            .filter_map(|node| node.href.as_deref())
            .collect();
        assert_eq!(
            hrefs,
            [
                "/cart?b=2&a=1#top",
                "http://shop.test/cart",
                "mailto:ann@shop.test"
            ]
        );
    }

    #[test]
    fn a_secure_field_tells_only_whether_it_is_filled() {
        let secure = |value: Option<&str>| Node {
            value: value.map(str::to_owned),
            states: States {
                secure: true,
                ..States::default()
            },
            ..Node::default()
        };
        let snapshot = Snapshot {
            url: "http://shop.test/login".to_owned(),
            nodes: vec![secure(Some("plain typed")), secure(Some("")), secure(None)],
            ..Snapshot::default()
        };
        let app = Url::parse("http://shop.test/").unwrap();
        let (seen, _) = Observation::of(3, snapshot, &app, &Redactor::new(&Default::default()));
        let values: Vec<_> = seen
            .nodes()
            .iter()
            .map(|node| node.value.as_deref())
            .collect();
        assert_eq!(values, [Some("<secure>"), Some(""), None]);
        assert_eq!(
            (
                seen.revision,
                seen.location.as_str(),
                seen.snapshot.url.as_str()
            ),
            (3, "/login", "/login")
        );
    }
}
