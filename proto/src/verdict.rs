//! What an executor or judge says at the end of a step. The harness validates it; nothing else
//! turns a model's word into an outcome.

use serde::{Deserialize, Serialize};

use crate::code::ErrorCode;

/// An executor's verdict on a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verdict {
    /// How it went.
    pub status: VerdictStatus,
    /// What was done or why not, 1 to 2000 characters.
    pub summary: String,
    /// The reason of a verdict other than `passed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
}

/// How a goal went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictStatus {
    /// The goal is reached.
    Passed,
    /// The product did not do what the goal asks.
    Failed,
    /// No product verdict could be reached.
    Blocked,
}

/// A judge's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Judgment {
    /// Whether the statement holds on the screen.
    pub answer: Answer,
    /// Why, for people.
    pub explanation: String,
}

/// Three answers: not knowing is one of them and fails the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// The screen doesn't tell.
    Inconclusive,
}
