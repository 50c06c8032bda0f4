//! Checks that no model touches: matchers on locators and on the browser, polled until they hold.
//!
//! [`check`] and [`near`] are pure: they compare what one look found, real text and all; nothing of
//! it leaves the node but through the outbox's redactor. [`poll`] looks again. A new matcher is a
//! variant in `muster_suite::op`; the compiler leads to `check`.

pub mod check;
pub mod near;
pub mod poll;
mod text;
pub(crate) mod words;

pub use check::{Outcome, ambiguous};
pub use near::not_found;
pub use poll::{CADENCE, expect_browser, expect_locator};
