//! The engine against a real browser.

mod accname;
mod act;
mod death;
mod fill;
mod locate;
mod roles;
mod snapshot;
mod support;
mod travel;
