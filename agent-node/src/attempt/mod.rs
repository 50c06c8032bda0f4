//! One attempt of one test: its worker asks, the harness performs, the record is kept.
//!
//! The node gives an attempt everything it may touch; an attempt knows no stream, no lease and no
//! browser process. [`run`] ends by the unit's time plus clean-up at the latest.
//!
//! Reading order: `drive` (the conversation with the worker and its clock), `state` (one step
//! served), `exact` (steps without a model), `goal` and `lookup` (goals and their recordings),
//! `judge`, `settlement` (what becomes of recordings), `record` (what is written down). A new step
//! is a variant of `muster_suite::op::Op`; the compiler leads to `title` and `state`.

mod call;
mod drive;
mod exact;
mod failure;
mod given;
mod goal;
mod judge;
mod lookup;
mod record;
mod settlement;
mod state;
#[cfg(test)]
mod stories;
mod title;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use muster_cache_store::ReplayStore;
use muster_engine::Page;
use muster_proto::code::ErrorCode;
use muster_proto::id::{NodeId, RunId};
use muster_proto::outcome::{Problem, Status};
use muster_proto::recording::{MAX_BYTES, Provenance, Recording};
use muster_proto::step::{AttemptRecord, SCHEMA, Usage};
use muster_proto::v1;
use muster_providers::model::ModelClient;
use muster_suite::config::{Agent, Model, RunSpec};
use muster_suite::frame::{Limits, ModuleSource, TestOutcome, ToWorker, VERSION};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span};
use url::Url;

use self::drive::{Conversation, End};
use self::given::Given;
use self::lookup::CacheUse;
pub(crate) use self::record::millis;
use self::record::{Console, Steps};
use self::settlement::{Ending, Goal};
use self::state::Attempt;
use self::worker::Worker;
use crate::executor::Executor;
use crate::harness::{AttemptHarness, Denials, Files, Purse, Redactor, Scope, Vault, text};
use crate::replay;

/// Everything an attempt may touch.
pub struct AttemptInput {
    /// The run.
    pub run: RunId,
    /// This node.
    pub node: NodeId,
    /// What to run.
    pub unit: v1::Unit,
    /// Product retries so far; above 0 never replays.
    pub try_: u32,
    /// The run's configuration.
    pub spec: Arc<RunSpec>,
    /// The bundle's modules.
    pub modules: Arc<BTreeMap<String, ModuleSource>>,
    /// The bundle's other files.
    pub files: Files,
    /// A fresh page in a context of its own. The node closes it.
    pub page: Arc<dyn Page>,
    /// The pipes of a fresh test worker. The node reaps it.
    pub worker: WorkerPipes,
    /// Where executors and models come from.
    pub brains: Arc<dyn Brains>,
    /// Recordings, read-only.
    pub recordings: Arc<dyn ReplayStore>,
    /// How the cache takes part.
    pub cache: v1::CacheGrant,
    /// Declared secrets, as this node finds them.
    pub secrets: Vault,
    /// What the page is denied on its way out, as it happens.
    pub denials: Arc<Denials>,
    /// Its share of what the run may spend.
    pub grant: v1::BudgetGrant,
    /// Digest of the policy in force.
    pub policy_digest: String,
    /// Live news; lossy: a full queue drops.
    pub progress: tokio::sync::mpsc::Sender<News>,
    /// The lease is gone or the run is cancelled.
    pub cancel: CancellationToken,
}

