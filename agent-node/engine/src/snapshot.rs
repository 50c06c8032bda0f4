//! What a page shows, as data.

use serde::{Deserialize, Serialize};

/// An element, for as long as it lives in its document; never reused within a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// The visible screen, whole, in document order. Hidden nodes are not in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Address of the top document.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Width and height, CSS px.
    pub viewport: (u32, u32),
    /// Parents before children; a node's children follow it at `depth + 1`.
    pub nodes: Vec<Node>,
    /// The engine stopped before the end.
    pub truncated: bool,
}

/// One node: an element with a role, or a holder of text without one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// See [`NodeId`].
    pub id: NodeId,
    /// From 0 at the top.
    pub depth: u32,
    /// Semantic role of the closed vocabulary; empty for a plain holder of text.
    pub role: String,
    /// Accessible name, whitespace folded, at most 256 characters.
    pub name: String,
    /// Accessible description, likewise.
    pub description: String,
    /// Own visible text where it differs from the name, at most 512 characters.
    pub text: String,
    /// A field's value, a select's chosen label, a slider's value text; raw; none = has no value.
    pub value: Option<String>,
    /// A field's placeholder.
    pub placeholder: Option<String>,
    /// `data-testid`.
    pub test_id: Option<String>,
    /// A link's address, absolute.
    pub href: Option<String>,
    /// Lower-case element name.
    pub tag: String,
    /// The element's `id` attribute, for `muster snapshot`; never shown to models.
    pub dom_id: String,
    /// Heading level.
    pub level: Option<u8>,
    /// Labels of a select's options, at most 255.
    pub options: Vec<String>,
    /// See [`States`].
    pub states: States,
    /// Takes text: an enabled, writable field.
    pub editable: bool,
    /// Looks clickable (role, pointer cursor, tab stop, handler) though its role doesn't say so.
    pub clickable: bool,
    /// Some of it is inside the viewport.
    pub in_viewport: bool,
    /// Of a field that takes text: the origin of its own document; none = the top document's.
    pub frame_origin: Option<String>,
    /// Of a field that takes text: why a person would not see it; none = they would.
    pub concealed: Option<String>,
    /// Of a field that takes text: what it asks for, by its `autocomplete`, e.g.
    /// `current-password`; none = it doesn't say.
    pub purpose: Option<String>,
    /// Left, top, width, height in CSS px of the top viewport.
    pub rect: (f64, f64, f64, f64),
}

impl Default for NodeId {
    /// No element: ids start at 1.
    fn default() -> Self {
        NodeId(0)
    }
}

/// States; none = the element has no such state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct States {
    /// Checkbox, radio, switch. `mixed` counts as false here.
    pub checked: Option<bool>,
    /// Disabled by itself, a fieldset or `aria-disabled`.
    pub disabled: bool,
    /// Option, tab, row, …
    pub selected: Option<bool>,
    /// Disclosure, menu button, combobox, …
    pub expanded: Option<bool>,
    /// Toggle button.
    pub pressed: Option<bool>,
    /// Has the focus.
    pub focused: bool,
    /// A password field or one that asks for a one-time code.
    pub secure: bool,
    /// Must be filled.
    pub required: bool,
    /// Says that its value is wrong.
    pub invalid: bool,
    /// Can't be written.
    pub readonly: bool,
}

/// One match of a locator, with what matchers and reads compare.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Found {
    /// The element as a snapshot would tell it; hidden elements too.
    pub node: Node,
    /// Rendered and not hidden by style.
    pub visible: bool,
    /// The element's whole text, whitespace folded (a field: its value).
    pub text_content: String,
    /// The attribute that was asked for.
    pub attribute: Option<String>,
    /// The `class` attribute.
    pub class: String,
}

/// Roles of what a person acts on.
const CONTROLS: [&str; 14] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "spinbutton",
    "checkbox",
    "radio",
    "switch",
    "combobox",
    "listbox",
    "option",
    "menuitem",
    "tab",
    "slider",
];

impl Node {
    /// Whether a person could act on it.
    pub fn operable(&self) -> bool {
        self.editable || self.clickable || CONTROLS.contains(&self.role.as_str())
    }
}
