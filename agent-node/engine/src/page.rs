//! The seam to a page. Every call ends within its deadline.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::action::Direction;
use muster_proto::guard::Guard;
use muster_proto::secret::Secret;
use muster_suite::locator::Locator;
use muster_suite::op::OptionChoice;
use serde::Serialize;

use crate::snapshot::{Found, NodeId, Snapshot};

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Absolute address; `about:blank` before anything was opened.
    pub url: String,
    /// Its title.
    pub title: String,
}

/// Moves in history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// Loads the same page again.
    Reload,
    /// One back.
    Back,
    /// One forward.
    Forward,
}

/// Text to type: plain, or a secret that no error and no log may print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// As it stands.
    Plain(String),
    /// A secret, and what its field must still be when it is typed.
    Secret(Secret, Sink),
}

/// What a field must be at the moment when a secret is typed into it; checked in the page, in the
/// same breath as the typing. The default demands nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sink {
    /// Origins of which its own document must have one; none = any.
    pub origins: Option<Vec<String>>,
    /// It must be a secure field.
    pub secure: bool,
    /// A person must be able to see it.
    pub seen: bool,
}

/// What is done to one element. Trusted input, after the element is attached, visible, stable,
/// enabled and receives events at its centre.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gesture {
    /// A primary click.
    Tap,
    /// Two primary clicks in a row.
    DoubleTap,
    /// A primary press that is held this long.
    LongPress(Duration),
    /// A secondary click.
    RightClick,
    /// Pressed, moved to the middle of the other element and let go there.
    Drag(NodeId),
    /// Replaces the field's text.
    Fill(Input),
    /// Types after the field's text.
    Append(String),
    /// Focuses, then presses.
    Press(String),
    /// Puts a checkbox, radio or switch into a state; no-op if it is there.
    SetChecked(bool),
    /// Picks an option of a select.
    Select(OptionChoice),
    /// Moves the pointer over it.
    Hover,
    /// Gives these files of this machine to the file field that it is or stands for.
    Upload(Vec<PathBuf>),
    /// Gives it the focus.
    Focus,
    /// Scrolls it into view.
    ScrollIntoView,
    /// Scrolls the nearest area around it that can by most of its size; at its end nothing happens.
    Scroll(Direction),
}

/// What the pointer does at a point of the viewport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// A primary click.
    Tap,
    /// It moves there.
    Hover,
}

/// Why the page did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The element is gone; says what it was. Nothing was done.
    #[error("{id} ({was}) is no longer on the page")]
    NodeStale {
        /// The id.
        id: NodeId,
        /// Role and name when it was last seen.
        was: String,
    },
    /// The element can't take the gesture; nothing was done.
    #[error("{what} can't be acted on: {why}")]
    NotActionable {
        /// Role and name.
        what: String,
        /// Hidden, disabled, moving, covered by what.
        why: String,
    },
    /// The element is not what was authorized any more; nothing was done.
    #[error("{what} is not what was authorized: {why}")]
    Unfit {
        /// Role and name.
        what: String,
        /// What it is now.
        why: String,
        /// The rule.
        guard: Guard,
    },
    /// The gesture began and its end is unknown: it is never repeated.
    #[error("{what} may have been done: {why}")]
    MayHaveCommitted {
        /// Gesture and element.
        what: String,
        /// What went wrong.
        why: String,
    },
    /// Time is up; nothing was done.
    #[error("{what} took longer than {millis} ms")]
    Timeout {
        /// What was waited for.
        what: String,
        /// The deadline.
        millis: u64,
    },
    /// The address could not be loaded.
    #[error("{url} did not load: {reason}")]
    Navigation {
        /// Where it ended, redirections followed; without credentials.
        url: String,
        /// The browser's error, e.g. `net::ERR_CONNECTION_REFUSED`.
        reason: String,
    },
    /// A bad argument (key, pattern, option).
    #[error("{0}")]
    Invalid(String),
    /// It can do nothing any more, and will not answer.
    #[error("the page is stuck: {0}")]
    Stuck(String),
    /// The browser is gone. Fatal for its pages.
    #[error("the browser died: {0}")]
    Dead(String),
}

