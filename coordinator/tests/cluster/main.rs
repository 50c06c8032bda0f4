//! A coordinator on a real socket with nodes that speak the stream by hand.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod doors;
mod fixture;
mod leases;
mod logs;
mod restart;
mod runs;
mod settlement;
