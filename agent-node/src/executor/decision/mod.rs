//! The decision executor: a goal is reached by choices, never by generated actions.
//!
//! Each turn is one [`Request`]: the goal, the page, a table of what can be acted on, what may be
//! typed, and a question. A [`Chooser`] answers with one of what is offered; the executor checks
//! that it was offered, does it through the harness, and asks again. A chooser that believes to be
//! done is asked once more on a fresh screen.
//!
//! Choosers stand in a row ([`run`]): the built-in [`keyless`] one, then a [`service`], then a model
//! ([`chat`]). One that declines, is unsure or fails hands the goal to the next for the rest of the
//! step. Service and model get the request as closed [`questions`]; a text model may write what they
//! have typed ([`writer`]). To add a chooser, implement the trait in a file of its own.

mod chat;
mod compile;
pub mod keyless;
mod questions;
mod random;
mod request;
mod run;
mod service;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod writer;

use async_trait::async_trait;
use muster_proto::outcome::Problem;

use crate::harness::{Harness, StepError};

pub use chat::Chat;
pub use random::RandomChooser;
pub use request::{
    Answer, Around, AroundKind, Choice, Dialog, Do, Effect, MAX_OPTIONS, Offered, Operation,
    PageState, Past, Question, Request, Row,
};
pub use run::{DecisionExecutor, Gates};
pub use service::Service;
pub(super) use values::secret_names;

/// Chooses among what is offered.
#[async_trait]
pub trait Chooser: Send + Sync {
    /// Its name, for recordings, events and reports.
    fn name(&self) -> &'static str;

    /// Whether it can say that a statement holds.
    fn judges(&self) -> bool {
        false
    }

    /// The answer to one request, counted through `door`. Whatever was not offered is refused by
    /// the executor.
    async fn choose(&self, request: &Request, door: &dyn Harness) -> Result<Choice, Unanswered>;
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// It can't be reached: the next chooser is asked; without one the step ends so.
    Failed(Problem),
    /// The step is over.
    Ended(StepError),
}

impl From<StepError> for Unanswered {
    fn from(ended: StepError) -> Self {
        Unanswered::Ended(ended)
    }
}
