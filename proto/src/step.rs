//! The full record of an attempt: one blob, named by its commit. Written by nodes, read by reports.
//!
//! History of [`SCHEMA`]: 1 = first.

use serde::{Deserialize, Serialize};

use crate::outcome::{Place, Problem, Status};

/// Version of [`AttemptRecord`].
pub const SCHEMA: u32 = 1;

/// Everything that happened in one attempt, redacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The node that ran it.
    pub node: String,
    /// RFC 3339 UTC, milliseconds.
    pub started_at: String,
    /// Wall time, milliseconds.
    pub duration_ms: u64,
    /// How it ended.
    pub status: Status,
    /// The first failure, if any; soft failures are joined into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Failures after the first (hooks, soft checks after a throw).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<Problem>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<String>,
    /// The steps, in order of start; at most 10000.
    pub steps: Vec<StepRecord>,
    /// Console lines of the test, at most 1000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub console: Vec<String>,
    /// The screen as text when the attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen_at_failure: Option<String>,
    /// What guards and deciders did outside of steps, at most 1000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Whether pixels were closed: a secret was filled, or a piece of one was seen.
    #[serde(default)]
    pub tainted: bool,
}

/// What a guard or a decider did, for people; redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// From the attempt's start, milliseconds.
    pub at_ms: u64,
    /// What happened.
    pub kind: EventKind,
    /// The rule (a [`Guard`](crate::guard::Guard)'s name) or the decider.
    pub name: String,
    /// What, which; at most 300 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Kinds of [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A policy was asked and allowed it: a secret's fill, an upload.
    Allowed,
    /// A guard refused it.
    Denied,
    /// A loop was warned or ended.
    Stalled,
    /// A decider handed the goal to the next one.
    Hop,
    /// Nothing was judged, but people should know it: a window, a dialog, a download, a remote
    /// executor's words.
    Noted,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Sequence number in the attempt, from 0.
    pub seq: u32,
    /// What kind of step.
    pub kind: StepKind,
    /// One line for people, e.g. `tap button "Pay"`.
    pub title: String,
    /// Where it stands in the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// How it ended.
    pub status: StepStatus,
    /// From the attempt's start, milliseconds.
    pub start_ms: u64,
    /// Milliseconds.
    pub duration_ms: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// For goals and judgments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStep>,
}

/// Kinds of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A goal or a judgment.
    Agent,
    /// An action or a read on a locator.
    Locator,
    /// A check on a locator or the browser.
    Assertion,
    /// A step on the app as a whole (open, back, …).
    App,
    /// A step on the browser (goto, reload, …).
    Browser,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepStatus {
    /// It did what it should.
    Passed,
    /// It did not.
    Failed,
    /// A goal that reached no product verdict.
    Blocked,
    /// Its time was up.
    TimedOut,
    /// The runner cancelled it.
    Cancelled,
}

/// What a goal or judgment used and how the cache took part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStep {
    /// `act`, `assert`, `waitFor` or `extract`.
    pub call: String,
    /// The goal or statement, redacted.
    pub instruction: String,
    /// The configured agent's name.
    pub agent: String,
    /// The executor that ran, or would have run.
    pub executor: String,
    /// What was used.
    pub usage: Usage,
    /// The same by model and tier; empty where no model was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerRow>,
    /// What guards and deciders did, at most 1000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// What the executor said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The actions that were done, one line each, replayed ones first; at most 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// The cache's part; none where the call is never cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheReport>,
    /// Whether a later check verified it.
    #[serde(default)]
    pub verified: bool,
}

/// What was used, counted by the harness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Calls to a language model, repairs included.
    pub model_calls: u64,
    /// Choices made by a decider without a language model.
    pub decisions: u64,
    /// Actions committed to the page, replayed ones included.
    pub actions: u64,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Of these, read from the vendor's prompt cache.
    pub cached_tokens: u64,
    /// Of the input tokens, written to the vendor's prompt cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Of these, spent on reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Cost, millionths of a US dollar; 0 where no price is known.
    #[serde(default)]
    pub cost_microusd: u64,
    /// Whether a figure above is reckoned: from the price table, or because a vendor told no usage.
    #[serde(default)]
    pub estimated: bool,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.model_calls += other.model_calls;
        self.decisions += other.decisions;
        self.actions += other.actions;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cost_microusd += other.cost_microusd;
        self.estimated |= other.estimated;
    }
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// To drive the app.
    Act,
    /// To judge the screen.
    Judge,
    /// To go on where a replay stopped.
    Heal,
    /// To choose among what is offered.
    Decide,
    /// To write what is typed.
    Text,
}

impl Tier {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Act => "act",
            Tier::Judge => "judge",
            Tier::Heal => "heal",
            Tier::Decide => "decide",
            Tier::Text => "text",
        }
    }
}

/// What one model was used for in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerRow {
    /// What for.
    pub tier: Tier,
    /// The model's name at its vendor.
    pub model: String,
    /// What was used; `actions` and `decisions` stay 0.
    pub usage: Usage,
    /// Time spent waiting for it, milliseconds.
    pub latency_ms: u64,
}

/// How a goal met the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheReport {
    /// The replay key.
    pub key: String,
    /// Whether it replayed.
    pub mode: CacheMode,
    /// Why not, or why only in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CacheReason>,
    /// The reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Actions that replayed.
    pub replayed_actions: u32,
    /// Actions in the recording; 0 = none found.
    pub total_actions: u32,
    /// Targets that were found by another rung of the ladder: the rung's name for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relocated: Vec<String>,
    /// The node that recorded what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_by_node: Option<String>,
    /// What became of the recording at settlement; filled in by the report from the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<WriteState>,
    /// Why the live step could not be recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_recorded: Option<String>,
}

/// How much of a goal replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// All of it, with no model call and no decision.
    Replayed,
    /// Some of it; the executor went on from there.
    HandedOff,
    /// None of it.
    Missed,
    /// The cache is off for this step.
    Off,
}

/// Why a goal did not replay whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheReason {
    /// Nothing is recorded under the key.
    NoEntry,
    /// A retry never replays.
    Retry,
    /// The entry can't be read or breaks its schema.
    InvalidEntry,
    /// The entry documents a flow that can't replay.
    Truncated,
    /// The start screen's route differs.
    WrongContext,
    /// A recorded element is not there.
    TargetNotFound,
    /// More than one element fits.
    TargetAmbiguous,
    /// The page refused an action.
    ActionFailed,
    /// An action may have been done in part.
    ActionUncertain,
    /// The end doesn't look as recorded.
    EndMismatch,
    /// The store could not be reached.
    StoreUnavailable,
}

/// What became of a recording at settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteState {
    /// New or changed, and verified.
    Saved,
    /// Replayed as it stands.
    Kept,
    /// No later check verified it: add a check after the goal.
    Unconfirmed,
    /// It no longer holds and is gone.
    Evicted,
    /// Nothing to write.
    NoChange,
    /// It could not be written: too large, or the store failed.
    NotWritten,
}
