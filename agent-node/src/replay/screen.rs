//! What surrounds a node: parents, subtrees, the row or group that tells it from its twins.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use muster_engine::Node;

use super::volatile::stretches;
use super::wording::{Pattern, Wording, masked};
use crate::harness::Observation;

/// Longest text of a stored descriptor, characters.
pub(super) const MAX_TEXT: usize = 300;

/// Rows and cards: known by what they show.
const ROWS: &[&str] = &["row", "listitem", "article", "treeitem"];

/// Groups: known by their name, if they have one.
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
    /// Digests of what names the place of each node; made when first asked for. Most nodes are not
    /// where one looks, and their keys need not be put together again to say so.
    places: Vec<OnceCell<Vec<u64>>>,
    /// Nodes by a digest of role, name and text; made when first asked for.
    alike: OnceCell<HashMap<u64, Vec<usize>>>,
    /// By parent and role; made when first asked for.
    siblings: OnceCell<HashMap<(Option<usize>, &'a str), Siblings>>,
}

/// Rows of one list or table.
#[derive(Default)]
struct Siblings {
    rows: usize,
    /// What they show, and how many of them show it.
    shown: HashMap<String, usize>,
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
            places: vec![OnceCell::new(); nodes.len()],
            alike: OnceCell::new(),
            siblings: OnceCell::new(),
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
    pub(super) fn text(&self, index: usize) -> Cow<'a, str> {
        let node = &self.nodes()[index];
        if node.name.is_empty() && node.text.is_empty() && announces(node) {
            let words: Vec<&str> = self
                .below(index)
                .filter_map(|below| label(&self.nodes()[below]))
                .collect();
            return clip(&words.join(" ")).to_owned().into();
        }
        clip(&node.text).into()
    }

    /// Whether a node is where `within` says. Something that acts without saying on what (a
    /// button, a field, whatever is unnamed) is nowhere else; what says it itself (a link, a
    /// heading) may be.
    pub(super) fn is_within(&self, index: usize, within: Option<&Pattern>) -> bool {
        let says_what = says_what(&self.nodes()[index]);
        match within {
            Some(wanted) if says_what => self
                .keys(index)
                .iter()
                .chain(&self.group(index))
                .any(|key| wanted.matches(key)),
            Some(Pattern::Plain(text)) if !self.places(index).contains(&digest(text)) => false,
            Some(wanted) => self.keys(index).iter().any(|key| wanted.matches(key)),
            None => says_what || self.places(index).is_empty(),
        }
    }

    /// Where a node is, as it is stored. Outer none: it can't be stored; inner none: nowhere that
    /// has a name.
    ///
    /// Of a row's texts the first that is the same in every run and that no other row shows; else
    /// one that the app mints, which only a sole row can be found by; else the first. What names
    /// one row among several is not within it.
    pub(super) fn stored_within(&self, index: usize, wording: &Wording) -> Option<Option<String>> {
        let store = |text: &str| wording.stored(text);
        let Some(row) = self.row(index) else {
            return self
                .group(index)
                .map_or(Some(None), |name| store(&name).map(Some));
        };
        let node = &self.nodes()[index];
        let siblings = self.siblings(row);
        let elsewhere = |text: &str| siblings.shown.get(text).is_some_and(|rows| *rows > 1);
        let own = label(node).filter(|_| says_what(node));
        if let Some(own) = own.filter(|own| siblings.rows > 1 && !elsewhere(clip(own)))
            && !masked(&store(clip(own))?)
        {
            return self
                .group(index)
                .map_or(Some(None), |name| store(&name).map(Some));
        }
        let keys = self.row_keys(row, index);
        let stored = keys
            .iter()
            .map(|key| store(key))
            .collect::<Option<Vec<String>>>()?;
        let telling = keys
            .iter()
            .zip(&stored)
            .find(|(key, stored)| !masked(stored) && !elsewhere(key));
        let chosen = telling
            .map(|(_, stored)| stored)
            .or_else(|| stored.iter().find(|stored| masked(stored)))
            .or(stored.first());
        Some(chosen.cloned())
    }

    /// Texts any of which names where a node is: those of its row, else the name of its group.
    pub(super) fn keys(&self, index: usize) -> Vec<String> {
        match self.row(index) {
            Some(row) => self.row_keys(row, index),
            None => self.group(index).into_iter().collect(),
        }
    }

    /// [`Screen::keys`], as digests.
    fn places(&self, index: usize) -> &[u64] {
        self.places[index].get_or_init(|| self.keys(index).iter().map(digest).collect())
    }

    /// Every node of this role, name and text, and perhaps some that are not.
    pub(super) fn alike(&self, role: &str, name: &str, text: &str) -> &[usize] {
        let alike = self.alike.get_or_init(|| {
            let mut alike: HashMap<u64, Vec<usize>> = HashMap::new();
            for (index, node) in self.nodes().iter().enumerate() {
                let shows = (&*node.role, clip(&node.name), &*self.text(index));
                alike.entry(digest(&shows)).or_default().push(index);
            }
            alike
        });
        alike
            .get(&digest(&(role, name, text)))
            .map_or(&[], Vec::as_slice)
    }

    fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.parents[index], |&at| self.parents[at])
    }

    /// The nearest row or card that shows something beside the node.
    fn row(&self, index: usize) -> Option<usize> {
        self.ancestors(index).find(|&at| {
            ROWS.contains(&self.nodes()[at].role.as_str()) && !self.row_keys(at, index).is_empty()
        })
    }

    /// The name of the nearest group that has one.
    fn group(&self, index: usize) -> Option<String> {
        self.ancestors(index)
            .map(|at| &self.nodes()[at])
            .find(|node| GROUPS.contains(&node.role.as_str()) && !node.name.is_empty())
            .map(|node| clip(&node.name).to_owned())
    }

    /// A row with those beside it.
    fn siblings(&self, row: usize) -> &Siblings {
        let all = self.siblings.get_or_init(|| {
            let mut all: HashMap<(Option<usize>, &str), Siblings> = HashMap::new();
            for (index, node) in self.nodes().iter().enumerate() {
                if !ROWS.contains(&node.role.as_str()) {
                    continue;
                }
                let siblings = all
                    .entry((self.parents[index], node.role.as_str()))
                    .or_default();
                siblings.rows += 1;
                for key in self
                    .row_keys(index, index)
                    .into_iter()
                    .collect::<HashSet<_>>()
                {
                    *siblings.shown.entry(key).or_default() += 1;
                }
            }
            all
        });
        &all[&(self.parents[row], self.nodes()[row].role.as_str())]
    }

    /// What a row shows beside the node `inner` (the row itself: all of it), best keys first: a
    /// name of its own, headings, own text, other texts; labels of controls only to tell controls
    /// apart. Numbers and amounts are no keys.
    fn row_keys(&self, row: usize, inner: usize) -> Vec<String> {
        let nodes = self.nodes();
        let own = if inner == row {
            row..row
        } else {
            inner..self.ends[inner]
        };
        let own_label = label(&nodes[inner]);
        let around = |index: usize| index < inner && inner < self.ends[index];
        let shown: Vec<(u8, &str)> = self
            .below(row)
            .filter(|index| !own.contains(index))
            .filter_map(|index| {
                let (node, text) = (&nodes[index], label(&nodes[index])?);
                let wraps = inner != row && around(index) && Some(text) == own_label;
                let class = match () {
                    () if CONTROLS.contains(&node.role.as_str()) => 4,
                    () if node.role == "heading" => 1,
                    () => 3,
                };
                (!wraps && (class < 4 || inner == row || !says_what(&nodes[inner])))
                    .then_some((class, text))
            })
            .collect();
        let name = nodes[row].name.as_str();
        // A name put together from what the row shows names nothing.
        let authored = !name.is_empty() && !shown.iter().any(|(_, text)| name.contains(text));
        let own_text = self.text(row);
        let mut keys: Vec<(u8, &str)> = [(0, name)]
            .into_iter()
            .filter(|_| authored)
            .chain([(2, &*own_text)])
            .chain(shown)
            .filter(|(_, text)| {
                text.chars().any(char::is_alphabetic) || !stretches(text).is_empty()
            })
            .collect();
        keys.sort_by_key(|(class, _)| *class);
        keys.into_iter()
            .map(|(_, text)| clip(text).to_owned())
            .collect()
    }
}

