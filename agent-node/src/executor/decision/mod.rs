//! The decision executor: a goal is reached by choices, never by generated text.
//!
//! Each turn is one [`Request`]: the goal, the page, a table of what can be acted on, what may be
//! typed, and a question. A [`Chooser`] answers with one of what is offered; the executor checks
//! that it was offered, does it through the harness, and asks again. A chooser that believes to be
//! done is asked once more on a fresh screen. To add a chooser, implement the trait in a file of its
//! own.

pub mod keyless;
mod random;
mod request;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod values;

use async_trait::async_trait;

pub use random::RandomChooser;
pub use request::{
    Answer, Around, AroundKind, Choice, Dialog, Do, Effect, MAX_OPTIONS, Offered, Operation,
    PageState, Past, Question, Request, Row,
};
pub use run::{DecisionExecutor, Gates};
pub(super) use values::secret_names;

/// Chooses among what is offered.
#[async_trait]
pub trait Chooser: Send + Sync {
    /// Its name, for recordings and reports.
    fn name(&self) -> &'static str;
    /// The answer to one request. Whatever was not offered is refused by the executor.
    async fn choose(&self, request: &Request) -> Choice;
}
