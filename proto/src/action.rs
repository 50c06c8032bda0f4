//! What an executor may ask for and a recording may hold: a closed union of actions on described
//! targets.
//!
//! A [`Target`] describes an element as a person would: role, name, text, its row, its place among
//! twins. It never holds a selector or a node id; those live and die with one page.
//!
//! In a recording the texts of a target may hold slots: `{{<JSON pointer>|<spelling>}}` for a
//! `unique()` parameter, `{{id}}` for one id, date or time that the app mints anew in every run.

use serde::{Deserialize, Serialize};

/// An element, described so that another machine can find it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// Semantic role, e.g. `button`.
    pub role: String,
    /// Accessible name, whitespace folded, at most 300 characters; empty = unnamed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Own visible text where it differs from the name; at most 300 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The element's test id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Placeholder of a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// First text of the nearest named row, list item or group around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Its place among elements that look the same, if there were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// For a toggle: whether it was on before the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
}

/// A place among twins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Position {
    /// From 0.
    pub index: u32,
    /// How many there were, 2 to 1000.
    pub of: u32,
}

/// Text that an action types: literal, a slot of a parameter, or a secret's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum Typed {
    /// As it stands.
    Literal {
        /// The text.
        text: String,
    },
    /// Text with slots `{{<JSON pointer>|<spelling>}}` for `unique()` parameters.
    Template {
        /// The text with its slots.
        text: String,
    },
    /// A declared secret: the name only, resolved on the node and authorized at dispatch.
    Secret {
        /// Its name.
        name: String,
    },
}

/// One thing done to the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do", deny_unknown_fields)]
pub enum Action<T = Target> {
    /// A primary click.
    Tap {
        /// What.
        target: T,
    },
    /// Puts text into a field, replacing what it held.
    Type {
        /// The field.
        target: T,
        /// The text.
        value: Typed,
    },
    /// A key, with modifiers joined by `+`, sent to the target or to what has the focus.
    Press {
        /// What gets the focus first; none = what has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<T>,
        /// E.g. `Enter`, `Control+A`.
        key: String,
    },
    /// Picks an option of a select by its visible label.
    Select {
        /// The select.
        target: T,
        /// The option's visible label.
        label: String,
    },
    /// Puts a checkbox, radio or switch into a state; no-op if it is there.
    Check {
        /// The control.
        target: T,
        /// The state wanted.
        checked: bool,
    },
    /// Moves the pointer over the target.
    Hover {
        /// What.
        target: T,
    },
    /// Scrolls the target into view.
    ScrollTo {
        /// What.
        target: T,
    },
    /// Goes to an address on the app's site: path and query, no origin.
    Navigate {
        /// E.g. `/cart?page=2`.
        path: String,
    },
    /// One step back in history.
    Back {},
}

impl<T> Action<T> {
    /// The element it is done to, if any.
    pub fn target(&self) -> Option<&T> {
        match self {
            Action::Tap { target }
            | Action::Type { target, .. }
            | Action::Select { target, .. }
            | Action::Check { target, .. }
            | Action::Hover { target }
            | Action::ScrollTo { target } => Some(target),
            Action::Press { target, .. } => target.as_ref(),
            Action::Navigate { .. } | Action::Back {} => None,
        }
    }

    /// The same action on another form of target.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Action<U> {
        match self {
            Action::Tap { target } => Action::Tap { target: f(target) },
            Action::Type { target, value } => Action::Type {
                target: f(target),
                value,
            },
            Action::Press { target, key } => Action::Press {
                target: target.map(f),
                key,
            },
            Action::Select { target, label } => Action::Select {
                target: f(target),
                label,
            },
            Action::Check { target, checked } => Action::Check {
                target: f(target),
                checked,
            },
            Action::Hover { target } => Action::Hover { target: f(target) },
            Action::ScrollTo { target } => Action::ScrollTo { target: f(target) },
            Action::Navigate { path } => Action::Navigate { path },
            Action::Back {} => Action::Back {},
        }
    }

    /// The verb, for histories and spans.
    pub const fn verb(&self) -> &'static str {
        match self {
            Action::Tap { .. } => "tap",
            Action::Type { .. } => "type",
            Action::Press { .. } => "press",
            Action::Select { .. } => "select",
            Action::Check { .. } => "check",
            Action::Hover { .. } => "hover",
            Action::ScrollTo { .. } => "scroll_to",
            Action::Navigate { .. } => "navigate",
            Action::Back {} => "back",
        }
    }
}
