//! The conversation of one step. The executor asks, the node answers in turn.
//!
//! What goes wrong on the way (no connection, silence, an end without a verdict) is
//! MODEL_PROVIDER_FAILED: it says nothing about the product. What breaks the protocol (a gap, a
//! message too large or too many) is MODEL_OUTPUT_INVALID.

use std::collections::VecDeque;
use std::time::Duration;

use muster_engine::NodeId;
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::step::{EventKind, Tier};
use muster_proto::v1;
use muster_proto::v1::answer::Answer as Told;
use muster_proto::v1::executor_service_client::ExecutorServiceClient;
use muster_proto::v1::from_executor::Message as Said;
use muster_proto::v1::request::Request as Asked;
use muster_proto::v1::to_executor::Message as Sent;
use muster_providers::model::TokenUsage;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::RemoteExecutor;
use super::screen::screen;
use crate::harness::{Harness, StepError, ToldCall};

/// Largest message from an executor, bytes.
const MAX_MESSAGE: usize = 256 * 1024;
/// Largest picture for an executor, bytes: its other side takes messages of 4 MiB.
const MAX_PICTURE: usize = 3 * 1024 * 1024;
/// Most messages from an executor in a step.
const MAX_MESSAGES: u32 = 1000;
/// Answers that are remembered, for requests that are sent again.
const REMEMBERED: usize = 8;
/// Longest silence.
const SILENCE: Duration = Duration::from_secs(120);
/// An executor that is silent for this long when the step's time is up did not just run late.
const SLOW: Duration = Duration::from_secs(10);
/// How much sooner than the step its silence is ended.
const SOONER: Duration = Duration::from_millis(50);
/// Most time for the other side to end the call.
const FAREWELL: Duration = Duration::from_secs(1);
/// Most tokens of one told call, of each kind.
const MAX_TOKENS: u64 = 1_000_000_000;
/// Longest name of a model, characters.
const MAX_NAME: usize = 128;
/// Longest note, characters.
const MAX_NOTE: usize = 2000;
/// A foreign error is told up to here, characters.
const MAX_WHY: usize = 300;

/// What a step came to.
pub(super) enum Conclusion {
    Verdict(v1::Verdict),
    Judgment(v1::Judgment),
    Extracted(v1::Extracted),
}

/// One call, under way.
pub(super) struct Talk<'a> {
    executor: &'a RemoteExecutor,
    harness: &'a dyn Harness,
    /// What the executor's own model calls count as.
    tier: Tier,
    to: mpsc::Sender<v1::ToExecutor>,
    from: Streaming<v1::FromExecutor>,
    heard: u32,
    /// The last request's number.
    last: u64,
    answered: VecDeque<(v1::Request, Told)>,
}

/// What is left of the step.
pub(super) fn left(harness: &dyn Harness) -> v1::Left {
    let left = harness.budget();
    v1::Left {
        remaining_ms: u64::try_from(left.time.as_millis()).unwrap_or(u64::MAX),
        actions: left.actions,
        model_calls: left.model_calls,
    }
}

impl<'a> Talk<'a> {
    /// Dials, and says what is wanted.
    pub(super) async fn begin(
        executor: &'a RemoteExecutor,
        harness: &'a dyn Harness,
        tier: Tier,
        begin: v1::Begin,
    ) -> Result<Self, StepError> {
        let channel = executor.transport.connect().await.map_err(|error| {
            let why = cause(&error);
            failed(executor, &format!("can't be reached: {why}"))
        })?;
        let limit = match Guard::PeerBound.holds() {
            true => MAX_MESSAGE,
            false => usize::MAX,
        };
        let mut client = ExecutorServiceClient::with_interceptor(channel, executor.bearer.clone())
            .max_decoding_message_size(limit);
        let (to, outbound) = mpsc::channel(1);
        let begin = v1::ToExecutor {
            message: Some(Sent::Begin(begin)),
        };
        to.send(begin).await.expect("its receiver is held here");
        let patience = patience(harness.budget().time, false);
        let called = timeout(patience, client.step(ReceiverStream::new(outbound))).await;
        let from = called
            .map_err(|_| silent(executor, patience))?
            .map_err(|status| broken(executor, &status))?
            .into_inner();
        Ok(Self {
            executor,
            harness,
            tier,
            to,
            from,
            heard: 0,
            last: 0,
            answered: VecDeque::new(),
        })
    }

