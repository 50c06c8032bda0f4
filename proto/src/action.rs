//! What an executor may ask for and a recording may hold: a closed union of actions on described
//! targets.
//!
//! A [`Target`] describes an element as a person would: role, name, text, its row, its place among
//! twins. It never holds a selector or a node id; those live and die with one page.
//!
//! In a recording the texts of a target may hold slots: `{{<JSON pointer>|<spelling>}}` for a
//! `unique()` parameter, `{{id}}` for one id, date or time that the app mints anew in every run.

use std::convert::Infallible;

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

/// A way to scroll: towards what lies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Towards the start.
    Up,
    /// Towards the end.
    Down,
    /// Sideways.
    Left,
    /// Sideways.
    Right,
}

impl Direction {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
            Direction::Left => "left",
            Direction::Right => "right",
        }
    }
}

/// Most times that one action may repeat its key or its scroll.
pub const MAX_TIMES: u32 = 20;
/// How long a long press may last, milliseconds.
pub const HOLD_MS: std::ops::RangeInclusive<u64> = 100..=10_000;
/// How long it lasts unless said otherwise, milliseconds.
pub const DEFAULT_HOLD_MS: u64 = 500;
/// Most files of an upload.
pub const MAX_FILES: usize = 16;
/// Longest text that is scrolled to, characters.
pub const MAX_SOUGHT: usize = 200;

/// One thing done to the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do", deny_unknown_fields)]
pub enum Action<T = Target> {
    /// A primary click.
    Tap {
        /// What.
        target: T,
    },
    /// Two primary clicks in a row.
    DoubleTap {
        /// What.
        target: T,
    },
    /// A primary press that is held.
    #[serde(rename_all = "camelCase")]
    LongPress {
        /// What.
        target: T,
        /// How long, within [`HOLD_MS`].
        #[serde(default = "default_hold", skip_serializing_if = "is_default_hold")]
        hold_ms: u64,
    },
    /// A secondary click.
    RightClick {
        /// What.
        target: T,
    },
    /// Moves an element onto another by the pointer.
    Drag {
        /// What is dragged.
        target: T,
        /// Where it is let go.
        to: T,
    },
    /// Puts text into a field.
    Type {
        /// The field.
        target: T,
        /// The text.
        value: Typed,
        /// Instead of what the field held, or after it. A secret always replaces.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        replace: bool,
    },
    /// Types on the keyboard, into what has the focus. Never a secret.
    TypeText {
        /// The text; in a recording it may hold slots.
        text: String,
    },
    /// A key, with modifiers joined by `+`, sent to the target or to what has the focus.
    Press {
        /// What gets the focus first; none = what has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<T>,
        /// E.g. `Enter`, `Control+A`.
        key: String,
        /// How often, 1 to [`MAX_TIMES`]; each counts as an action.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        times: u32,
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
    /// Scrolls by most of a screen.
    Scroll {
        /// What lies in the area that scrolls; none = the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<T>,
        /// Which way.
        direction: Direction,
        /// How often, 1 to [`MAX_TIMES`]; each counts as an action.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        times: u32,
    },
    /// Scrolls the target into view.
    ScrollTo {
        /// What.
        target: T,
    },
    /// Scrolls until a text is in view, a bounded number of screens.
    ScrollUntil {
        /// What lies in the area that scrolls; none = the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<T>,
        /// A part of the text, in any case, at most [`MAX_SOUGHT`] characters; in a recording it may hold
        /// slots.
        text: String,
        /// Which way.
        direction: Direction,
    },
    /// Gives files of the suite's bundle to a file field.
    Upload {
        /// The field, or what opens its chooser.
        target: T,
        /// 1 to [`MAX_FILES`] project-relative paths.
        files: Vec<String>,
    },
    /// Goes to an address on the app's site: path and query, no origin.
    Navigate {
        /// E.g. `/cart?page=2`.
        path: String,
    },
    /// One step back in history.
    Back {},
}

fn yes() -> bool {
    true
}

fn is_yes(flag: &bool) -> bool {
    *flag
}

fn once() -> u32 {
    1
}

fn is_once(times: &u32) -> bool {
    *times == 1
}

fn default_hold() -> u64 {
    DEFAULT_HOLD_MS
}

fn is_default_hold(millis: &u64) -> bool {
    *millis == DEFAULT_HOLD_MS
}

impl<T> Action<T> {
    /// The element it is done to, if any; of a drag, what is dragged.
    pub fn target(&self) -> Option<&T> {
        match self {
            Action::Tap { target }
            | Action::DoubleTap { target }
            | Action::LongPress { target, .. }
            | Action::RightClick { target }
            | Action::Drag { target, .. }
            | Action::Type { target, .. }
            | Action::Select { target, .. }
            | Action::Check { target, .. }
            | Action::Hover { target }
            | Action::ScrollTo { target }
            | Action::Upload { target, .. } => Some(target),
            Action::Press { target, .. }
            | Action::Scroll { target, .. }
            | Action::ScrollUntil { target, .. } => target.as_ref(),
            Action::TypeText { .. } | Action::Navigate { .. } | Action::Back {} => None,
        }
    }

