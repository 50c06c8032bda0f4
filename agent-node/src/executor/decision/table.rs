//! The element table: what of a screen can be acted on, and the words around it.

use std::collections::HashMap;

use muster_engine::{Node, NodeId};

use super::request::{Around, AroundKind, Dialog, MAX_OPTIONS, Operation, PageState, Row};
use crate::harness::Observation;

const MAX_LABEL: usize = 120;
const MAX_AROUND: usize = 600;
const MAX_PAGE_TEXT: usize = 6000;
const MAX_STATUSES: usize = 20;
const MAX_STATUS: usize = 300;

/// Containers of one thing among several.
const ITEMS: &[&str] = &["row", "listitem", "article", "treeitem", "figure"];
/// Containers whose name says what is in them.
const GROUPS: &[&str] = &[
    "group",
    "radiogroup",
    "form",
    "list",
    "listbox",
    "menu",
    "menubar",
    "navigation",
    "region",
    "complementary",
    "tabpanel",
    "tablist",
    "table",
    "grid",
    "toolbar",
    "tree",
];
const DIALOGS: &[&str] = &["dialog", "alertdialog"];
const TAPPED: &[&str] = &[
    "button",
    "link",
    "tab",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "treeitem",
    "combobox",
    "gridcell",
];

/// The table and how many elements it leaves out.
pub(super) fn rows(screen: &Observation) -> (Vec<Row>, usize) {
    let outline = Outline::new(screen.nodes());
    let nodes = screen.nodes();
    let mut acted: Vec<(usize, Vec<Operation>)> = (0..nodes.len())
        .map(|index| (index, operations(&nodes[index])))
        .filter(|(_, operations)| !operations.is_empty())
        .collect();
    let omitted = acted.len().saturating_sub(MAX_OPTIONS);
    // Controls are kept rather than what only looks clickable, then what is in view.
    acted.sort_by_key(|(index, _)| (passive(&nodes[*index]), !nodes[*index].in_viewport, *index));
    acted.truncate(MAX_OPTIONS);
    acted.sort_by_key(|(index, _)| (!nodes[*index].in_viewport, *index));
    let rows = acted.into_iter();
    let rows = rows.map(|(index, operations)| outline.row(index, operations));
    (rows.collect(), omitted)
}

/// The page around the table.
pub(super) fn page(screen: &Observation) -> PageState {
    let nodes = screen.nodes();
    let headings = || nodes.iter().filter(|node| node.role == "heading").map(said);
    let mut top: Vec<String> = nodes
        .iter()
        .filter(|node| node.role == "heading" && node.level == Some(1))
        .map(said)
        .collect();
    if top.is_empty() {
        top.extend(headings().next());
    }
    let outline = Outline::new(nodes);
    let at = |roles: &'static [&str]| {
        nodes
            .iter()
            .enumerate()
            .filter(move |(_, node)| roles.contains(&node.role.as_str()))
    };
    PageState {
        location: screen.location.clone(),
        title: screen.snapshot.title.clone(),
        headings: top,
        text: cut(&join(nodes.iter().map(said)), MAX_PAGE_TEXT),
        statuses: at(&["alert", "status"])
            .map(|(index, _)| cut(&outline.text(index), MAX_STATUS))
            .filter(|text| !text.is_empty())
            .take(MAX_STATUSES)
            .collect(),
        dialogs: at(DIALOGS)
            .map(|(index, node)| Dialog {
                id: node.id,
                text: cut(&outline.text(index), MAX_AROUND),
            })
            .collect(),
    }
}

/// Clickable, and by its role no control.
fn passive(node: &Node) -> bool {
    !node.editable
        && node.options.is_empty()
        && node.states.checked.is_none()
        && !TAPPED.contains(&node.role.as_str())
}

fn operations(node: &Node) -> Vec<Operation> {
    use Operation::{Check, ScrollTo, Select, Submit, Tap, Type, TypeSecret, Uncheck};
    if node.states.disabled {
        return Vec::new();
    }
    let mut offered = Vec::new();
    match (node.role.as_str(), node.states.checked) {
        ("checkbox" | "switch" | "radio", Some(true)) if node.role != "radio" => {
            offered.push(Uncheck)
        }
        ("checkbox" | "switch" | "radio", _) => offered.push(Check),
        _ if !node.options.is_empty() => offered.push(Select),
        _ if node.editable => offered.extend([Type, TypeSecret, Submit]),
        (role, _) if TAPPED.contains(&role) || node.clickable => offered.push(Tap),
        _ => {}
    }
    if !offered.is_empty() && !node.in_viewport {
        offered.push(ScrollTo);
    }
    offered
}

/// The tree above each node, walked once.
struct Outline<'a> {
    nodes: &'a [Node],
    parents: Vec<Option<usize>>,
    /// Texts of containers, computed when first asked for.
    texts: std::cell::RefCell<HashMap<usize, String>>,
}

