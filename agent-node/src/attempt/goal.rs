//! A goal: replay what is recorded, let the executor do the rest, record what passed.

use std::sync::Arc;

use muster_proto::id::ReplayKey;
use muster_proto::outcome::Problem;
use muster_proto::recording::Recording;
use muster_proto::step::{AgentStep, CacheMode, CacheReason, CacheReport};
use muster_proto::verdict::VerdictStatus;
use muster_proto::{canonical, code::ErrorCode};
use muster_suite::config::ExecutorKind;
use muster_suite::op::Vision;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, info_span};

use super::call::Prepared;
use super::failure::Failure;
use super::given::Given;
use super::lookup::{CacheUse, Looked, look_up};
use super::settlement::{Goal, GoalEnd};
use crate::executor::StepContext;
use crate::harness::{Harness, Observation, Performed, Scope, StepHarness, called, verdict};
use crate::replay::{self, RecordInput, ReplayOutcome};

/// Most action lines of a step's record.
const MAX_LINES: usize = 200;

/// One goal under way.
pub(super) struct GoalRun<'a> {
    pub(super) given: &'a Given,
    pub(super) door: StepHarness<'a>,
    pub(super) scope: Scope,
    pub(super) call: Prepared<'a>,
    pub(super) key: ReplayKey,
    pub(super) ledger: String,
}

/// How a goal went.
pub(super) struct GoalDone {
    /// Its summary, or why it did not pass.
    pub(super) result: Result<String, Failure>,
    pub(super) report: AgentStep,
    /// What it means for its recording; none where the cache is off.
    pub(super) goal: Option<Goal>,
}

/// What a replay left for the executor.
struct Rest {
    /// Lines of what was replayed.
    replayed: Vec<String>,
    /// Why the executor is needed, if something was replayed.
    handed_off: Option<String>,
}

/// Who did the rest, and what it said.
struct Lived {
    executor: &'static str,
    version: &'static str,
    result: Result<String, Failure>,
}

