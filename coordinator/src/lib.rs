//! The one who decides: takes runs, deals out units, commits results, settles recordings, folds
//! the verdict. It talks to no browser and no model and holds no secret value.
//!
//! Doors in reading order: [`Coordinator`], [`schedule`] (who runs what: pure), [`runs`] (what is
//! kept and what it means), [`verdict`], [`settlement`], `dispatch` (the loop that ties them),
//! [`api`] (the services and their listeners), [`report`]. A new report goes into [`report`]; a new
//! place for runs implements [`runs::RunStore`].

pub mod api;
pub mod config;
mod coordinator;
mod dispatch;
mod feed;
pub mod report;
pub mod runs;
pub mod schedule;
pub mod settlement;
mod spans;
pub mod verdict;
pub mod words;

pub use api::listen::{Listener, SocketFile};
pub use api::{MAX_MESSAGE, problem_of};
pub use config::CoordinatorConfig;
pub use coordinator::Coordinator;
