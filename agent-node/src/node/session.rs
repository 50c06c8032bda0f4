//! The node's loop: one owner of leases, attempts and results, fed by the link and by time.
//!
//! Shutdown, once: take no more work → let attempts end within the grace → cancel them and give
//! their leases back → close the runner → wait for results to be acknowledged → leave. Every
//! stage has an end.

mod stream;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message as Heard;
use muster_proto::v1::result_ack::Verdict;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::config::NodeError;
use super::leases::{Leases, Terms, Token};
use super::link::LinkEvent;
use super::slot::{Granted, Slot, root_span};
use crate::attempt::News;
use stream::Stream;

/// News that wait for the loop.
pub(super) const NEWS: usize = 256;
/// How long cancelled attempts may take to end before they are dropped where they stand.
const WIND_DOWN: Duration = Duration::from_secs(15);
/// How long the coordinator may take to acknowledge the last results, and then to hang up.
pub(super) const FLUSH: Duration = Duration::from_secs(5);

/// Most leases a slot, results included that a slow coordinator did not acknowledge yet.
const HELD_PER_SLOT: usize = 8;

/// What a session is told at its start.
pub(super) struct Facts {
    /// Of this node; what it holds is filled in.
    pub(super) hello: v1::Hello,
    /// See [`super::NodeConfig::grace`].
    pub(super) grace: Duration,
    /// Names the coordinator in errors.
    pub(super) coordinator: String,
}

/// See the module.
pub(super) struct Session {
    facts: Facts,
    slot: Slot,
    news: mpsc::Receiver<(Token, News)>,
    stage: Stage,
    stream: Option<Stream>,
    /// As the coordinator last told them; none = it never did.
    terms: Option<Terms>,
    leases: Leases,
    /// Leases for which no slot is free yet.
    waiting: VecDeque<Granted>,
    /// Attempts that run, also those whose lease is gone.
    attempts: JoinSet<Option<Vec<u8>>>,
    running: HashMap<Id, Running>,
    /// Encoded results that are not acknowledged.
    results: BTreeMap<Token, Vec<u8>>,
    /// Why the node ends, other than by its shutdown.
    failed: Option<NodeError>,
}

struct Running {
    token: Token,
    try_: u32,
    cancel: CancellationToken,
}

/// Where a node is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Working,
    /// No more work; attempts may go on until then.
    Draining(Instant),
    /// Attempts are cancelled, and dropped then.
    Cancelling(Instant),
    /// The runner is being closed.
    Closing,
    /// Results may be acknowledged until then.
    Flushing(Instant),
}

impl Session {
    /// `news` is the other end of the slot's.
    pub(super) fn new(facts: Facts, slot: Slot, news: mpsc::Receiver<(Token, News)>) -> Self {
        Self {
            facts,
            slot,
            news,
            stage: Stage::Working,
            stream: None,
            terms: None,
            leases: Leases::default(),
            waiting: VecDeque::new(),
            attempts: JoinSet::new(),
            running: HashMap::new(),
            results: BTreeMap::new(),
            failed: None,
        }
    }

