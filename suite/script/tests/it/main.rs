//! The room through its doors: files are lowered, packed, collected and run over a duplex pipe.

mod support;

mod containment;
mod packing;
mod stories;
mod types;
