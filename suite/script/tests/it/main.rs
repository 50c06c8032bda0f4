//! The room through its doors: files are lowered, packed, collected and run over a duplex pipe.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

mod support;

mod containment;
mod packing;
mod stories;
mod types;