    /// Every element that it names, in the order of [`Action::try_map`].
    pub fn targets(&self) -> impl Iterator<Item = &T> {
        let to = match self {
            Action::Drag { to, .. } => Some(to),
            _ => None,
        };
        self.target().into_iter().chain(to)
    }

    /// The same action on another form of target, or the first error.
    pub fn try_map<U, E>(self, mut f: impl FnMut(T) -> Result<U, E>) -> Result<Action<U>, E> {
        Ok(match self {
            Action::Tap { target } => Action::Tap { target: f(target)? },
            Action::DoubleTap { target } => Action::DoubleTap { target: f(target)? },
            Action::LongPress { target, hold_ms } => Action::LongPress {
                target: f(target)?,
                hold_ms,
            },
            Action::RightClick { target } => Action::RightClick { target: f(target)? },
            Action::Drag { target, to } => Action::Drag {
                target: f(target)?,
                to: f(to)?,
            },
            Action::Type {
                target,
                value,
                replace,
            } => Action::Type {
                target: f(target)?,
                value,
                replace,
            },
            Action::TypeText { text } => Action::TypeText { text },
            Action::Press { target, key, times } => Action::Press {
                target: target.map(&mut f).transpose()?,
                key,
                times,
            },
            Action::Select { target, label } => Action::Select {
                target: f(target)?,
                label,
            },
            Action::Check { target, checked } => Action::Check {
                target: f(target)?,
                checked,
            },
            Action::Hover { target } => Action::Hover { target: f(target)? },
            Action::Scroll {
                target,
                direction,
                times,
            } => Action::Scroll {
                target: target.map(&mut f).transpose()?,
                direction,
                times,
            },
            Action::ScrollTo { target } => Action::ScrollTo { target: f(target)? },
            Action::ScrollUntil {
                target,
                text,
                direction,
            } => Action::ScrollUntil {
                target: target.map(&mut f).transpose()?,
                text,
                direction,
            },
            Action::Upload { target, files } => Action::Upload {
                target: f(target)?,
                files,
            },
            Action::Navigate { path } => Action::Navigate { path },
            Action::Back {} => Action::Back {},
        })
    }

    /// The same action on another form of target.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Action<U> {
        let Ok(mapped) = self.try_map(|target| Ok::<U, Infallible>(f(target)));
        mapped
    }

    /// How many actions it counts as.
    pub const fn cost(&self) -> u32 {
        match self {
            Action::Press { times, .. } | Action::Scroll { times, .. } => *times,
            _ => 1,
        }
    }

    /// Whether its numbers and lists are within their bounds; the error says which is not.
    pub fn bounded(&self) -> Result<(), String> {
        match self {
            Action::Press { times, .. } | Action::Scroll { times, .. }
                if !(1..=MAX_TIMES).contains(times) =>
            {
                Err(format!("{times} times; 1 to {MAX_TIMES} are possible"))
            }
            Action::LongPress { hold_ms, .. } if !HOLD_MS.contains(hold_ms) => Err(format!(
                "held for {hold_ms} ms; {} to {} are possible",
                HOLD_MS.start(),
                HOLD_MS.end()
            )),
            Action::ScrollUntil { text, .. }
                if text.trim().is_empty() || text.chars().count() > MAX_SOUGHT =>
            {
                Err(format!(
                    "a text to scroll to has 1 to {MAX_SOUGHT} characters"
                ))
            }
            Action::Upload { files, .. } if !(1..=MAX_FILES).contains(&files.len()) => Err(
                format!("{} files; 1 to {MAX_FILES} are possible", files.len()),
            ),
            _ => Ok(()),
        }
    }

    /// Whether it only looks around: its effect need not show on the screen.
    pub const fn only_moves(&self) -> bool {
        matches!(
            self,
            Action::Hover { .. }
                | Action::Scroll { .. }
                | Action::ScrollTo { .. }
                | Action::ScrollUntil { .. }
        )
    }

    /// The verb, for histories and spans.
    pub const fn verb(&self) -> &'static str {
        match self {
            Action::Tap { .. } => "tap",
            Action::DoubleTap { .. } => "double_tap",
            Action::LongPress { .. } => "long_press",
            Action::RightClick { .. } => "right_click",
            Action::Drag { .. } => "drag",
            Action::Type { .. } | Action::TypeText { .. } => "type",
            Action::Press { .. } => "press",
            Action::Select { .. } => "select",
            Action::Check { .. } => "check",
            Action::Hover { .. } => "hover",
            Action::Scroll { .. } => "scroll",
            Action::ScrollTo { .. } | Action::ScrollUntil { .. } => "scroll_to",
            Action::Upload { .. } => "upload",
            Action::Navigate { .. } => "navigate",
            Action::Back {} => "back",
        }
    }
}