fn digest(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Whether a node's label says what it is about rather than what it does.
pub(super) fn says_what(node: &Node) -> bool {
    !CONTROLS.contains(&node.role.as_str()) && label(node).is_some()
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

    /// Where the first node of this name is.
    fn within(text: &str, name: &str) -> Option<String> {
        let observation = screen("/", text);
        let index = observation
            .nodes()
            .iter()
            .position(|node| node.name == name)
            .unwrap();
        Screen::new(&observation)
            .stored_within(index, &Wording::default())
            .unwrap()
    }

    #[test]
    fn a_row_is_known_by_what_it_shows() {
        for (row, want) in [
            (
                "row\n cell Blue mug\n cell 12 left\n button Add",
                "Blue mug",
            ),
            (
                "row Blue mug 12 left Add\n link Blue mug\n button Add",
                "Blue mug",
            ),
            ("row Third\n link Blue mug\n button Add", "Third"),
            ("listitem ~Milk\n link details\n button Add", "Milk"),
            ("listitem ~$12.00\n link Blue mug\n button Add", "Blue mug"),
            (
                "article\n . ~New\n heading Blue mug\n button Add",
                "Blue mug",
            ),
            ("row\n cell Blue mug\n cell Add\n  button Add", "Blue mug"),
            ("row\n checkbox Blue mug -off\n button Add", "Blue mug"),
        ] {
            assert_eq!(within(row, "Add").as_deref(), Some(want), "{row}");
        }
    }

    #[test]
    fn the_text_that_no_other_row_shows_comes_first() {
        let rows = |first: &str, second: &str| {
            format!(
                "row\n cell Mug\n cell {first}\n button Add\nrow\n cell Mug\n cell {second}\n button Buy"
            )
        };
        assert_eq!(within(&rows("Blue", "Red"), "Add").as_deref(), Some("Blue"));
        assert_eq!(
            within(&rows("ORD-1A", "ORD-2B"), "Add").as_deref(),
            Some("{{id}}"),
            "only an id tells"
        );
        assert_eq!(within(&rows("Blue", "Blue"), "Add").as_deref(), Some("Mug"));
    }

    #[test]
    fn what_names_a_row_is_not_within_it() {
        let rows =
            "list Shop\n listitem ~12 left\n  link Blue mug\n listitem ~3 left\n  link Red mug";
        assert_eq!(within(rows, "Blue mug").as_deref(), Some("Shop"));
        let details = "listitem ~Milk\n link details\nlistitem ~Tea\n link details";
        assert_eq!(within(details, "details").as_deref(), Some("Milk"));
        let order = "row\n link ORD-4F7K2\n cell Alice\nrow\n link ORD-9ZZZ9\n cell Bob";
        assert_eq!(within(order, "ORD-4F7K2").as_deref(), Some("Alice"));
    }

    #[test]
    fn groups_count_where_there_is_no_row_and_only_by_name() {
        assert_eq!(
            within("dialog Edit\n form\n  button Save", "Save").as_deref(),
            Some("Edit")
        );
        assert_eq!(within("group\n button Save", "Save"), None);
        assert_eq!(
            within("navigation Main\n listitem\n  button Save", "Save").as_deref(),
            Some("Main")
        );
    }
}
