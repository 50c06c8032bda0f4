//! What a node rents: browsers, models and decision services. Also the one way to start a child
//! process.
//!
//! Seams: [`browser::BrowserProvider`], [`model::ModelClient`] and [`decision::DecisionClient`]. To add
//! a vendor, implement the trait in a file of its own and list it where the node builds its providers.
//! [`child`] starts processes in groups that a supervisor reaps, whatever kills us.
#![warn(missing_docs)]

pub mod browser;
pub mod child;
pub mod decision;
mod endpoint;
pub mod http;
pub mod model;

pub use endpoint::BadAddress;