    /// Runs until `shutdown` and the stages after it, or until the coordinator refuses the node.
    pub(super) async fn run(
        mut self,
        mut link: mpsc::Receiver<LinkEvent>,
        shutdown: CancellationToken,
    ) -> Result<(), NodeError> {
        let runner = Arc::clone(&self.slot.runner);
        let closing = runner.close();
        tokio::pin!(closing);
        loop {
            self.advance();
            if self.over() {
                return self.failed.map_or(Ok(()), Err);
            }
            let wake = self.wake();
            tokio::select! {
                Some(event) = link.recv() => self.hear(event),
                Some(ended) = self.attempts.join_next_with_id() => match ended {
                    Ok((id, result)) => self.ended(id, result),
                    Err(error) => self.ended(error.id(), None),
                },
                Some((token, news)) = self.news.recv() => self.report(&token, news),
                () = shutdown.cancelled(), if self.stage == Stage::Working => self.drain(),
                () = &mut closing, if self.stage == Stage::Closing => {
                    self.stage = Stage::Flushing(Instant::now() + FLUSH);
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.keep_time(Instant::now());
        }
    }

    /// When something is due that no event announces; none = nothing is.
    fn wake(&self) -> Option<Instant> {
        let stage = match self.stage {
            Stage::Working | Stage::Closing => None,
            Stage::Draining(until) | Stage::Cancelling(until) | Stage::Flushing(until) => {
                Some(until)
            }
        };
        let beat = self.stream.as_ref().and_then(Stream::beat_due);
        [stage, beat, self.leases.next_fence()]
            .into_iter()
            .flatten()
            .min()
    }

    fn keep_time(&mut self, now: Instant) {
        for token in self.leases.fence(now) {
            tracing::warn!(%token, "no beat was acknowledged in time: the lease is given up");
            self.give_up(&token);
        }
        self.beat(now);
    }

    // Shutdown.

    /// Moves on to the next stage when the one before it is done.
    fn advance(&mut self) {
        let now = Instant::now();
        if let Stage::Draining(until) = self.stage
            && (until <= now || self.attempts.is_empty())
        {
            let running = self.running.values().map(|running| running.token.clone());
            let returned: Vec<Token> = running.filter(|token| self.leases.holds(token)).collect();
            for token in &returned {
                self.leases.remove(token);
                self.give_up(token);
            }
            if !returned.is_empty() {
                self.say_drain(&returned);
            }
            self.stage = Stage::Cancelling(now + WIND_DOWN);
        }
        if let Stage::Cancelling(until) = self.stage {
            if until <= now {
                tracing::warn!(
                    attempts = self.attempts.len(),
                    "cancelled attempts did not end in time"
                );
                // Dropping the set aborts them; what they held goes to its reapers.
                self.attempts = JoinSet::new();
                self.running.clear();
            }
            if self.attempts.is_empty() {
                self.stage = Stage::Closing;
            }
        }
    }

    fn over(&self) -> bool {
        match self.stage {
            Stage::Flushing(until) => {
                let reachable = self.failed.is_none() && self.stream.is_some();
                self.results.is_empty() || !reachable || until <= Instant::now()
            }
            Stage::Working | Stage::Draining(_) | Stage::Cancelling(_) | Stage::Closing => false,
        }
    }

    fn drain(&mut self) {
        tracing::info!(
            attempts = self.attempts.len(),
            "the node takes no more work"
        );
        self.stage = Stage::Draining(Instant::now() + self.facts.grace);
        let waiting: Vec<Token> = self
            .waiting
            .drain(..)
            .map(|granted| granted.token)
            .collect();
        for token in &waiting {
            self.leases.remove(token);
        }
        self.say_drain(&waiting);
    }

    fn fail(&mut self, error: NodeError) {
        self.failed.get_or_insert(error);
        self.waiting.clear();
        if matches!(self.stage, Stage::Working | Stage::Draining(_)) {
            self.stage = Stage::Draining(Instant::now());
        }
    }

    // The coordinator's words.

    fn hear(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Opening(out) => {
                let hello = v1::Hello {
                    held: self.leases.tokens(),
                    ..self.facts.hello.clone()
                };
                self.stream = Some(Stream::open(out, hello, Instant::now()));
            }
            LinkEvent::Closed => self.stream = None,
            LinkEvent::Refused(problem) => {
                self.stream = None;
                let coordinator = self.facts.coordinator.clone();
                self.fail(NodeError::Refused {
                    coordinator,
                    problem,
                });
            }
            LinkEvent::Message(message) => {
                if let Some(stream) = &mut self.stream {
                    stream.heard(Instant::now());
                }
                self.obey(*message);
            }
        }
    }

    fn obey(&mut self, message: Heard) {
        match message {
            Heard::Welcome(welcome) => self.welcomed(&welcome),
            Heard::Lease(lease) => self.leased(lease),
            Heard::BeatAck(ack) => {
                let revoked: Vec<Token> = ack.revoked.iter().map(Token::from).collect();
                if let Some(terms) = self.terms {
                    self.leases.acknowledged(ack.number, &revoked, terms);
                }
                self.revoked(&revoked, "the beat's answer says so");
            }
            Heard::ResultAck(ack) => self.acknowledged(&ack),
            Heard::Revoke(revoke) => {
                let token = revoke.token.as_ref().map(Token::from);
                self.revoked(token.as_slice(), &revoke.reason);
            }
            // The link ends the stream by it and tells us so.
            Heard::Refused(_) => {}
        }
    }

    fn welcomed(&mut self, welcome: &v1::Welcome) {
        match Terms::try_from(welcome) {
            Ok(terms) => self.terms = Some(terms),
            Err(reason) => {
                let problem = muster_proto::outcome::Problem::new(
                    muster_proto::code::ErrorCode::InvalidConfig,
                    format!("its times are impossible: {reason}"),
                );
                let coordinator = self.facts.coordinator.clone();
                return self.fail(NodeError::Refused {
                    coordinator,
                    problem,
                });
            }
        }
        let revoked: Vec<Token> = welcome.revoked.iter().map(Token::from).collect();
        self.revoked(
            &revoked,
            "they no longer held when the stream was opened again",
        );
        if let Some(stream) = &mut self.stream {
            stream.welcomed(Instant::now());
        }
        if self.stage != Stage::Working {
            self.say_drain(&[]);
        }
        self.send_results();
    }

    fn leased(&mut self, lease: v1::Lease) {
        let (Some(token), Some(unit), Some(terms)) = (&lease.token, &lease.unit, self.terms) else {
            tracing::error!(
                "a lease without token or unit, or before the welcome, is left to expire"
            );
            return;
        };
        let (token, unit) = (Token::from(token), unit.clone());
        if self.stage != Stage::Working {
            return self.say_drain(&[token]);
        }
        // One attempt more a slot may wait: the one before may still be cleaning up.
        let full =
            self.waiting.len() >= self.slots() || self.leases.len() >= HELD_PER_SLOT * self.slots();
        if full {
            tracing::warn!(%token, "a lease beyond the slots is left to expire");
            return;
        }
        if self.leases.grant(token.clone(), terms, Instant::now()) {
            let cancel = CancellationToken::new();
            self.waiting.push_back(Granted {
                token,
                lease,
                unit,
                cancel,
            });
            self.start();
        }
    }

    fn revoked(&mut self, tokens: &[Token], reason: &str) {
        for token in tokens {
            let held = self.leases.remove(token);
            if self.give_up(token) || held {
                tracing::info!(%token, reason, "a lease is revoked");
            }
        }
    }

    fn acknowledged(&mut self, ack: &v1::ResultAck) {
        let Some(token) = ack.token.as_ref().map(Token::from) else {
            return;
        };
        self.leases.remove(&token);
        self.results.remove(&token);
        match ack.verdict() {
            Verdict::Accepted => tracing::debug!(%token, "the result is committed"),
            Verdict::Duplicate => tracing::debug!(%token, "the result was committed before"),
            Verdict::Fenced => {
                tracing::warn!(%token, "the result came too late and counts for nothing")
            }
            Verdict::Unspecified => {
                tracing::warn!(%token, "the result has an answer that this version does not know")
            }
        }
    }

    // Attempts.

    fn slots(&self) -> usize {
        self.facts.hello.slots as usize
    }

    /// Starts waiting attempts while slots are free.
    fn start(&mut self) {
        while self.attempts.len() < self.slots()
            && let Some(granted) = self.waiting.pop_front()
        {
            let span = root_span(&granted, &self.slot.node);
            let running = Running {
                token: granted.token.clone(),
                try_: granted.lease.r#try,
                cancel: granted.cancel.clone(),
            };
            let task = self
                .attempts
                .spawn(self.slot.clone().work(granted).instrument(span));
            self.running.insert(task.id(), running);
        }
    }

    /// Cancels a lease's attempt, wherever it is, and drops its result. False if there was none.
    fn give_up(&mut self, token: &Token) -> bool {
        let waited = self.waiting.len();
        self.waiting.retain(|granted| granted.token != *token);
        let running = self
            .running
            .values()
            .find(|running| running.token == *token);
        if let Some(running) = running {
            running.cancel.cancel();
        }
        let had_result = self.results.remove(token).is_some();
        running.is_some() || had_result || self.waiting.len() < waited
    }

    fn ended(&mut self, id: Id, result: Option<Vec<u8>>) {
        if let Some(running) = self.running.remove(&id) {
            match result {
                Some(result) if self.leases.holds(&running.token) => {
                    self.results.insert(running.token, result);
                    self.send_results();
                }
                _ => {
                    // If its lease still holds, the attempt broke beyond a result: let it expire.
                    self.leases.remove(&running.token);
                    tracing::debug!(token = %running.token, "an attempt ended without a result");
                }
            }
        }
        if self.stage == Stage::Working {
            self.start();
        }
    }

    // Our words.

    fn beat(&mut self, now: Instant) {
        let (Some(stream), Some(terms)) = (&mut self.stream, self.terms) else {
            return;
        };
        if stream.beat_due().is_none_or(|due| due > now) {
            return;
        }
        if stream.silent(terms, now) {
            tracing::warn!("the coordinator is silent: dialling again");
            if let Some(stream) = self.stream.take() {
                stream.hang_up();
            }
            return;
        }
        stream.beat(self.leases.beat(now), now + terms.beat);
        self.send_results();
    }

    /// Sends what did not go out on this stream yet.
    fn send_results(&mut self) {
        if let Some(stream) = &mut self.stream {
            for (token, result) in &self.results {
                if !stream.result(token, result) {
                    return;
                }
            }
        }
    }

    fn say_drain(&self, returned: &[Token]) {
        if let Some(stream) = &self.stream {
            stream.drain(returned);
        }
    }

    fn report(&self, token: &Token, news: News) {
        let running = self
            .running
            .values()
            .find(|running| running.token == *token);
        if let (Some(stream), Some(running)) = (&self.stream, running) {
            stream.news(&self.facts.hello.node_id, token, running.try_, news);
        }
    }
}