/// Something that happened beside the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A window opened, and is the page now.
    WindowOpened,
    /// The window that was the page closed, and the one that had opened it is the page again.
    WindowClosed,
    /// A dialog was answered.
    Dialog {
        /// `alert`, `confirm` or `prompt`.
        kind: String,
        /// What it said, at most 2000 characters.
        message: String,
    },
    /// A download ended.
    Download {
        /// What the app called it.
        name: String,
        /// Its size; none = it did not come whole, or was not wanted.
        bytes: Option<u64>,
    },
    /// Something was stopped.
    Denied {
        /// The rule.
        guard: Guard,
        /// What was stopped.
        what: String,
    },
}

/// Characters of a dialog that are kept.
const DIALOG_LENGTH: usize = 2_000;

/// Characters of a file's name that are kept.
const NAME_LENGTH: usize = 200;

impl Notice {
    /// A download ended; of what size, if it came whole.
    pub fn download(name: &str, bytes: Option<u64>) -> Self {
        Notice::Download {
            name: name.chars().take(NAME_LENGTH).collect(),
            bytes,
        }
    }

    /// A dialog was answered.
    pub fn dialog(kind: &str, message: &str) -> Self {
        Notice::Dialog {
            kind: kind.into(),
            message: message.chars().take(DIALOG_LENGTH).collect(),
        }
    }
}

/// The windows of one context, of which the newest is the page.
#[async_trait]
pub trait Page: Send + Sync {
    /// The engine's name, part of every recording's key, e.g. `chromium`.
    fn engine(&self) -> &'static str;
    /// Loads an address and waits until its document is complete.
    async fn goto(&self, url: &str, deadline: Duration) -> Result<(), EngineError>;
    /// Moves in history and waits likewise.
    async fn travel(&self, travel: Travel, deadline: Duration) -> Result<(), EngineError>;
    /// Where it is.
    async fn location(&self, deadline: Duration) -> Result<Location, EngineError>;
    /// Whether the page is on its way to another: a form was sent, a link was followed. A gesture
    /// that leads away may have returned before this turns true.
    fn loading(&self) -> bool;
    /// The visible screen, in one round trip.
    async fn snapshot(&self, deadline: Duration) -> Result<Snapshot, EngineError>;
    /// Every match, hidden ones included, in document order; `attribute` is read off each.
    async fn find(
        &self,
        locator: &Locator,
        attribute: Option<&str>,
        deadline: Duration,
    ) -> Result<Vec<Found>, EngineError>;
    /// Does it once, waiting for the element to be ready within the deadline.
    async fn perform(
        &self,
        node: NodeId,
        gesture: &Gesture,
        deadline: Duration,
    ) -> Result<(), EngineError>;
    /// Presses a key on whatever has the focus.
    async fn press(&self, key: &str, deadline: Duration) -> Result<(), EngineError>;
    /// Types on the keyboard, a key a character, into whatever has the focus.
    async fn type_text(&self, text: &str, deadline: Duration) -> Result<(), EngineError>;
    /// Scrolls the page, or where it doesn't scroll its largest area that does, by most of its size.
    async fn scroll(&self, direction: Direction, deadline: Duration) -> Result<(), EngineError>;
    /// Elements at a point of the viewport (CSS px), the innermost first, each that a snapshot gave an
    /// id. None at a place that shows a picture of its own, such as a canvas.
    async fn hit(&self, at: (u32, u32), deadline: Duration) -> Result<Vec<NodeId>, EngineError>;
    /// Sends the pointer there, whatever it meets.
    async fn point(
        &self,
        at: (u32, u32),
        pointer: Pointer,
        deadline: Duration,
    ) -> Result<(), EngineError>;
    /// Forgets cookies and storage; the page goes blank.
    async fn clear_state(&self, deadline: Duration) -> Result<(), EngineError>;
    /// The viewport as PNG, or as JPEG of quality 80 where that is smaller, every secure field
    /// blackened; refused as [`EngineError::Unfit`] where that can't be proved.
    async fn screenshot(&self, deadline: Duration) -> Result<Vec<u8>, EngineError>;
    /// What happened beside the page since the last call, in order, a bounded number. Dialogs are
    /// answered at once: alerts are accepted, the rest dismissed.
    fn notices(&self) -> Vec<Notice>;
    /// Closes page and context.
    async fn close(&self);
}
