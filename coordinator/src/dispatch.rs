//! The loop that ties the pure scheduler to stores, streams and the clock.
//!
//! One task owns the scheduler's state. It takes a batch of commands, steps the state, makes facts
//! and commits durable, and only then lets anybody see them: watchers, nodes, submitters. If a log
//! can't be written the loop ends, for nothing may be promised that would not survive; a restart
//! goes on from what is durable.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use muster_cache_store::ReplayStore;
use muster_proto::id::{NodeId, RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::run_event::Event as Fact;
use prost::Message as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::CoordinatorConfig;
use crate::feed::Feeds;
use crate::runs::{Batch, Commit, RunStore, RunStoreError};
use crate::schedule::{Effect, Event, Offer, Resumed, State, Token};
use crate::settlement;
use crate::spans::Spans;

/// Commands that may wait for the loop.
const QUEUE: usize = 1024;
/// Commands that share one durable step.
const BATCH: usize = 128;
/// Messages that a node may be behind before its stream is dropped.
pub(crate) const OUTBOX: usize = 1024;

/// What the services ask of the loop.
pub(crate) enum Command {
    Submit {
        manifest: v1::Manifest,
        key: String,
        reply: oneshot::Sender<Result<RunId, RunStoreError>>,
    },
    Cancel {
        run: RunId,
        reason: String,
        problem: Option<v1::Problem>,
        reply: oneshot::Sender<()>,
    },
    Attach {
        node: NodeId,
        offer: Offer,
        held: Vec<Token>,
        session: Session,
    },
    Detach {
        node: NodeId,
        session: u64,
    },
    Node(Event),
    Progress {
        node: NodeId,
        progress: v1::Progress,
    },
}

/// The way to a node.
pub(crate) type Outbox = mpsc::Sender<Result<v1::CoordinatorMessage, tonic::Status>>;

/// The loop is over; so is the coordinator.
#[derive(Debug)]
pub(crate) struct Closed;

/// A door to the loop.
#[derive(Clone)]
pub(crate) struct Dispatch {
    commands: mpsc::Sender<Command>,
    pub(crate) feeds: Feeds,
}

impl Dispatch {
    /// Waits for room.
    pub(crate) async fn send(&self, command: Command) -> Result<(), Closed> {
        self.commands.send(command).await.map_err(|_| Closed)
    }

    /// Drops what finds no room: for progress alone.
    pub(crate) fn offer(&self, command: Command) {
        if self.commands.try_send(command).is_err() {
            tracing::trace!("progress dropped");
        }
    }
}

/// A node's stream, as the loop sees it. Letting it go cuts the stream.
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) outbox: Outbox,
    /// Cancels what the stream's task waits for.
    pub(crate) _cut: DropGuard,
}

/// The loop's own things.
pub(crate) struct Loop {
    config: CoordinatorConfig,
    runs: Arc<dyn RunStore>,
    state: State,
    start: Instant,
    sessions: HashMap<NodeId, Session>,
    /// Nodes whose stream was cut in this turn.
    cut: Vec<NodeId>,
    generations: HashMap<RunId, u64>,
    settling: JoinSet<Event>,
    feeds: Feeds,
    spans: Spans,
    commands: mpsc::Receiver<Command>,
}

impl Loop {
    /// A loop, with the runs that it takes up again, and the door to it.
    pub(crate) async fn new(
        config: CoordinatorConfig,
        runs: Arc<dyn RunStore>,
    ) -> Result<(Self, Dispatch), RunStoreError> {
        let (sender, commands) = mpsc::channel(QUEUE);
        let feeds = Feeds::default();
        let mut this = Self {
            state: State::new(config.settings()),
            config,
            runs,
            start: Instant::now(),
            sessions: HashMap::new(),
            cut: Vec::new(),
            generations: HashMap::new(),
            settling: JoinSet::new(),
            feeds: feeds.clone(),
            spans: Spans::default(),
            commands,
        };
        if this.config.resume {
            this.resume().await?;
        }
        Ok((
            this,
            Dispatch {
                commands: sender,
                feeds,
            },
        ))
    }

