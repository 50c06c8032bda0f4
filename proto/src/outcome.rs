//! How a unit and a run end.

use serde::{Deserialize, Serialize};

use crate::code::{Class, ErrorCode};

/// How one attempt or one unit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every step did what it should.
    Passed,
    /// Passed after at least one failed attempt. Counts as passed. Units only.
    Flaky,
    /// A step or check failed, whatever its class.
    Failed,
    /// The test's own time was up.
    TimedOut,
    /// The test skipped itself, or was skipped by name.
    Skipped,
    /// The run was stopped before the unit ended.
    Interrupted,
}

/// An error that a person reads: stable code, one message, where it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Problem {
    /// The stable code.
    pub code: ErrorCode,
    /// What, which, what next; redacted; at most 8192 bytes.
    pub message: String,
    /// The place in the user's source, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What a failed check wanted, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What it saw, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// At most eight locators that come close to the one that did not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<String>,
}

impl Problem {
    /// A problem with a code and a message alone.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place: None,
            expected: None,
            actual: None,
            near: Vec::new(),
        }
    }

    /// The class of its code.
    pub fn class(&self) -> Class {
        self.code.class()
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Problem {}

/// A place in the user's source, before lowering.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Place {
    /// Path relative to the project, with `/`.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 units, from 1; 0 = unknown.
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
