//! The shape of `report.json`: camelCase, one version, read again by `--last-failed` and by the
//! durations of the next run. Readers skip fields that they don't know.
//!
//! History of [`SCHEMA`]: 1 = first.

use muster_proto::outcome::{Problem, Status};
use muster_proto::step::{Event, LedgerRow, StepRecord, Usage};
use serde::{Deserialize, Serialize};

/// Version of [`Report`].
pub const SCHEMA: u32 = 1;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The run.
    pub run_id: String,
    /// The project.
    pub project: String,
    /// When it was submitted, RFC 3339 UTC.
    pub started_at: String,
    /// When its last fact was written, RFC 3339 UTC; empty while it goes on.
    pub ended_at: String,
    /// `passed`, `failed`, `blocked`, `error` or `interrupted`; empty while it goes on.
    pub verdict: String,
    /// What the process exits with.
    pub exit_code: u32,
    /// Set when the run was stopped before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// All but `expected` sum to `expected`.
    pub counts: Counts,
    /// Sums over all attempts.
    pub totals: Totals,
    /// Every expected unit, in collection order.
    pub units: Vec<UnitReport>,
}

/// Why a run was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// In words.
    pub reason: String,
    /// The condition; none = a person did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Expected units by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All of them.
    pub expected: u32,
    /// At the first try.
    pub passed: u32,
    /// At a later try; counts as passed.
    pub flaky: u32,
    /// Timed out ones included.
    pub failed: u32,
    /// By name or by themselves.
    pub skipped: u32,
    /// Leased when the run stopped.
    pub interrupted: u32,
    /// Never leased.
    pub never_run: u32,
}

/// Sums over all attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// What was used.
    pub ai: Usage,
    /// The same by model and by what it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<LedgerRow>,
    /// How goals met the cache.
    pub cache: CacheRow,
}

/// How goals met the cache: `goals` = `replayed` + `handed_off` + `missed`; the rest counts
/// recordings at settlement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheRow {
    /// Goals that looked for a recording.
    pub goals: u64,
    /// Reached with no model call and no decision.
    pub replayed: u64,
    /// Replayed in part.
    pub handed_off: u64,
    /// Not replayed.
    pub missed: u64,
    /// New or changed recordings.
    pub saved: u64,
    /// Recordings that held.
    pub kept: u64,
    /// Goals that no later check verified.
    pub unconfirmed: u64,
    /// Recordings that no longer held.
    pub evicted: u64,
    /// Nothing to write.
    pub no_change: u64,
    /// Recordings that could not be written.
    pub not_written: u64,
    /// Of `replayed`, those that another node had recorded.
    pub replayed_on_other_node: u64,
}

/// One expected result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitReport {
    /// Its id, the same in every run.
    pub unit_id: String,
    /// Its test's id.
    pub test_id: String,
    /// Suite titles, then the test's own.
    pub title_path: Vec<String>,
    /// Relative to the project, with `/`.
    pub file: String,
    /// From 1; 0 = unknown.
    pub line: u32,
    /// Target name.
    pub target: String,
    /// Agent name.
    pub agent: String,
    /// From 0.
    pub repeat: u32,
    /// How it ended.
    pub status: Status,
    /// Why it failed or never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<String>,
    /// Of the last attempt, milliseconds; 0 = none.
    pub duration_ms: u64,
    /// Leases that were lost.
    pub lost: u32,
    /// Committed attempts, oldest first.
    pub attempts: Vec<AttemptReport>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptReport {
    /// Product retries before it.
    pub r#try: u32,
    /// Leases before and including its own.
    pub epoch: u64,
    /// The node that ran it.
    pub node: String,
    /// How it ended.
    pub status: Status,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Failures after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<Problem>,
    /// Milliseconds.
    pub duration_ms: u64,
    /// What it used.
    pub usage: Usage,
    /// Whether `steps`, `console` and `screen_at_failure` are known: the attempt's record was there.
    pub recorded: bool,
    /// Its steps; a goal's cache part says what became of its recording.
    pub steps: Vec<StepRecord>,
    /// Console lines of the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub console: Vec<String>,
    /// The screen as text when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen_at_failure: Option<String>,
    /// What guards did outside of steps, e.g. connections that were denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Whether pixels were closed: a secret was filled or seen. True where that is not known.
    #[serde(default)]
    pub tainted: bool,
}
