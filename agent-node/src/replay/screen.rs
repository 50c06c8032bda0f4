//! What surrounds a node: parents, subtrees, the row or group that tells it from its twins.

use muster_engine::Node;

use super::volatile::stretches;
use crate::harness::Observation;

/// Longest text of a stored descriptor, characters.
pub(super) const MAX_TEXT: usize = 300;

/// Rows and cards: keyed by what they show first.
const ROWS: &[&str] = &["row", "listitem", "article", "treeitem"];

/// Groups: keyed by their name, if they have one.
const GROUPS: &[&str] = &[
    "group",
    "radiogroup",
    "dialog",
    "alertdialog",
    "region",
    "form",
    "search",
    "navigation",
    "toolbar",
    "menu",
    "listbox",
    "tabpanel",
    "table",
    "grid",
    "list",
    "complementary",
    "figure",
];

/// Roles whose labels say what they do, not what their row is about.
const CONTROLS: &[&str] = &[
    "button",
    "checkbox",
    "radio",
    "switch",
    "textbox",
    "searchbox",
    "combobox",
    "spinbutton",
    "slider",
    "option",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "tab",
];

/// Live regions: their text is news.
const ANNOUNCEMENTS: &[&str] = &["alert", "alertdialog", "status", "log"];

/// A screen with its tree.
pub(super) struct Screen<'a> {
    pub(super) observation: &'a Observation,
    parents: Vec<Option<usize>>,
    /// One past the last node of each subtree.
    ends: Vec<usize>,
}

impl<'a> Screen<'a> {
    pub(super) fn new(observation: &'a Observation) -> Self {
        let nodes = observation.nodes();
        let mut parents = Vec::with_capacity(nodes.len());
        let mut ends = vec![nodes.len(); nodes.len()];
        let mut open: Vec<usize> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            while let Some(&last) = open.last() {
                if nodes[last].depth < node.depth {
                    break;
                }
                ends[last] = index;
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(index);
        }
        Self {
            observation,
            parents,
            ends,
        }
    }

    pub(super) fn nodes(&self) -> &'a [Node] {
        self.observation.nodes()
    }

    /// Indices of the nodes below `index`.
    pub(super) fn below(&self, index: usize) -> std::ops::Range<usize> {
        index + 1..self.ends[index]
    }

    /// Own text of a node, cut; announcements speak with all their subtree.
    pub(super) fn text(&self, index: usize) -> String {
        let node = &self.nodes()[index];
        if node.name.is_empty() && node.text.is_empty() && announces(node) {
            let words: Vec<&str> = self
                .below(index)
                .filter_map(|below| label(&self.nodes()[below]))
                .collect();
            return clip(&words.join(" ")).to_owned();
        }
        clip(&node.text).to_owned()
    }

    /// Texts any of which names the nearest row or group around a node; empty = there is none.
    ///
    /// A row is keyed by the first text that looks the same in every run, and by the minted ones
    /// before it. Labels of controls name a row only if it shows nothing else, and a node never
    /// names its own row: then the next one out is taken.
    pub(super) fn within(&self, index: usize) -> Vec<String> {
        let mut around = self.parents[index];
        while let Some(at) = around {
            let node = &self.nodes()[at];
            let keys = if ROWS.contains(&node.role.as_str()) {
                self.row_keys(at, index)
            } else if GROUPS.contains(&node.role.as_str()) && !node.name.is_empty() {
                vec![clip(&node.name).to_owned()]
            } else {
                Vec::new()
            };
            if !keys.is_empty() {
                return keys;
            }
            around = self.parents[at];
        }
        Vec::new()
    }

    fn row_keys(&self, row: usize, inner: usize) -> Vec<String> {
        let own = inner..self.ends[inner];
        let texts = |controls: bool| {
            self.below(row).filter_map(move |index| {
                let node = &self.nodes()[index];
                let is_control = CONTROLS.contains(&node.role.as_str());
                (is_control == controls)
                    .then(|| Some((index, label(node)?)))
                    .flatten()
            })
        };
        let name = &self.nodes()[row].name;
        let first = texts(false).next().or_else(|| texts(true).next());
        // A name of its own, rather than one put together from what the row shows.
        if !name.is_empty() && first.is_none_or(|(_, text)| !name.starts_with(text)) {
            return vec![clip(name).to_owned()];
        }
        for controls in [false, true] {
            let mut keys = Vec::new();
            for (index, text) in texts(controls) {
                if !own.contains(&index) {
                    keys.push(clip(text).to_owned());
                }
                if stretches(text).is_empty() {
                    return keys;
                }
            }
            if !keys.is_empty() {
                return keys;
            }
        }
        Vec::new()
    }
}

/// What a node shows: its name, else its own text.
pub(super) fn label(node: &Node) -> Option<&str> {
    [&node.name, &node.text]
        .into_iter()
        .find(|text| !text.is_empty())
        .map(String::as_str)
}

pub(super) fn announces(node: &Node) -> bool {
    ANNOUNCEMENTS.contains(&node.role.as_str())
}

/// Whether an action on the node would turn it the other way if it were in the other state.
pub(super) fn toggle(node: &Node) -> Option<bool> {
    let opens = !matches!(node.role.as_str(), "combobox" | "textbox" | "searchbox");
    node.states
        .checked
        .or(node.states.pressed)
        .or(node.states.expanded.filter(|_| opens))
}

/// At most [`MAX_TEXT`] characters of `text`.
pub(super) fn clip(text: &str) -> &str {
    if text.len() <= MAX_TEXT {
        return text;
    }
    text.char_indices()
        .nth(MAX_TEXT)
        .map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::super::fixture::screen;
    use super::*;

    fn within(text: &str, name: &str) -> Vec<String> {
        let observation = screen("/", text);
        let index = observation
            .nodes()
            .iter()
            .position(|node| node.name == name)
            .unwrap();
        Screen::new(&observation).within(index)
    }

    #[test]
    fn a_row_is_keyed_by_what_it_shows_first() {
        let table = "
            table
             row
              cell ~Blue mug
              cell ~12 left
              button Add
        ";
        assert_eq!(within(table, "Add"), ["Blue mug"]);
        let name_from_content = "
            row Blue mug 12 left Add
             link Blue mug
             button Add
        ";
        assert_eq!(within(name_from_content, "Add"), ["Blue mug"]);
        let own_name = "
            row Item 3
             link Blue mug
             button Add
        ";
        assert_eq!(within(own_name, "Add"), ["Item 3"]);
    }

    #[test]
    fn minted_keys_are_followed_by_the_first_stable_one() {
        let orders = "
            row
             link ORD-4F7K2
             cell ~Alice
             cell ~Shipped
             button Cancel
        ";
        assert_eq!(within(orders, "Cancel"), ["ORD-4F7K2", "Alice"]);
        assert_eq!(
            within(orders, "ORD-4F7K2"),
            ["Alice"],
            "a node does not name its own row"
        );
    }

    #[test]
    fn controls_name_a_row_last_and_unnamed_groups_never() {
        let todo = "
            list Chores
             listitem
              checkbox Wash up
              button Delete
        ";
        assert_eq!(within(todo, "Delete"), ["Wash up"]);
        assert_eq!(within(todo, "Wash up"), ["Chores"]);
        let plain = "
            group
             button Delete
        ";
        assert!(within(plain, "Delete").is_empty());
    }
}
