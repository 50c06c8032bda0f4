//! Stories of the whole product, told through the real `muster` binary, a real browser and the
//! demo shop. One binary: linking is the slow part.

#![allow(
    clippy::unwrap_used,
    reason = "a story that can't be set up has failed"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "stories start the product as its user does and wait for it by the wall"
)]

mod accname;
mod bad_input;
mod fleet;
mod house;
mod leftovers;
mod limits;
mod replay;
mod support;
mod telemetry;
