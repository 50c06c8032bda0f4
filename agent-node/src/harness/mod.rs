//! The only door to the page, to models and to secrets.
//!
//! Executors and replay hold a `&dyn Harness` for one step and nothing else. What they see is
//! redacted once, in [`Harness::observe`]; what they ask for is authorized at dispatch, in
//! [`Harness::perform`]; what they spend is reserved before and counted after.

//!
//! Reading order: this file (the seam), [`AttemptHarness`] in `whole` (one attempt), [`StepHarness`]
//! in `step` (one goal or judgment), then the pure parts: `screen`, `authorize`, `budget`,
//! [`verdict`], [`text`]. A new rule for actions goes into `authorize`; a new form of a secret into
//! the crate `muster-redact`.

mod asking;
mod authorize;
mod beside;
mod budget;
mod denials;
mod dispatch;
mod field;
mod files;
mod keys;
mod location;
mod observation;
pub mod part;
mod points;
mod purse;
mod scope;
mod screen;
mod seek;
mod settle;
mod step;
#[cfg(test)]
mod stories;
pub mod text;
mod vault;
pub mod verdict;
mod whole;

use std::time::Duration;

use async_trait::async_trait;
use muster_engine::NodeId;
use muster_engine::page::Pointer;
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::step::{EventKind, Tier};
use muster_providers::model::{Image, ModelInfo, ModelReply, ModelRequest, TokenUsage};
use std::sync::Arc;

pub use asking::{StepModel, StepModels};
pub use authorize::{Denied, Rules, authorize};
pub use budget::Limits;
pub use denials::{Denial, Denials};
pub use files::{Blobs, Files};
pub use muster_redact::Redactor;
pub(crate) use observation::called;
pub use observation::{Observation, SECURE};
pub use points::At;
pub use purse::Purse;
pub use scope::Scope;
pub use step::{StepGrant, StepHarness, Trace};
pub use vault::{Ground, Vault};
pub use whole::{AttemptHarness, PageError, engine_problem};
pub(crate) use whole::{ERROR_PAGE, LOOK};

/// Why the harness did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError {
    /// Nothing was done: the element is gone or not actionable, or the action breaks a rule. The
    /// executor may choose something else.
    Refused {
        /// ACTION_FAILED, LOCATOR_NOT_FOUND, POLICY_DENIED, …
        code: ErrorCode,
        /// What, which, what next; redacted.
        message: String,
    },
    /// It may have been done and is never repeated.
    Uncertain {
        /// What went wrong; redacted.
        message: String,
    },
    /// The step is over: budget, deadline, cancellation, a dead browser, a model that does not
    /// answer. The executor returns this as it is.
    Stop(Problem),
}

/// An action that was committed, with the screens around it.
#[derive(Clone, Debug)]
pub struct Performed {
    /// What was done, on ids of `before`.
    pub action: Action<NodeId>,
    /// The screen it was chosen on.
    pub before: Arc<Observation>,
    /// The screen after it settled.
    pub after: Arc<Observation>,
    /// Whether the screen's shape or route differs between the two.
    pub changed: bool,
    /// How long it took to settle.
    pub settled_in: Duration,
}

/// A model call as the executor that made it tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldCall {
    /// The model's name at its vendor.
    pub model: String,
    /// What it used.
    pub tokens: TokenUsage,
    /// Millionths of a US dollar; 0 = not known.
    pub cost_microusd: u64,
}

/// What is left of a step's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Actions.
    pub actions: u32,
    /// Model calls, or decisions.
    pub model_calls: u32,
    /// Until the step's deadline.
    pub time: Duration,
}

/// What there is for an executor beside the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Pixels are not closed.
    pub pixels: bool,
    /// The bundle has files to upload.
    pub files: bool,
}

/// The door, for the length of one step.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The current screen, redacted; mints a revision.
    async fn observe(&self) -> Result<Arc<Observation>, StepError>;

    /// Authorizes, does and counts one action on ids of the newest observation, then waits for
    /// its effect. It is also written into the step's trace, from which a recording is made.
    async fn perform(&self, action: Action<NodeId>) -> Result<Performed, StepError>;

    /// [`Harness::perform`] for an action of which a recording says that it changes nothing: its
    /// effect is waited for no longer than 300 ms.
    async fn perform_quiet(&self, action: Action<NodeId>) -> Result<Performed, StepError> {
        self.perform(action).await
    }

    /// The viewport as a picture, every secure field masked. Refused with POLICY_DENIED once pixels
    /// are closed for the attempt, or where masking can't be proved.
    async fn screenshot(&self) -> Result<Image, StepError>;

    /// What stands at a point of the newest picture, pixels from its upper left corner. Refused once
    /// pixels are closed, and where the screen has changed since.
    async fn at(&self, x: u32, y: u32) -> Result<At, StepError>;

    /// Sends the pointer to a bare point of the newest picture; it counts as one action and leaves a gap
    /// in the step's trace. Yields the screens before and after.
    async fn point(
        &self,
        x: u32,
        y: u32,
        pointer: Pointer,
    ) -> Result<(Arc<Observation>, Arc<Observation>), StepError>;

    /// What there is now.
    fn means(&self) -> Means;

    /// Who answers in this tier; none = nobody is configured.
    fn model(&self, tier: Tier) -> Option<ModelInfo>;

    /// Reserves, makes and counts one model call.
    async fn complete(&self, tier: Tier, request: &ModelRequest) -> Result<ModelReply, StepError>;

    /// Counts a model call that an executor made by itself, by its own word.
    fn told(&self, tier: Tier, call: &ToldCall) -> Result<(), StepError>;

    /// Writes down what a guard or a decider did.
    fn note(&self, kind: EventKind, name: &str, detail: &str);

    /// Reserves and counts one decision made without a language model.
    fn decide(&self) -> Result<(), StepError>;

    /// What is left.
    fn budget(&self) -> Budget;

    /// Lets `delay` pass, or ends with the step's deadline or cancellation.
    async fn pause(&self, delay: Duration) -> Result<(), StepError>;
}
