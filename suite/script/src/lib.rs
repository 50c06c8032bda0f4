//! The JavaScript engine's room: TypeScript is lowered and packed here, and the test worker runs it.
//!
//! Two halves that meet only in a bundle. On the client: [`discover`] finds test files, [`pack`]
//! lowers what they reach ([`lower`]) and refuses what may not travel. In the worker process:
//! [`worker_main`] (or [`serve`] over any pipe) holds an interpreter and nothing else, evaluates the
//! modules of one frame and asks its parent for every step.
//!
//! A new call of the test API is a method in `prelude/*.js` that sends an `Op`, its declaration in
//! `types/muster.d.ts`, and a line in `tests/data/ops.ts`, whose golden shows what is sent.
#![warn(missing_docs)]

mod discover;
mod lower;
mod pack;
mod places;
mod prelude;
mod resolve;
mod worker;

pub use self::discover::discover;
pub use self::lower::{Lowered, Resolve, lower};
pub use self::pack::{MAX_FILE, collect_request, pack, run_modules};
pub use self::worker::{WorkerError, serve, worker_main};

/// TypeScript declarations of the modules `muster` and `e2e`, for editors.
pub const TYPES: &str = include_str!("../types/muster.d.ts");
