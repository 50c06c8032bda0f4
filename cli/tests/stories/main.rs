//! Stories of the whole product, told through the real `muster` binary, a real browser and the
//! demo shop. One binary: linking is the slow part.

mod accname;
mod bad_input;
mod fleet;
mod house;
mod leftovers;
mod replay;
mod support;
mod telemetry;