    /// Serves requests until the executor concludes or the step ends.
    pub(super) async fn run(&mut self) -> Result<Conclusion, StepError> {
        loop {
            match self.hear().await? {
                Said::Request(request) => {
                    let seq = request.seq;
                    let told = self.answer(request).await?;
                    let answer = v1::Answer {
                        seq,
                        left: Some(left(self.harness)),
                        answer: Some(told),
                    };
                    self.say(Sent::Answer(answer)).await?;
                }
                Said::Note(note) => {
                    let text: String = note.text.chars().take(MAX_NOTE).collect();
                    self.harness.note(EventKind::Noted, "remote", &text);
                }
                Said::Verdict(said) => return Ok(Conclusion::Verdict(said)),
                Said::Judgment(said) => return Ok(Conclusion::Judgment(said)),
                Said::Extracted(said) => return Ok(Conclusion::Extracted(said)),
            }
        }
    }

    /// Ends the call; tells why, if it was the node that ended the step.
    pub(super) async fn end(mut self, why: Option<&StepError>) {
        let stop = why.map(|why| {
            let (code, message) = match why {
                StepError::Stop(problem) => (problem.code, &problem.message),
                StepError::Refused { code, message } => (*code, message),
                StepError::Uncertain { message } => (ErrorCode::ActionFailed, message),
            };
            v1::Stop {
                code: code.as_str().to_owned(),
                message: message.clone(),
            }
        });
        let farewell = async {
            if let Some(stop) = stop {
                // Who is gone is not told.
                self.say(Sent::Stop(stop)).await.ok();
            }
            drop(self.to);
            while let Ok(Some(_)) = self.from.message().await {}
        };
        // Dropping the stream cuts the call off.
        timeout(FAREWELL, farewell).await.ok();
    }

    async fn say(&self, message: Sent) -> Result<(), StepError> {
        let message = v1::ToExecutor {
            message: Some(message),
        };
        let gone = |_| failed(self.executor, "hung up");
        self.to.send(message).await.map_err(gone)
    }

    async fn hear(&mut self) -> Result<Said, StepError> {
        let patience = patience(self.harness.budget().time, self.heard > 0);
        let heard = timeout(patience, self.from.message()).await;
        let message = heard
            .map_err(|_| silent(self.executor, patience))?
            .map_err(|status| broken(self.executor, &status))?
            .ok_or_else(|| failed(self.executor, "ended the call without a verdict"))?;
        self.heard += 1;
        if self.heard > MAX_MESSAGES && Guard::PeerBound.holds() {
            let guard = Guard::PeerBound.as_str();
            let what = format!("sent more than {MAX_MESSAGES} messages in one step");
            self.harness.note(EventKind::Denied, guard, &what);
            return Err(self.executor.invalid(&what));
        }
        let unknown = || {
            let what = "sent a message that this node does not know";
            self.executor.invalid(what)
        };
        message.message.ok_or_else(unknown)
    }

    /// What is answered to a request; the same to the same request, which is not done again.
    async fn answer(&mut self, request: v1::Request) -> Result<Told, StepError> {
        let (seq, next) = (request.seq, self.last + 1);
        if seq > next || seq == 0 {
            let what = format!("sent request {seq} where {next} was due");
            return Err(self.executor.invalid(&what));
        }
        if seq < next && Guard::ActionOnce.holds() {
            let mut known = self.answered.iter();
            return match known.find(|(earlier, _)| earlier.seq == seq) {
                Some((earlier, told)) if *earlier == request => Ok(told.clone()),
                Some(_) => {
                    let what = format!("sent request {seq} again with another content");
                    Err(self.executor.invalid(&what))
                }
                None => {
                    let what = format!(
                        "sent request {seq} again after request {}; the last {REMEMBERED} can be",
                        self.last
                    );
                    Err(self.executor.invalid(&what))
                }
            };
        }
        self.last = seq;
        let told = self.serve(request.request.clone()).await?;
        self.answered.push_back((request, told.clone()));
        if self.answered.len() > REMEMBERED {
            self.answered.pop_front();
        }
        Ok(told)
    }

