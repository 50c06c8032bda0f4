//! The page under test: one seam, [`Page`], and the engine that drives Chromium through DevTools.
//!
//! Only this crate links chromiumoxide. What a page holds is told by [`Snapshot`]: raw text, not
//! yet redacted; only the harness may see it.
//! Reading order: [`page`], [`snapshot`], then `chromium` and the injected script. Rooms above
//! test against [`fake::FakePage`].

pub mod chromium;
pub mod fake;
pub mod page;
pub mod snapshot;

pub use chromium::{Chromium, PageOptions};
pub use page::{EngineError, Gesture, Input, Location, Notice, Page, Travel};
pub use snapshot::{Found, Node, NodeId, Snapshot, States};