/// A worker's ends, as seen from the node.
pub struct WorkerPipes {
    /// Frames from the worker.
    pub from_worker: Box<dyn AsyncRead + Send + Unpin>,
    /// Frames to it; dropping it ends the worker.
    pub to_worker: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Makes executors and model clients for a configured agent.
pub trait Brains: Send + Sync {
    /// The executor of an agent.
    fn executor(&self, name: &str, agent: &Agent) -> Result<Arc<dyn Executor>, Problem>;
    /// The client of a model; MODEL_UNAVAILABLE where its key is missing.
    fn model(&self, model: &Model) -> Result<Arc<dyn ModelClient>, Problem>;
}

/// Something to show while an attempt runs; redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A step starts.
    Step(String),
    /// The test printed a line.
    Console(String),
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptOutput {
    /// How it ended; never `Flaky`.
    pub status: Status,
    /// Its first failure.
    pub problem: Option<Problem>,
    /// Why it skipped itself.
    pub skip_reason: String,
    /// The sum over its steps.
    pub usage: Usage,
    /// The full record, redacted.
    pub record: AttemptRecord,
    /// What to do with the recordings it touched.
    pub staged: Vec<v1::Staged>,
    /// A run-level condition that must end the run.
    pub stop_run: bool,
}

/// Longest time for the last look at a failed test's screen.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// Largest last look, bytes.
const LAST_LOOK_BYTES: usize = 64 * 1024;

/// Runs one attempt to its end. Cancelled, it ends at once, as interrupted.
pub async fn run(input: AttemptInput) -> AttemptOutput {
    let span = info_span!(
        "test",
        otel.name = %format_args!("test {}", input.unit.file),
        test.case.name = tracing::field::Empty,
        test.suite.name = input.unit.file,
        test.case.result.status = tracing::field::Empty,
        muster.run = input.run.as_str(),
        muster.node = input.node.as_str(),
        muster.unit = input.unit.unit_id,
        muster.target = input.unit.target,
        muster.try = input.try_,
        error.r#type = tracing::field::Empty,
    );
    let output = attempt(input).instrument(span.clone()).await;
    span.record(
        "test.case.result.status",
        if output.status == Status::Passed {
            "pass"
        } else {
            "fail"
        },
    );
    if let Some(problem) = &output.problem {
        span.record("error.type", problem.code.as_str());
    }
    output
}

async fn attempt(input: AttemptInput) -> AttemptOutput {
    let (began, started_at) = (Instant::now(), jiff::Timestamp::now());
    let AttemptInput {
        worker,
        page,
        progress,
        cancel,
        secrets,
        modules,
        ..
    } = input;
    let (app, app_identity) = match target(&input.spec, &input.unit.target) {
        Ok(target) => target,
        Err(problem) => {
            return AttemptOutput::without_steps(&input.node, started_at, Duration::ZERO, problem);
        }
    };
    let harness = AttemptHarness::new(page, app, secrets, input.spec.secrets.clone());
    let purse = Purse::attempt(&input.spec.budgets, &input.grant);
    let harness = harness.under(purse, input.denials);
    let harness = Arc::new(harness.with_files(input.files));
    let redactor = harness.redactor();
    if let Some(problem) = exposed(&input.unit, &modules, &redactor) {
        return AttemptOutput::without_steps(&input.node, started_at, Duration::ZERO, problem);
    }
    tracing::Span::current().record("test.case.name", input.unit.title_path.join(" › "));
    let given = Arc::new(Given {
        run: input.run,
        node: input.node,
        unit: input.unit,
        try_: input.try_,
        app_identity,
        spec: input.spec,
        brains: input.brains,
        recordings: input.recordings,
        cache: CacheUse::granted(&input.cache),
        namespace: input.cache.namespace,
        policy_digest: input.policy_digest,
    });
    let mut worker = Worker::new(worker);
    let mut console = Console::new(Arc::clone(&harness), progress.clone());
    let steps = Steps::new(Arc::clone(&harness), progress, began);
    let mut attempt = Attempt::new(Arc::clone(&given), Arc::clone(&harness), steps);
    let times = &given.spec.timeouts;
    let clock = drive::clock(given.unit.timeout_ms, times.test_ms, times.cleanup_ms);
    let first = ToWorker::Run {
        version: VERSION,
        modules: (*modules).clone(),
        file: given.unit.file.clone(),
        test_id: given.unit.test_id.clone(),
        base_url: harness.app().to_string(),
        secrets: given.spec.secrets.keys().cloned().collect(),
        seed: rand::random(),
        cleanup_timeout_ms: times.cleanup_ms,
        limits: Limits::default(),
    };
    let end = Conversation::new(&mut worker, &mut console, &cancel, clock)
        .run(&mut attempt, first)
        .await;
    drop(worker);

    let (mut status, mut problem, skip_reason, mut secondary) = conclude(end, clock.test);
    if let Some(died) = attempt
        .died
        .take()
        .filter(|_| status != Status::Interrupted)
    {
        status = Status::Failed;
        let said = problem.replace(died.clone());
        secondary.splice(0..0, said.filter(|said| said.code != died.code));
    }
    let problem = problem.map(|problem| harness.redacted(problem));
    let screen_at_failure = match status {
        Status::Failed | Status::TimedOut if attempt.opened => last_look(&harness, &cancel).await,
        _ => None,
    };
    let ending = Ending {
        failed: !matches!(status, Status::Passed | Status::Skipped),
        no_verdict: status == Status::Interrupted
            || problem.as_ref().is_some_and(failure::no_verdict),
        first_failure: attempt.steps.first_failure(),
    };
    for goal in &attempt.goals {
        if settlement::verification(goal, ending).is_some() {
            attempt.steps.verified(goal.step);
        }
    }
    let mut staged = match given.cache {
        CacheUse::ReadWrite => {
            let recorded_at = stamp(jiff::Timestamp::now());
            settlement::settle(&attempt.goals, ending, |goal, recording, check| {
                envelope(&given, &harness, goal, recording, check, &recorded_at)
            })
        }
        CacheUse::ReadOnly | CacheUse::Off => Vec::new(),
    };
    for one in &mut staged {
        one.reason = harness.redactor().text(&one.reason);
    }
    let record = AttemptRecord {
        schema: SCHEMA,
        node: given.node.0.clone(),
        started_at: stamp(started_at),
        duration_ms: millis(began.elapsed()),
        status,
        problem: problem.clone(),
        secondary: secondary
            .into_iter()
            .map(|problem| harness.redacted(problem))
            .collect(),
        skip_reason: (status == Status::Skipped).then(|| harness.redactor().text(&skip_reason)),
        steps: attempt.steps.into_records(),
        console: console.into_lines(),
        screen_at_failure,
        events: harness.events(),
        tainted: harness.tainted(),
    };
    AttemptOutput {
        status,
        problem,
        skip_reason: harness.redactor().text(&skip_reason),
        usage: attempt.usage,
        record,
        staged,
        stop_run: attempt.stop_run,
    }
}

/// A conversation's end as an outcome: status, problem, why it was skipped, later failures.
fn conclude(end: End, limit: Duration) -> (Status, Option<Problem>, String, Vec<Problem>) {
    match end {
        End::Told {
            outcome: TestOutcome::Passed {},
            secondary,
        } => (Status::Passed, None, String::new(), secondary),
        End::Told {
            outcome: TestOutcome::Skipped { reason },
            secondary,
        } => (Status::Skipped, None, reason, secondary),
        End::Told {
            outcome: TestOutcome::Failed { problem },
            secondary,
        } => {
            let status = if problem.code == ErrorCode::TestTimeout {
                Status::TimedOut
            } else {
                Status::Failed
            };
            (status, Some(problem), String::new(), secondary)
        }
        End::Broken(problem) => (Status::Failed, Some(problem), String::new(), Vec::new()),
        End::OutOfTime => (
            Status::TimedOut,
            Some(drive::timed_out(limit)),
            String::new(),
            Vec::new(),
        ),
        End::Cancelled => {
            let problem = Problem::new(
                ErrorCode::Interrupted,
                "the run was stopped before the test ended",
            );
            (
                Status::Interrupted,
                Some(problem),
                String::new(),
                Vec::new(),
            )
        }
    }
}

/// The screen of a failed test, if it can still be read.
async fn last_look(harness: &AttemptHarness, cancel: &CancellationToken) -> Option<String> {
    let limit = Problem::new(ErrorCode::Cancelled, "the last look took too long");
    let scope = Scope::phase(cancel, LAST_LOOK * 2).within(LAST_LOOK, limit);
    harness
        .observe(&scope)
        .await
        .ok()
        .map(|screen| text::render(&screen, LAST_LOOK_BYTES))
}

/// The bytes of a recording's envelope, or why it may not be written.
fn envelope(
    given: &Given,
    harness: &AttemptHarness,
    goal: &Goal,
    recording: &Recording,
    check: u32,
    recorded_at: &str,
) -> Result<Vec<u8>, String> {
    let provenance = Provenance {
        project: given.spec.project.clone(),
        run: given.run.0.clone(),
        unit: given.unit.unit_id.clone(),
        test: given.unit.test_id.clone(),
        target: given.unit.target.clone(),
        instruction_digest: goal.instruction_digest.clone(),
        step: goal.step,
        verified_by: Some(check),
        node: given.node.0.clone(),
        engine: harness.engine().to_owned(),
        policy_digest: given.policy_digest.clone(),
        recorded_at: recorded_at.to_owned(),
    };
    let envelope = replay::seal(recording, &goal.key, &given.namespace, provenance);
    // Refused, never rewritten: what a redactor changed is no longer what was done.
    if !harness.redactor().clean(&envelope.payload) {
        return Err("it holds the value of a secret; pass the secret by its handle".to_owned());
    }
    let bytes = muster_proto::canonical::json(&envelope);
    match bytes.len() {
        size if size > MAX_BYTES => Err(format!("it has {size} bytes; the limit is {MAX_BYTES}")),
        _ => Ok(bytes),
    }
}

/// INVALID_CONFIG for a test whose title or source holds the value of a secret: it has left the node
/// in places that no redactor reaches.
fn exposed(
    unit: &v1::Unit,
    modules: &BTreeMap<String, ModuleSource>,
    redactor: &Redactor,
) -> Option<Problem> {
    let titles = unit.title_path.iter().chain([&unit.file]);
    if redactor.finds(titles.map(String::as_str)) {
        return Some(Problem::new(
            ErrorCode::InvalidConfig,
            "the test's title holds the value of a secret; take it out, and change the secret",
        ));
    }
    let (path, _) = modules
        .iter()
        .find(|(path, source)| redactor.finds([path.as_str(), &source.js]))?;
    let message = format!(
        "{path} holds the value of a secret; use secrets.get() instead, and change the secret"
    );
    Some(Problem::new(
        ErrorCode::InvalidConfig,
        redactor.text(&message),
    ))
}

/// Address and identity of the app under test.
pub(crate) fn target(spec: &RunSpec, name: &str) -> Result<(Url, String), Problem> {
    let target = spec.targets.get(name).ok_or_else(|| {
        Problem::new(
            ErrorCode::UnknownTarget,
            format!("the run's configuration has no target {name:?}"),
        )
    })?;
    let app = Url::parse(&target.app_url).map_err(|error| {
        Problem::new(
            ErrorCode::InvalidAppUrl,
            format!("the address of target {name:?} can't be read: {error}"),
        )
    })?;
    Ok((app, target.app_identity.clone()))
}

impl AttemptOutput {
    /// An attempt that never came to a step: it could not begin, or it broke. `took` is the time
    /// that was lost.
    pub(crate) fn without_steps(
        node: &NodeId,
        started_at: jiff::Timestamp,
        took: Duration,
        problem: Problem,
    ) -> Self {
        let status = match problem.code {
            ErrorCode::Cancelled | ErrorCode::Interrupted => Status::Interrupted,
            _ => Status::Failed,
        };
        Self {
            status,
            problem: Some(problem.clone()),
            skip_reason: String::new(),
            usage: Usage::default(),
            record: AttemptRecord {
                schema: SCHEMA,
                node: node.0.clone(),
                started_at: stamp(started_at),
                duration_ms: millis(took),
                status,
                problem: Some(problem),
                secondary: Vec::new(),
                skip_reason: None,
                steps: Vec::new(),
                console: Vec::new(),
                screen_at_failure: None,
                events: Vec::new(),
                tainted: false,
            },
            staged: Vec::new(),
            stop_run: false,
        }
    }
}

/// RFC 3339 UTC, milliseconds.
fn stamp(at: jiff::Timestamp) -> String {
    format!("{at:.3}")
}
