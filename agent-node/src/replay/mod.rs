//! Recordings of goals: how one is made, found, opened, replayed and checked, with no model call.
//!
//! The rule of the room: what a recording can't prove becomes a miss or a hand-off to the
//! executor, never a guess and never a pass. Actions that ran prove nothing; at least one recorded
//! effect has to happen while they run ([`check_end`]).
//!
//! Reading order: [`replay_key`] (what a recording depends on), [`record`] (a trace becomes a
//! recording, or a reason why not), [`seal`] and [`open`] (its envelope), [`run`] (the loop, the
//! only part that is not pure), [`locate`] (a described element on a live screen), [`check_end`],
//! [`same_flow`]. Below them: `volatile` (ids, dates and clocks in text), `template` (slots of
//! `unique()` values), `wording` (how a text is stored and compared), `screen` (rows and groups
//! around a node), `anchor` and `effects` (what tells that a goal was reached), `derived` (values that
//! the goal does not hold), `route` (where a screen is).
//!
//! A new way to find an element is a rung in `matching`; a new reason not to record is a variant
//! of [`NotRecorded`]; a new kind of minted text is a line in `volatile`. Each changes what old
//! recordings mean: raise [`POLICY`] with it.

mod anchor;
mod derived;
mod describe;
mod effects;
mod end;
mod key;
mod line;
mod matching;
mod open;
mod record;
mod route;
mod run;
mod same;
mod screen;
mod template;
mod volatile;
mod wording;

#[cfg(test)]
mod fixture;

pub use describe::describe;
pub use end::{End, Seen, check_end};
pub use key::{KeyParts, POLICY, replay_key};
pub use line::words;
pub use matching::{Match, Rung, locate};
pub use open::{Opened, Unusable, open, seal};
pub use record::{NotRecorded, RecordInput, record};
pub use route::{on_route, route};
pub use run::{ReplayOutcome, run};
pub use same::same_flow;