impl<'a> Outline<'a> {
    fn new(nodes: &'a [Node]) -> Self {
        let mut open: Vec<usize> = Vec::new();
        let parents = nodes
            .iter()
            .enumerate()
            .map(|(index, node)| {
                while open
                    .last()
                    .is_some_and(|&last| nodes[last].depth >= node.depth)
                {
                    open.pop();
                }
                let parent = open.last().copied();
                open.push(index);
                parent
            })
            .collect();
        Self {
            nodes,
            parents,
            texts: std::cell::RefCell::default(),
        }
    }

    /// Name and text of a node and everything below it.
    fn text(&self, index: usize) -> String {
        if let Some(known) = self.texts.borrow().get(&index) {
            return known.clone();
        }
        let depth = self.nodes[index].depth;
        let below = self.nodes[index + 1..]
            .iter()
            .take_while(|node| node.depth > depth);
        let text = join(std::iter::once(&self.nodes[index]).chain(below).map(said));
        self.texts.borrow_mut().insert(index, text.clone());
        text
    }

    /// The name of a container, else the first text inside.
    fn title(&self, index: usize) -> String {
        let depth = self.nodes[index].depth;
        let below = self.nodes[index + 1..]
            .iter()
            .take_while(|node| node.depth > depth);
        std::iter::once(&self.nodes[index])
            .chain(below)
            .map(said)
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    fn around(&self, index: usize) -> Vec<Around> {
        let mut found = Vec::new();
        let mut next = self.parents[index];
        while let Some(at) = next {
            let node = &self.nodes[at];
            let role = node.role.as_str();
            let kind = if ITEMS.contains(&role) {
                Some(AroundKind::Item)
            } else if DIALOGS.contains(&role) {
                Some(AroundKind::Dialog)
            } else if GROUPS.contains(&role) && !node.name.is_empty() {
                Some(AroundKind::Group)
            } else {
                None
            };
            if let Some(kind) = kind {
                let text = if kind == AroundKind::Group {
                    node.name.clone()
                } else {
                    self.text(at)
                };
                found.push(Around {
                    kind,
                    id: node.id,
                    title: cut(&self.title(at), MAX_LABEL),
                    text: cut(&text, MAX_AROUND),
                });
            }
            next = self.parents[at];
        }
        if let Some(heading) = self.nodes[..index]
            .iter()
            .rev()
            .find(|node| node.role == "heading")
        {
            let title = cut(&said(heading), MAX_LABEL);
            found.push(Around {
                kind: AroundKind::Heading,
                id: heading.id,
                text: title.clone(),
                title,
            });
        }
        found
    }

    fn row(&self, index: usize, operations: Vec<Operation>) -> Row {
        let node = &self.nodes[index];
        let label = [&node.name, &node.text]
            .into_iter()
            .find(|text| !text.is_empty())
            .cloned();
        let label = label.unwrap_or_else(|| node.placeholder.clone().unwrap_or_default());
        let mut hints = Vec::new();
        let test_id = node.test_id.as_deref().unwrap_or_default();
        for hint in [
            &node.description,
            node.placeholder.as_deref().unwrap_or_default(),
            &node.text,
            test_id,
        ] {
            if !hint.is_empty() && hint != label {
                hints.push(cut(hint, MAX_LABEL));
            }
        }
        let secure =
            node.states.secure && node.value.as_deref().is_some_and(|value| !value.is_empty());
        Row {
            id: node.id,
            role: node.role.clone(),
            label: cut(&label, MAX_LABEL),
            hints,
            value: if secure {
                Some("<secure>".to_owned())
            } else {
                node.value.clone()
            },
            href: node.href.clone(),
            states: states(node),
            operations,
            options: node.options.clone(),
            around: self.around(index),
            inside: self.inside(index),
        }
    }

    /// The nearest element above that says the same and can be acted on.
    fn inside(&self, index: usize) -> Option<NodeId> {
        let mut above = self.parents[index];
        while let Some(at) = above {
            let node = &self.nodes[at];
            if said(node) == said(&self.nodes[index]) && !operations(node).is_empty() {
                return Some(node.id);
            }
            above = self.parents[at];
        }
        None
    }
}

fn states(node: &Node) -> Vec<&'static str> {
    let states = &node.states;
    [
        ("checked", states.checked == Some(true)),
        ("selected", states.selected == Some(true)),
        ("expanded", states.expanded == Some(true)),
        ("collapsed", states.expanded == Some(false)),
        ("pressed", states.pressed == Some(true)),
        ("focused", states.focused),
        ("secure", states.secure),
        ("required", states.required),
        ("invalid", states.invalid),
    ]
    .into_iter()
    .filter_map(|(name, holds)| holds.then_some(name))
    .collect()
}

/// What a node says by itself.
fn said(node: &Node) -> String {
    match (node.name.as_str(), node.text.as_str()) {
        (name, "") => name.to_owned(),
        ("", text) => text.to_owned(),
        (name, text) if name.contains(text) => name.to_owned(),
        (name, text) => format!("{name} {text}"),
    }
}

fn join(texts: impl Iterator<Item = String>) -> String {
    let mut joined = String::new();
    for text in texts.filter(|text| !text.is_empty()) {
        // A container's name often repeats its only child's text.
        if joined.ends_with(&text) {
            continue;
        }
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(&text);
    }
    joined
}

/// At most `most` characters.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
