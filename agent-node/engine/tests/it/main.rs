//! The engine against a real browser.
#![allow(clippy::unwrap_used, reason = "this whole crate is tests")]

mod act;
mod death;
mod fill;
mod locate;
mod picture;
mod roles;
mod sink;
mod snapshot;
mod support;
mod travel;
mod verbs;
mod windows;
