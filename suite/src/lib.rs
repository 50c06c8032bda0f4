//! What people write, and how it is taken apart: `muster.toml`, test ids, the collected manifest,
//! the packed bundle, the step IR ([`op`]) and the frames between a node and its test worker.
//!
//! The interpreter itself is the leaf crate `suite/script`; nothing here runs user code.
//!
//! Reading order: [`config`], [`id`], [`collect`], [`select`] (what runs), [`bundle`], then [`op`]
//! with [`locator`], [`frame`] with [`codec`]. A new configuration key goes into [`config`] and its
//! range into `config/check.rs`; a new step goes into [`op`] and the compiler leads from there.
#![warn(missing_docs)]

pub mod bundle;
pub mod codec;
pub mod collect;
pub mod config;
pub mod frame;
pub mod glob;
pub mod id;
pub mod locator;
pub mod op;
pub mod select;
pub mod text;
