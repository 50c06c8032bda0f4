//! One machine with browsers: it dials a coordinator, runs leased attempts, and keeps the safety
//! net around each.
//!
//! Reading order: [`node`] (stream, slots, leases), [`attempt`] (one test in its worker),
//! [`harness`] (the only door to page, models and secrets), [`executor`] (who decides), [`expect`]
//! (checks), [`replay`] (recordings). `engine` is a crate of its own below this folder.
//! [`harness`] authorizes, performs, counts and redacts; executors and replay can't reach around it.

pub mod attempt;
pub mod executor;
pub mod expect;
pub mod harness;
pub mod node;
pub mod replay;
