//! The engine against a real browser.

mod snapshot;
mod support;