    async fn resume(&mut self) -> Result<(), RunStoreError> {
        for unfinished in self.runs.take_over().await? {
            let run = unfinished.run;
            let sequence = |fact: &v1::RunEvent| {
                fact.cursor
                    .as_ref()
                    .map_or((0, 0), |c| (c.generation, c.sequence))
            };
            let head = unfinished.facts.last().map_or(0, |fact| sequence(fact).1);
            tracing::info!(muster.run.id = %run, muster.run.generation = unfinished.generation, "run goes on");
            if let Some(Fact::Planned(v1::Planned {
                manifest: Some(manifest),
            })) = unfinished
                .facts
                .first()
                .and_then(|fact| fact.event.as_ref())
            {
                self.spans.open(&run, manifest);
            }
            self.feeds.open(&run, head);
            self.generations.insert(run.clone(), unfinished.generation);
            let facts = unfinished
                .facts
                .into_iter()
                .filter_map(|fact| Some((sequence(&fact).0, fact.event?)));
            let pending = unfinished
                .pending
                .into_iter()
                .map(|commit| (commit.unit, commit.epoch, commit.result));
            let resumed = Resumed {
                run,
                generation: unfinished.generation,
                facts: facts.collect(),
                pending: pending.collect(),
            };
            let effects = self
                .state
                .step(Event::Resumed(resumed), self.start.elapsed());
            self.perform(effects).await?;
        }
        Ok(())
    }

