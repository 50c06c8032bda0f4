//! The shared words of Muster and its wire.
//!
//! What crosses a wire or is kept on a disk is spelled here, once: ids, error codes, outcomes,
//! actions, recordings, step records, verdicts, and the generated `muster.v1` messages.
//! This room has no I/O and no clock; every other room depends on it and it depends on none.
//!
//! Reading order: [`id`], [`code`], [`outcome`], [`action`], [`recording`], [`step`], [`verdict`],
//! [`secret`], [`guard`], then the wire in [`v1`]. A new error code goes into [`code`] and gets a page in
//! `docs/errors/`; a new action goes into [`action`] and the compiler leads from there.
#![warn(missing_docs)]

pub mod action;
pub mod canonical;
pub mod code;
pub mod guard;
pub mod id;
pub mod outcome;
pub mod recording;
pub mod secret;
pub mod step;
pub mod verdict;
pub mod wire;

/// The wire: messages and services of the package `muster.v1`, generated from `proto/muster/v1`.
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod v1 {
    tonic::include_proto!("muster.v1");
}
