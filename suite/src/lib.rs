//! What people write, and how it is taken apart: `muster.toml`, test ids, the collected manifest,
//! the packed bundle, the step IR ([`op`]) and the frames between a node and its test worker.
//!
//! The interpreter itself is the leaf crate `suite/script`; nothing here runs user code.
#![warn(missing_docs)]

pub mod bundle;
pub mod collect;
pub mod config;
pub mod frame;
pub mod locator;
pub mod op;