    /// Runs until `stop`, or until a log can't be written; then everything else stops too.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<(), RunStoreError> {
        let done = self.turn_until(&stop).await;
        if let Err(error) = &done {
            tracing::error!(%error, "the coordinator stops: a run's log can't be written");
        }
        self.feeds.close_all();
        self.settling.shutdown().await;
        stop.cancel();
        done
    }

    async fn turn_until(&mut self, stop: &CancellationToken) -> Result<(), RunStoreError> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wake = self.state.wake().map(|at| self.start + at);
            let alarm = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                taken = self.commands.recv_many(&mut batch, BATCH) => {
                    if taken == 0 {
                        return Ok(());
                    }
                    self.take(&mut batch).await?;
                }
                Some(settled) = self.settling.join_next() => match settled {
                    Ok(event) => self.step(event).await?,
                    Err(error) => tracing::error!(%error, "a settlement was cut off"),
                },
                () = alarm => self.step(Event::Tick).await?,
            }
            while let Some(node) = self.cut.pop() {
                self.step(Event::Detached { node }).await?;
            }
        }
    }

    async fn step(&mut self, event: Event) -> Result<(), RunStoreError> {
        let effects = self.state.step(event, self.start.elapsed());
        self.perform(effects).await
    }

    async fn take(&mut self, batch: &mut Vec<Command>) -> Result<(), RunStoreError> {
        let mut effects = Vec::new();
        let mut answers = Vec::new();
        for command in batch.drain(..) {
            let event = match command {
                Command::Submit {
                    manifest,
                    key,
                    reply,
                } => {
                    self.perform(std::mem::take(&mut effects)).await?;
                    let answer = self.submit(manifest, &key).await?;
                    reply.send(answer).unwrap_or_default();
                    continue;
                }
                Command::Cancel {
                    run,
                    reason,
                    problem,
                    reply,
                } => {
                    answers.push(reply);
                    Event::Cancelled {
                        run,
                        reason,
                        problem,
                    }
                }
                Command::Attach {
                    node,
                    offer,
                    held,
                    session,
                } => {
                    self.sessions.insert(node.clone(), session);
                    Event::Attached { node, offer, held }
                }
                Command::Detach { node, session } => {
                    // An older stream of a node that has come back already is no news.
                    if self
                        .sessions
                        .get(&node)
                        .is_none_or(|newest| newest.id != session)
                    {
                        continue;
                    }
                    self.sessions.remove(&node);
                    Event::Detached { node }
                }
                Command::Node(event) => event,
                Command::Progress { node, progress } => {
                    for run in self.state.holders(&node, &progress.unit_id) {
                        self.feeds.progress(&run, progress.clone());
                    }
                    continue;
                }
            };
            effects.extend(self.state.step(event, self.start.elapsed()));
        }
        self.perform(effects).await?;
        for answer in answers {
            answer.send(()).unwrap_or_default();
        }
        Ok(())
    }

    /// The inner error is the submitter's; the outer one ends the loop.
    async fn submit(
        &mut self,
        manifest: v1::Manifest,
        key: &str,
    ) -> Result<Result<RunId, RunStoreError>, RunStoreError> {
        match self.runs.find(key).await {
            Ok(Some(run)) => return Ok(Ok(run)),
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
        let run = RunId::generate();
        let planned = Fact::Planned(v1::Planned {
            manifest: Some(manifest.clone()),
        });
        let first = Batch {
            facts: vec![event(1, 1, planned)],
            commits: Vec::new(),
        };
        if let Err(error) = self.runs.create(&run, key, first).await {
            return Ok(Err(error));
        }
        self.spans.open(&run, &manifest);
        self.feeds.open(&run, 1);
        self.generations.insert(run.clone(), 1);
        let submitted = Event::Submitted {
            run: run.clone(),
            generation: 1,
            manifest,
        };
        let effects = self.state.step(submitted, self.start.elapsed());
        self.perform(effects).await?;
        Ok(Ok(run))
    }

    /// Makes durable what must be, then lets it be seen, in order.
    async fn perform(&mut self, effects: Vec<Effect>) -> Result<(), RunStoreError> {
        let mut batches: BTreeMap<RunId, (u64, Batch)> = BTreeMap::new();
        for effect in &effects {
            match effect {
                Effect::Fact { run, fact } => {
                    self.spans.note(run, fact);
                    let generation = self.generations.get(run).copied().unwrap_or(1);
                    let (head, batch) = batches
                        .entry(run.clone())
                        .or_insert_with(|| (self.feeds.head(run), Batch::default()));
                    *head += 1;
                    batch.facts.push(event(generation, *head, fact.clone()));
                }
                Effect::Commit {
                    run,
                    unit,
                    epoch,
                    result,
                } => {
                    let (_, batch) = batches
                        .entry(run.clone())
                        .or_insert_with(|| (self.feeds.head(run), Batch::default()));
                    batch.commits.push(Commit {
                        unit: unit.clone(),
                        epoch: *epoch,
                        result: result.clone(),
                    });
                }
                Effect::Settle { .. } | Effect::Send { .. } | Effect::Over { .. } => {}
            }
        }
        for (run, (head, batch)) in batches {
            self.runs.append(&run, batch).await?;
            self.feeds.advance(&run, head);
        }
        for effect in effects {
            match effect {
                Effect::Fact { .. } | Effect::Commit { .. } => {}
                Effect::Settle {
                    run,
                    unit,
                    epoch,
                    result,
                    mode,
                } => self.settle(run, unit, epoch, result, mode),
                Effect::Send { node, message } => self.send(&node, *message),
                Effect::Over { run } => {
                    self.feeds.close(&run);
                    self.generations.remove(&run);
                }
            }
        }
        Ok(())
    }

    fn settle(
        &mut self,
        run: RunId,
        unit: UnitId,
        epoch: u64,
        result: Vec<u8>,
        mode: v1::CacheMode,
    ) {
        let store: Arc<dyn ReplayStore> = self.config.replay_store.clone();
        let namespace = self.config.namespace.clone();
        self.settling.spawn(async move {
            let staged = v1::AttemptResult::decode(result.as_slice())
                .unwrap_or_default()
                .staged;
            let settle = settlement::settle(store.as_ref(), &namespace, mode, &staged);
            // A store's panic must not keep the unit from ending.
            let settled = AssertUnwindSafe(settle)
                .catch_unwind()
                .await
                .unwrap_or_else(|_| {
                    tracing::error!(muster.run.id = %run, "the replay store panicked");
                    Vec::new()
                });
            Event::Settled {
                run,
                unit,
                epoch,
                settled,
            }
        });
    }

    /// A node that doesn't read is dropped; it comes back with what it holds.
    fn send(&mut self, node: &NodeId, mut message: Message) {
        match &mut message {
            Message::Welcome(welcome) => {
                welcome.beat_ms = self.config.beat.as_millis() as u64;
                welcome.lease_ms = self.config.lease.as_millis() as u64;
                welcome.fence_margin_ms = self.config.fence_margin.as_millis() as u64;
            }
            Message::Lease(lease) => {
                let token = lease.token.clone().map(Token::from);
                let traced =
                    token.and_then(|token| self.spans.traceparent(&token.run, &token.unit));
                lease.traceparent = traced.unwrap_or_default();
            }
            Message::BeatAck(_)
            | Message::ResultAck(_)
            | Message::Revoke(_)
            | Message::Refused(_) => {}
        }
        let Some(session) = self.sessions.get(node) else {
            return;
        };
        let message = v1::CoordinatorMessage {
            message: Some(message),
        };
        if session.outbox.try_send(Ok(message)).is_err() {
            tracing::warn!(muster.node.id = %node, "the node's stream is cut: it is gone or doesn't read");
            self.sessions.remove(node);
            self.cut.push(node.clone());
        }
    }
}

fn event(generation: u64, sequence: u64, fact: Fact) -> v1::RunEvent {
    v1::RunEvent {
        cursor: Some(v1::Cursor {
            generation,
            sequence,
        }),
        at: Some(timestamp(jiff::Timestamp::now())),
        event: Some(fact),
    }
}

fn timestamp(at: jiff::Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: at.as_second(),
        nanos: at.subsec_nanosecond(),
    }
}
