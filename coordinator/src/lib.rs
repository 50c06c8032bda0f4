//! The one who decides: takes runs, deals out units, commits results, settles recordings, folds
//! the verdict. It talks to no browser and no model and holds no secret value.
//!
//! Doors in reading order: [`schedule`] (who runs what: pure), [`runs`] (what is kept),
//! [`verdict`], [`settlement`], [`dispatch`] (the loop that ties them), [`api`] (the services),
//! [`report`]. A new report goes into [`report`]; a new place for runs implements
//! [`runs::RunStore`].

pub mod runs;
pub mod schedule;
pub mod settlement;
pub mod verdict;
pub mod words;
