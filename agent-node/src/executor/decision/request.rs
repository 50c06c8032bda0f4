//! What a chooser is asked and what it answers: plain data, so that a decision service could stand
//! behind the same words.

use muster_engine::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most options of one question.
pub const MAX_OPTIONS: usize = 255;

/// One turn: the state, and a question about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What is asked.
    pub question: Question,
    /// The goal, redacted.
    pub goal: String,
    /// Its parameters; secrets by name only.
    pub params: Value,
    /// The app's vocabulary.
    pub context: String,
    /// What earlier steps of the attempt did, one line each.
    pub ledger: String,
    /// What a replay already did, one line each.
    pub replayed: Vec<String>,
    /// The page around the elements.
    pub page: PageState,
    /// The element table: what can be acted on, in-viewport first; at most [`MAX_OPTIONS`].
    pub rows: Vec<Row>,
    /// Elements left out of the table.
    pub omitted: usize,
    /// What may be typed; at most [`MAX_OPTIONS`].
    pub values: Vec<Offered>,
    /// Whether a text model writes what is typed if no value is chosen.
    pub writes: bool,
    /// The last ten actions, oldest first.
    pub history: Vec<Past>,
    /// What the chooser asked to be told again; none on the first turn.
    pub memory: Option<Value>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Which operation comes next, and on what.
    Operation,
    /// Whether the goal is reached on this fresh screen.
    Completion,
    /// Whether the statement that stands as the goal holds on this screen.
    Verdict,
}

/// The page as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageState {
    /// Path and query.
    pub location: String,
    /// The document's title.
    pub title: String,
    /// Headings of level 1, else the first heading.
    pub headings: Vec<String>,
    /// Visible text, at most 6000 characters.
    pub text: String,
    /// Alerts and statuses, at most 20 of 300 characters.
    pub statuses: Vec<String>,
    /// Open dialogs, in document order.
    pub dialogs: Vec<Dialog>,
}

/// An open dialog.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dialog {
    /// The element.
    pub id: NodeId,
    /// Its name and its text, at most 600 characters.
    pub text: String,
}

/// An element that can be acted on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The element.
    pub id: NodeId,
    /// Its role; empty for what only looks clickable.
    pub role: String,
    /// Its accessible name, else its text; at most 120 characters.
    pub label: String,
    /// Description, placeholder and text where they differ from the label.
    pub hints: Vec<String>,
    /// A field's value; `<secure>` for a filled secure field.
    pub value: Option<String>,
    /// A link's address.
    pub href: Option<String>,
    /// `checked`, `expanded`, `selected`, `pressed`, `secure`, … as they hold.
    pub states: Vec<&'static str>,
    /// What can be done to it.
    pub operations: Vec<Operation>,
    /// Labels of a select's options.
    pub options: Vec<String>,
    /// Texts around it, nearest first.
    pub around: Vec<Around>,
    /// The nearest element above it that says the same and can be acted on too.
    pub inside: Option<NodeId>,
}

impl Row {
    /// Whether `operation` is offered on it.
    pub fn offers(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Whether the state holds.
    pub fn is(&self, state: &str) -> bool {
        self.states.contains(&state)
    }

    /// For messages: `button "Pay"`.
    pub fn describe(&self) -> String {
        let role = if self.role.is_empty() {
            "element"
        } else {
            &self.role
        };
        format!("{role} {:?}", self.label)
    }
}

/// A text around an element.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Around {
    /// What kind of surroundings.
    pub kind: AroundKind,
    /// The surrounding element, so that rows of one container can be told.
    pub id: NodeId,
    /// Its name or first text.
    pub title: String,
    /// Name and whole text, at most 600 characters.
    pub text: String,
}

/// Kinds of surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AroundKind {
    /// A row, list item, article or the like: one thing among several.
    Item,
    /// A dialog.
    Dialog,
    /// A named group, form, list, region or navigation; its text is its name alone.
    Group,
    /// The nearest heading before it.
    Heading,
}

/// Something that may be typed. A chooser picks one; it never writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Offered {
    /// A string, number or boolean of the parameters.
    Param {
        /// JSON Pointer into the parameters.
        pointer: String,
        /// As text.
        text: String,
    },
    /// A secret of the parameters.
    Secret {
        /// JSON Pointer into the parameters.
        pointer: String,
        /// Its name.
        name: String,
    },
    /// Text that stands in quotes in the goal.
    Quoted {
        /// Without the quotes.
        text: String,
    },
}

impl Offered {
    /// The text, where it may be known.
    pub fn text(&self) -> Option<&str> {
        match self {
            Offered::Param { text, .. } | Offered::Quoted { text } => Some(text),
            Offered::Secret { .. } => None,
        }
    }

    /// Its pointer into the parameters.
    pub fn pointer(&self) -> Option<&str> {
        match self {
            Offered::Param { pointer, .. } | Offered::Secret { pointer, .. } => Some(pointer),
            Offered::Quoted { .. } => None,
        }
    }
}

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// A click.
    Tap,
    /// Puts an offered text into a field.
    Type,
    /// Puts an offered secret into a field.
    TypeSecret,
    /// Presses Enter in a field.
    Submit,
    /// Picks an option of a select.
    Select,
    /// Ticks.
    Check,
    /// Unticks.
    Uncheck,
    /// Scrolls into view.
    ScrollTo,
    /// One step back in history; needs no element.
    Back,
}

impl Operation {
    /// Every operation, in order of declaration.
    pub const ALL: [Operation; 9] = [
        Operation::Tap,
        Operation::Type,
        Operation::TypeSecret,
        Operation::Submit,
        Operation::Select,
        Operation::Check,
        Operation::Uncheck,
        Operation::ScrollTo,
        Operation::Back,
    ];

    /// Its name in questions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Operation::Tap => "tap",
            Operation::Type => "type",
            Operation::TypeSecret => "type_secret",
            Operation::Submit => "submit",
            Operation::Select => "select",
            Operation::Check => "check",
            Operation::Uncheck => "uncheck",
            Operation::ScrollTo => "scroll_to",
            Operation::Back => "back",
        }
    }
}

/// An earlier action of the step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Past {
    /// One line, e.g. `tap button "Pay"`.
    pub action: String,
    /// The element, if any.
    pub target: Option<NodeId>,
    /// What came of it.
    pub effect: Effect,
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The screen's shape or route changed.
    Changed,
    /// Done, and nothing changed.
    Unchanged,
    /// Not done; why.
    Refused(String),
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What is chosen.
    pub answer: Answer,
    /// 0 to 1: how much of the belief lies on it.
    pub probability: f64,
    /// 0 to 1: how far the chooser trusts itself here.
    pub confidence: f64,
    /// Why, in a line for people.
    pub why: String,
    /// To be told again on the next turn.
    pub memory: Option<Value>,
}

/// Answers to all questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Do this.
    Do(Do),
    /// Nothing on this screen fits.
    None,
    /// The goal is reached.
    Done,
    /// The app doesn't do what the goal asks.
    Failed,
    /// The goal can't be followed at all.
    Blocked,
    /// Completion and verdict: it is so.
    Holds,
    /// Completion and verdict: it is not.
    Fails,
    /// Completion and verdict: the screen doesn't tell.
    Inconclusive,
}

/// One chosen operation. All indexes are into the request and are checked by the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Do {
    /// The operation.
    pub operation: Operation,
    /// Index of the row; none only for `Back`.
    pub row: Option<usize>,
    /// Index of the value, for `Type` and `TypeSecret`; none for `Type` = the text model writes.
    pub value: Option<usize>,
    /// Index of the option, for `Select`.
    pub option: Option<usize>,
}
