//! What collection tells of a file, without running a test.

use muster_proto::outcome::Problem;
use serde::{Deserialize, Serialize};

/// One file's tests, or why it doesn't load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CollectedFile {
    /// Project-relative path with `/`.
    pub file: String,
    /// In order of declaration.
    pub tests: Vec<CollectedTest>,
    /// COLLECTION_ERROR with its place; then `tests` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// One test with its options merged from its groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CollectedTest {
    /// See `muster_proto::id::TestId`.
    pub id: String,
    /// Group titles, then its own.
    pub title_path: Vec<String>,
    /// Line of its declaration, from 1; 0 = unknown.
    pub line: u32,
    /// Union of all layers, sorted.
    pub tags: Vec<String>,
    /// Innermost; none = configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Innermost; none = configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Agents to run under; empty = the default one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Why it is skipped; `Some("")` = no reason given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// Marked `only`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
}