    async fn serve(&self, asked: Option<Asked>) -> Result<Told, StepError> {
        let served = match asked {
            Some(Asked::Observe(v1::Observe {})) => {
                let seen = self.harness.observe().await;
                seen.map(|seen| Told::Screen(screen(&seen)))
            }
            Some(Asked::Act(action)) => match Action::try_from(action) {
                Ok(action) => {
                    let done = self.harness.perform(action.map(NodeId)).await;
                    done.map(|done| {
                        Told::Done(v1::Done {
                            after: Some(screen(&done.after)),
                            changed: done.changed,
                        })
                    })
                }
                Err(message) => Err(StepError::Refused {
                    code: ErrorCode::AutomationUnsupported,
                    message,
                }),
            },
            Some(Asked::Look(v1::Look {})) => self.look().await,
            Some(Asked::Count(count)) => self.count(&count).map(|()| Told::Counted(v1::Counted {})),
            None => {
                let what = "sent a request that this node does not know";
                return Err(self.executor.invalid(what));
            }
        };
        match served {
            Ok(told) => Ok(told),
            Err(StepError::Refused { code, message }) => Ok(Told::NotDone(v1::NotDone {
                code: code.as_str().to_owned(),
                message,
            })),
            Err(StepError::Uncertain { message }) => Ok(Told::MaybeDone(v1::MaybeDone { message })),
            Err(stop @ StepError::Stop(_)) => Err(stop),
        }
    }

    async fn look(&self) -> Result<Told, StepError> {
        let picture = self.harness.screenshot().await?;
        if picture.bytes.len() > MAX_PICTURE {
            return Err(StepError::Refused {
                code: ErrorCode::ActionFailed,
                message: format!("the picture has more than {MAX_PICTURE} bytes"),
            });
        }
        Ok(Told::Picture(v1::Picture {
            media_type: picture.media_type.to_owned(),
            bytes: picture.bytes.to_vec(),
        }))
    }

    fn count(&self, count: &v1::Count) -> Result<(), StepError> {
        if count.model.is_empty() {
            return self.harness.decide();
        }
        let figures = [
            count.input_tokens,
            count.cached_tokens,
            count.cache_write_tokens,
            count.output_tokens,
            count.reasoning_tokens,
            count.cost_microusd,
        ];
        if figures.into_iter().any(|figure| figure > MAX_TOKENS) {
            let what = "told a model call of more than a billion";
            return Err(self.executor.invalid(what));
        }
        let call = ToldCall {
            model: count.model.chars().take(MAX_NAME).collect(),
            tokens: TokenUsage {
                input: count.input_tokens,
                cached: count.cached_tokens,
                cache_write: count.cache_write_tokens,
                output: count.output_tokens,
                reasoning: count.reasoning_tokens,
            },
            cost_microusd: count.cost_microusd,
        };
        self.harness.told(self.tier, &call)
    }
}

/// How long an executor may be silent, with that much time `left` for the step. Where the step ends sooner, an executor that said
/// nothing at all, or nothing for long, is what went wrong; any other just ran out of time, which
/// the step's own end says.
pub(super) fn patience(left: Duration, heard: bool) -> Duration {
    match left < SILENCE && (left >= SLOW || !heard) {
        true => left.saturating_sub(SOONER),
        false => SILENCE,
    }
}

fn silent(executor: &RemoteExecutor, waited: Duration) -> StepError {
    failed(
        executor,
        &format!("said nothing for {} s", waited.as_secs()),
    )
}

/// What the other side, or the way to it, ended the call with.
fn broken(executor: &RemoteExecutor, status: &Status) -> StepError {
    let why: String = status.message().chars().take(MAX_WHY).collect();
    match status.code() {
        Code::OutOfRange | Code::ResourceExhausted => {
            executor.invalid(&format!("sent what is too large: {why}"))
        }
        code @ (Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented) => {
            let message = format!(
                "the remote executor at {} refuses this node ({code:?}): {why}; check the variable that remote.key-env names and what listens there",
                executor.url
            );
            StepError::Stop(Problem::new(ErrorCode::ModelUnavailable, message))
        }
        code => failed(executor, &format!("ended the call ({code:?}): {why}")),
    }
}

/// Not the product's doing.
fn failed(executor: &RemoteExecutor, what: &str) -> StepError {
    StepError::Stop(Problem::new(
        ErrorCode::ModelProviderFailed,
        format!("the remote executor at {} {what}", executor.url),
    ))
}

/// The innermost reason of an error.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
