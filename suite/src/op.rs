//! The step IR: everything that a test can ask of the harness. Every front end compiles to it;
//! cache keys, budgets, reports and executors see only this.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::locator::{Locator, TextMatch};

/// One step. Times are milliseconds; none = the configured default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "op", deny_unknown_fields)]
pub enum Op {
    /// Opens the app: its address joined with `path`.
    AppOpen {
        /// Path and query; empty = the address itself.
        #[serde(default)]
        path: String,
    },
    /// One step back in history.
    AppBack {},
    /// Forgets cookies and storage of the context; the page goes blank.
    AppClearState {},
    /// Goes to an address; relative ones resolve on the app's.
    #[serde(rename_all = "camelCase")]
    BrowserGoto {
        /// Absolute or relative.
        url: String,
        /// See above.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Reloads.
    BrowserReload {},
    /// Back.
    BrowserBack {},
    /// Forward.
    BrowserForward {},
    /// Yields the address as text.
    BrowserUrl {},
    /// Yields the title.
    BrowserTitle {},
    /// Waits until the address matches; verifies like a check.
    #[serde(rename_all = "camelCase")]
    BrowserWaitForUrl {
        /// Whole address (relative ones resolve on the app's) or pattern.
        url: TextMatch,
        /// See above.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Does something to the one element that matches.
    #[serde(rename_all = "camelCase")]
    Act {
        /// What.
        locator: Locator,
        /// How.
        gesture: Gesture,
        /// See above.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Waits for a state of the match; `visible` and `hidden` verify like checks.
    #[serde(rename_all = "camelCase")]
    WaitFor {
        /// What.
        locator: Locator,
        /// Visible (true) or hidden (false).
        visible: bool,
        /// See above.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Reads without waiting; yields a JSON value.
    Read {
        /// What.
        locator: Locator,
        /// Which property.
        what: Read,
    },
    /// Checks a locator, polling.
    #[serde(rename_all = "camelCase")]
    ExpectLocator {
        /// What.
        locator: Locator,
        /// What should hold.
        matcher: LocatorMatcher,
        /// Wants the opposite, held for a second.
        #[serde(default)]
        negated: bool,
        /// Failure is kept and the test goes on.
        #[serde(default)]
        soft: bool,
        /// See above.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Checks the browser, polling.
    #[serde(rename_all = "camelCase")]
    ExpectBrowser {
        /// What should hold.
        matcher: BrowserMatcher,
        /// See above.
        #[serde(default)]
        negated: bool,
        /// See above.
        #[serde(default)]
        soft: bool,
        /// See above.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// A goal.
    AgentAct(AgentCall),
    /// A judgment of the current screen.
    AgentAssert(AgentCall),
    /// A judgment repeated until it holds.
    #[serde(rename_all = "camelCase")]
    AgentWaitFor {
        /// The statement.
        call: AgentCall,
        /// Between looks, 100 to 60000; none = 3000.
        #[serde(default)]
        interval_ms: Option<u64>,
    },
    /// Data read off the screen; yields what the schema describes.
    AgentExtract {
        /// What to read.
        call: AgentCall,
        /// JSON Schema.
        schema: Value,
    },
}

/// What goals and judgments have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentCall {
    /// 1 to 8192 bytes.
    pub instruction: String,
    /// Parameters: JSON of at most 64 KiB, depth 32; secrets stand as [`SecretHandle`] objects.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub params: Value,
    /// JSON Pointers into `params` of values made by `unique()`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<String>,
    /// The agent's name; none = the unit's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Lower than configured, never higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Most actions; lower than configured, never higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Most model calls (or decisions); lower than configured, never higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_model_calls: Option<u32>,
    /// What a judgment goes by; goals take none.
    #[serde(default, skip_serializing_if = "Vision::is_off")]
    pub vision: Vision,
}

/// What a judgment is shown of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Vision {
    /// Its text.
    #[default]
    Off,
    /// Its text and a picture; the text alone where pixels are closed.
    Also,
    /// A picture alone.
    Only,
}

impl Vision {
    /// Whether no picture is wanted.
    pub fn is_off(&self) -> bool {
        *self == Vision::Off
    }
}

/// How a secret stands in parameters and fills: its name, never its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretHandle {
    /// Always `secret`.
    pub kind: SecretKind,
    /// As declared in `muster.toml`.
    pub name: String,
}

/// The one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SecretKind {
    /// A declared secret.
    Secret,
}

/// Text for a fill: plain or a secret's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum FillValue {
    /// As it stands.
    Plain {
        /// The text.
        text: String,
    },
    /// Resolved on the node.
    Secret {
        /// Its name.
        name: String,
    },
}

/// What is done to an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do", deny_unknown_fields)]
pub enum Gesture {
    /// A primary click.
    Tap {},
    /// Replaces the field's text.
    Fill {
        /// With this.
        value: FillValue,
    },
    /// Empties the field.
    Clear {},
    /// Focuses, then presses a key (`Enter`, `Control+A`, `a`).
    Press {
        /// The key.
        key: String,
    },
    /// Turns on; no-op if on.
    Check {},
    /// Turns off; no-op if off.
    Uncheck {},
    /// Picks an option.
    SelectOption {
        /// By what.
        choice: OptionChoice,
    },
    /// Gives it files, and takes those away that it had.
    SetInputFiles {
        /// 1 to 16 project-relative paths of the bundle.
        files: Vec<String>,
    },
    /// Moves the pointer over it.
    Hover {},
    /// Gives it the focus.
    Focus {},
    /// Scrolls it into view.
    ScrollIntoView {},
}

/// Names one option of a select.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "by", deny_unknown_fields)]
pub enum OptionChoice {
    /// Visible label.
    Label {
        /// The label.
        label: String,
    },
    /// `value` attribute.
    Value {
        /// The value.
        value: String,
    },
    /// Place from 0.
    Index {
        /// The place.
        index: u32,
    },
}

/// A property to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "what", deny_unknown_fields)]
pub enum Read {
    /// Text or null; one element.
    TextContent {},
    /// A field's value; one element; refused for secure fields.
    InputValue {},
    /// An attribute or null; one element.
    Attribute {
        /// Its name.
        name: String,
    },
    /// Boolean; one element.
    IsEnabled {},
    /// Boolean; one element.
    IsChecked {},
    /// Boolean; false for no match.
    IsVisible {},
    /// Boolean; true for no match.
    IsHidden {},
    /// Number of matches.
    Count {},
    /// Texts of all matches.
    AllTextContents {},
    /// `{x,y,width,height}` in CSS px or null; one element.
    BoundingBox {},
}

/// What should hold of a locator. Text is compared with whitespace folded, except values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "to", deny_unknown_fields)]
pub enum LocatorMatcher {
    /// One match and visible.
    BeVisible {},
    /// No match, or hidden.
    BeHidden {},
    /// One match.
    BeAttached {},
    /// Not disabled.
    BeEnabled {},
    /// Disabled.
    BeDisabled {},
    /// Checked.
    BeChecked {},
    /// Selected.
    BeSelected {},
    /// Expanded.
    BeExpanded {},
    /// Has the focus.
    BeFocused {},
    /// Whole text; a list compares every match in order.
    HaveText {
        /// One, or one for each match.
        want: Texts,
    },
    /// Part of the text, case-sensitive; a list as above.
    ContainText {
        /// One, or one for each match.
        want: Texts,
    },
    /// A field's raw value.
    HaveValue {
        /// The value.
        want: TextMatch,
    },
    /// An attribute, or only its presence.
    HaveAttribute {
        /// Its name.
        name: String,
        /// Its value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        want: Option<TextMatch>,
    },
    /// Number of matches.
    HaveCount {
        /// How many.
        count: u32,
    },
    /// Accessible name.
    HaveAccessibleName {
        /// The name.
        want: TextMatch,
    },
    /// A class among the element's classes, or a pattern over all of them.
    HaveClass {
        /// The class.
        want: TextMatch,
    },
}

/// One text or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    tag = "form",
    content = "texts",
    deny_unknown_fields
)]
pub enum Texts {
    /// Exactly one element.
    One(TextMatch),
    /// As many elements as texts, in order.
    List(Vec<TextMatch>),
}

/// What should hold of the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "to", deny_unknown_fields)]
pub enum BrowserMatcher {
    /// The address: exact (relative ones resolve on the app's) or a pattern on the whole.
    HaveUrl {
        /// The address.
        want: TextMatch,
    },
    /// The title.
    HaveTitle {
        /// The title.
        want: TextMatch,
    },
}
