//! A coordinator on a real socket with nodes that speak the stream by hand.

mod doors;
mod fixture;
mod leases;
mod restart;
mod runs;
mod settlement;