impl GoalRun<'_> {
    /// Runs the goal to its end.
    pub(super) async fn run(&self, step: u32) -> GoalDone {
        let span = info_span!(
            "invoke_agent",
            otel.name = %format_args!("invoke_agent {}", self.call.name),
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = self.call.name,
            muster.step = step,
            muster.replay.result = Empty,
            muster.step.actions = Empty,
            muster.step.decisions = Empty,
            muster.step.model_calls = Empty,
            error.r#type = Empty,
        );
        let done = self.drive(step).instrument(span.clone()).await;
        let usage = done.report.usage;
        span.record("muster.step.actions", usage.actions);
        span.record("muster.step.decisions", usage.decisions);
        span.record("muster.step.model_calls", usage.model_calls);
        if let Some(cache) = &done.report.cache {
            span.record("muster.replay.result", replayed_as(cache.mode));
        }
        if let Err(failure) = &done.result {
            span.record("error.type", failure.problem.code.as_str());
        }
        done
    }

    async fn drive(&self, step: u32) -> GoalDone {
        let mut cache = CacheReport {
            key: self.key.0.clone(),
            mode: CacheMode::Off,
            reason: None,
            detail: None,
            replayed_actions: 0,
            total_actions: 0,
            relocated: Vec::new(),
            recorded_by_node: None,
            write: None,
            not_recorded: None,
        };
        let looked = self.look(&mut cache).await;
        let stored = looked.as_ref().and_then(|looked| looked.stored.as_ref());
        let generation = looked.as_ref().map_or(0, |looked| looked.generation);
        let replayed = match looked.as_ref().map(|looked| &looked.opened) {
            Some(Ok(opened)) => self.replay(&opened.recording, &mut cache).await,
            Some(Err(_)) | None => Err(Rest {
                replayed: Vec::new(),
                handed_off: None,
            }),
        };
        let (lived, mut lines) = match replayed {
            Ok((result, lines)) => (
                Lived {
                    executor: self.call.agent.executor.as_str(),
                    version: "",
                    result,
                },
                lines,
            ),
            Err(rest) => {
                let lived = self.live(&rest).await;
                let skip = rest.replayed.len();
                (
                    lived,
                    rest.replayed.into_iter().chain(self.lines(skip)).collect(),
                )
            }
        };
        lines.truncate(MAX_LINES);
        let end = self.end(&lived, &mut cache, stored, looked.as_ref()).await;
        let report = AgentStep {
            call: "act".to_owned(),
            instruction: self.call.instruction.clone(),
            agent: self.call.name.to_owned(),
            executor: lived.executor.to_owned(),
            usage: self.door.usage(),
            ledger: self.door.ledger(),
            events: self.door.events(),
            summary: lived.result.as_ref().ok().cloned(),
            actions: lines,
            cache: Some(cache.clone()),
            verified: false,
        };
        let goal = looked.map(|_| Goal {
            step,
            key: self.key.clone(),
            instruction_digest: canonical::sha256_hex(self.call.instruction.as_bytes())[..12]
                .to_owned(),
            generation,
            replayed: cache.replayed_actions,
            end,
            verified_by: None,
        });
        GoalDone {
            result: lived.result,
            report,
            goal,
        }
    }

    /// Looks for a recording, unless the cache is off.
    async fn look(&self, cache: &mut CacheReport) -> Option<Looked> {
        if self.given.cache == CacheUse::Off {
            return None;
        }
        let (call, given) = (&self.call, self.given);
        let retry = given.try_ > 0;
        let looking = look_up(
            given.recordings.as_ref(),
            &given.namespace,
            &self.key,
            retry,
            &call.params,
            call.unique,
        );
        // A step that ends meanwhile has found nothing; whoever goes on says why it ended.
        let looked = self.scope.run(looking).await.ok()?;
        cache.mode = CacheMode::Missed;
        match &looked.opened {
            Ok(opened) => {
                cache.total_actions = count(opened.recording.actions.len());
                cache.recorded_by_node = Some(opened.provenance.node.clone());
            }
            Err((reason, detail)) => {
                cache.reason = Some(*reason);
                cache.detail = Some(detail.clone());
            }
        }
        Some(looked)
    }

    /// Replays: the goal's end and its lines, or what the executor has to go on from.
    async fn replay(
        &self,
        recording: &Recording,
        cache: &mut CacheReport,
    ) -> Result<(Result<String, Failure>, Vec<String>), Rest> {
        match replay::run(&self.door, recording).await {
            ReplayOutcome::Replayed {
                actions, relocated, ..
            } => {
                cache.mode = CacheMode::Replayed;
                cache.replayed_actions = count(actions.len());
                cache.relocated = relocated;
                Ok((Ok(recording.summary.clone()), actions))
            }
            ReplayOutcome::HandedOff {
                reason,
                detail,
                actions,
                relocated,
                ..
            } => {
                cache.mode = CacheMode::HandedOff;
                cache.replayed_actions = count(actions.len());
                cache.relocated = relocated;
                cache.reason = Some(reason);
                cache.detail = Some(detail.clone());
                Err(Rest {
                    replayed: actions,
                    handed_off: Some(detail),
                })
            }
            ReplayOutcome::Missed { reason, detail } => {
                cache.reason = Some(reason);
                cache.detail = Some(detail);
                Err(Rest {
                    replayed: Vec::new(),
                    handed_off: None,
                })
            }
            ReplayOutcome::Stopped(problem) => {
                let lines = self.lines(0);
                cache.replayed_actions = count(lines.len());
                if !lines.is_empty() {
                    cache.mode = CacheMode::HandedOff;
                }
                cache.detail = Some(format!("the step ended meanwhile: {}", problem.message));
                Ok((Err(Failure::stopped(problem)), lines))
            }
        }
    }

    /// Lets the executor reach a verdict.
    async fn live(&self, rest: &Rest) -> Lived {
        let call = &self.call;
        let ready = match self.scope.ended() {
            Some(problem) => Err(problem),
            None => self.given.brains.executor(call.name, call.agent),
        };
        let executor = match ready {
            Ok(executor) => executor,
            Err(problem) => {
                let name = call.agent.executor.as_str();
                return Lived {
                    executor: name,
                    version: "",
                    result: Err(Failure::stopped(problem)),
                };
            }
        };
        let context = StepContext {
            harness: &self.door,
            instruction: &call.instruction,
            params: &call.params,
            agent_context: &call.context,
            ledger: &self.ledger,
            replayed: &rest.replayed,
            handed_off: rest.handed_off.as_deref(),
            vision: Vision::Off,
        };
        let said = self.scope.run(executor.run_step(&context)).await;
        let stops = self.door.trace().stops;
        let mut result = match said {
            Ok(Ok(verdict)) => verdict::validate(verdict, &stops)
                .map_err(Failure::failed)
                .and_then(|verdict| {
                    let code = verdict.code.unwrap_or(ErrorCode::ActionFailed);
                    match verdict.status {
                        // What ended the step can't be talked away.
                        VerdictStatus::Passed => match verdict::final_stop(&stops) {
                            Some(ended) => Err(Failure::stopped(Problem::new(
                                ended,
                                "the step had ended before the executor said that it passed",
                            ))),
                            None => Ok(verdict.summary),
                        },
                        VerdictStatus::Failed => {
                            Err(Failure::failed(Problem::new(code, verdict.summary)))
                        }
                        VerdictStatus::Blocked => {
                            Err(Failure::blocked(Problem::new(code, verdict.summary)))
                        }
                    }
                }),
            Ok(Err(error)) => Err(Failure::of(error, &stops)),
            // The deadline wins over whatever the executor would still have said.
            Err(problem) => Err(Failure::stopped(problem)),
        };
        if let Err(failure) = &mut result {
            failure.stop_run |= call.agent.executor == ExecutorKind::Abort;
        }
        Lived {
            executor: executor.name(),
            version: executor.version(),
            result,
        }
    }

    /// What the goal's end means for its recording.
    async fn end(
        &self,
        lived: &Lived,
        cache: &mut CacheReport,
        stored: Option<&Recording>,
        looked: Option<&Looked>,
    ) -> GoalEnd {
        let summary = match &lived.result {
            Err(failure) if failure.tells_nothing() => {
                return GoalEnd::Untouched(format!("the goal ended with {}", failure.problem.code));
            }
            Err(_) => return GoalEnd::Failed,
            Ok(summary) => summary,
        };
        let replayed = cache.mode == CacheMode::Replayed;
        if replayed && cache.relocated.is_empty() {
            return GoalEnd::Replayed;
        }
        if cache.mode == CacheMode::HandedOff && cache.reason == Some(CacheReason::EndMismatch) {
            return GoalEnd::Repaired;
        }
        // A relocated replay keeps the name of whoever decided first.
        let (executor, version) = match looked
            .and_then(|looked| looked.opened.as_ref().ok())
            .filter(|_| replayed)
        {
            Some(opened) => (
                &*opened.recording.recorded_by.executor,
                &*opened.recording.recorded_by.version,
            ),
            None => (lived.executor, lived.version),
        };
        match self.record(summary, executor, version).await {
            Ok(recording) => {
                let same = stored.is_some_and(|stored| replay::same_flow(stored, &recording));
                GoalEnd::Recorded {
                    recording: Box::new(recording),
                    same,
                }
            }
            Err(why) => {
                cache.not_recorded = Some(why.clone());
                GoalEnd::Unrecordable(why)
            }
        }
    }

    async fn record(
        &self,
        summary: &str,
        executor: &str,
        version: &str,
    ) -> Result<Recording, String> {
        let end: Arc<Observation> = self
            .door
            .observe()
            .await
            .map_err(|_| "the screen at the end could not be read".to_owned())?;
        let trace = self.door.trace();
        if let Some(gap) = trace.gap {
            return Err(gap);
        }
        let (Some(start), Some(last)) = (&trace.first, trace.last_action) else {
            return Err("nothing was done".to_owned());
        };
        let input = RecordInput {
            trace: &trace.performed,
            start,
            end: &end,
            instruction: &self.call.instruction,
            params: &self.call.params,
            unique: self.call.unique,
            executor_name: executor,
            executor_version: version,
            summary,
            end_wait: Instant::now() - last,
        };
        replay::record(&input).map_err(|why| why.reason)
    }

    /// The actions that were done, after the first `skip`, one line each.
    fn lines(&self, skip: usize) -> Vec<String> {
        self.door
            .trace()
            .performed
            .iter()
            .skip(skip)
            .map(line)
            .collect()
    }
}

/// An action in one line: what was done to which element.
fn line(done: &Performed) -> String {
    let named = |id| done.before.node(id).map(called).unwrap_or_default();
    replay::words(done.action.clone().map(named))
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

/// The cache's part as spans tell it.
const fn replayed_as(mode: CacheMode) -> &'static str {
    match mode {
        CacheMode::Replayed => "replayed",
        CacheMode::HandedOff => "handed-off",
        CacheMode::Missed => "missed",
        CacheMode::Off => "off",
    }
}
