//! Frames between a node (or the client, when it collects) and a test worker: `worker.v1`.
//!
//! A frame is a 4-byte big-endian length and that many bytes of JSON, at most [`MAX_FRAME`].
//! The parent speaks first ([`ToWorker::Collect`] or [`ToWorker::Run`]); the worker answers with
//! calls and ends with [`FromWorker::Collected`], [`FromWorker::Done`] or [`FromWorker::Broken`].
//! Then it exits; closing its input makes it exit at once.
//!
//! History of [`VERSION`]: 1 = first; 2 = [`FromWorker::Failed`] and [`FromWorker::BodyEnded`].

use std::collections::BTreeMap;

use muster_proto::outcome::{Place, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::collect::CollectedFile;
use crate::op::Op;

/// Version of the frames; parent and worker are of one binary, so it must agree exactly.
pub const VERSION: u32 = 2;

/// Largest frame, bytes.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// A module as the interpreter takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModuleSource {
    /// Lowered JavaScript.
    pub js: String,
    /// Its source map (JSON), for places in failures.
    pub map: String,
}

/// Limits of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Heap, bytes.
    pub memory_bytes: u64,
    /// Native stack, bytes.
    pub stack_bytes: u64,
    /// Longest stretch of JavaScript without a step, milliseconds.
    pub slice_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 * 1024 * 1024,
            stack_bytes: 1024 * 1024,
            slice_ms: 5_000,
        }
    }
}

/// From the parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "frame", deny_unknown_fields)]
pub enum ToWorker {
    /// Load these files and tell their tests; no body runs.
    #[serde(rename_all = "camelCase")]
    Collect {
        /// [`VERSION`].
        version: u32,
        /// Every module of the bundle, by project-relative path.
        modules: BTreeMap<String, ModuleSource>,
        /// Test files among them.
        files: Vec<String>,
        /// See [`Limits`].
        limits: Limits,
    },
    /// Load one file and run one test of it, hooks included.
    #[serde(rename_all = "camelCase")]
    Run {
        /// [`VERSION`].
        version: u32,
        /// Every module of the bundle.
        modules: BTreeMap<String, ModuleSource>,
        /// The file.
        file: String,
        /// The test's id.
        test_id: String,
        /// `app.baseUrl`.
        base_url: String,
        /// Declared secrets: names only.
        secrets: Vec<String>,
        /// Seed of `unique()` and `crypto.randomUUID`, fresh per attempt.
        seed: u64,
        /// Most time for each `afterEach`, milliseconds.
        cleanup_timeout_ms: u64,
        /// See [`Limits`].
        limits: Limits,
    },
    /// The answer to a call.
    Reply {
        /// The call's number.
        id: u64,
        /// Its value or failure.
        result: CallResult,
    },
    /// The body's time is up: abandon it, run the `afterEach` hooks, end with `Done`.
    Abandon {
        /// What the pending and later calls of the body fail with.
        problem: Problem,
    },
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is", deny_unknown_fields)]
pub enum CallResult {
    /// What the step yields.
    Ok {
        /// `null` for most steps.
        value: Value,
    },
    /// Thrown into the test as an error with `code` and `status`.
    Failed {
        /// Code, message, expected and actual.
        problem: Problem,
        /// `blocked` for a goal without a product verdict.
        blocked: bool,
    },
}

/// From the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "frame", deny_unknown_fields)]
pub enum FromWorker {
    /// A step. The answer is a [`ToWorker::Reply`] with the same number.
    Call {
        /// Unique in the worker, from 1.
        id: u64,
        /// The step.
        op: Op,
        /// Where it stands in the source.
        place: Option<Place>,
    },
    /// A line of `console`.
    Console {
        /// `log`, `info`, `warn`, `error` or `debug`.
        level: String,
        /// At most 8192 bytes.
        text: String,
    },
    /// Something went wrong that no call tells of: a soft check of a plain value, a hook. No check
    /// that is asked for from here on can verify a goal.
    Failed {},
    /// The body and its `beforeEach` hooks are over; what follows are `afterEach` hooks. Nobody
    /// waits for the calls before this frame any more.
    BodyEnded {
        /// Something in it went wrong; as [`FromWorker::Failed`].
        failed: bool,
    },
    /// The end of a collection, one entry per file asked for.
    Collected {
        /// In the order asked for.
        files: Vec<CollectedFile>,
    },
    /// The end of a run.
    Done {
        /// How the test went, soft failures joined.
        outcome: TestOutcome,
        /// Later failures (hooks, soft failures after a throw).
        secondary: Vec<Problem>,
    },
    /// The file didn't load, or the worker's own limits were hit.
    Broken {
        /// Why; COLLECTION_ERROR for the user's code, WORKER_CRASHED for ours.
        problem: Problem,
    },
}

/// How a test's body and hooks went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is", deny_unknown_fields)]
pub enum TestOutcome {
    /// Nothing threw.
    Passed {},
    /// The first failure.
    Failed {
        /// With its place.
        problem: Problem,
    },
    /// `test.skip()` in the body.
    Skipped {
        /// Why.
        reason: String,
    },
}
