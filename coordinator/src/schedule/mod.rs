//! Who runs what, when: a pure `(state, event, now) → effects`. No clock, no I/O, no async.
//!
//! Doors in reading order: [`Event`] and [`Effect`], [`State::step`], then one file per matter:
//! `assign` (which unit to which node), `lease` (renewal, expiry, return), `result`, `stop` (cancelling,
//! giving up, the end of a run), [`policy`] (what follows an attempt), [`queue`]. Facts are applied
//! to the run's fold as they are emitted, so that a restart, which folds the stored facts, comes to
//! the same state.
//!
//! `now` is the time since the coordinator started and never goes back.

mod assign;
mod lease;
pub mod policy;
pub mod queue;
mod result;
mod stop;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use muster_proto::id::{NodeId, RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::run_event::Event as Fact;

use crate::runs::fold::{Phase, RunFold};
use queue::{Needs, Queues};

/// How the scheduler behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A lease lasts this long after its last renewal.
    pub lease: Duration,
    /// Leases that a unit may lose, and infrastructure failures that it may have, before it ends;
    /// at least 1.
    pub infra_tries: u32,
    /// How long a unit waits for a node that has what it needs, and a run for any node at all.
    pub node_grace: Duration,
    /// An attempt that outlives its test's timeout by this much loses its lease.
    pub overrun: Duration,
    /// Where nodes find recordings.
    pub namespace: String,
}

/// A lease, as nodes name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The run.
    pub run: RunId,
    /// The unit.
    pub unit: UnitId,
    /// Which of the unit's leases.
    pub epoch: u64,
    /// Generation of the run's log that granted it.
    pub generation: u64,
}

impl From<v1::LeaseToken> for Token {
    fn from(token: v1::LeaseToken) -> Self {
        Self {
            run: RunId(token.run_id),
            unit: UnitId(token.unit_id),
            epoch: token.epoch,
            generation: token.generation,
        }
    }
}

impl From<Token> for v1::LeaseToken {
    fn from(token: Token) -> Self {
        Self {
            run_id: token.run.0,
            unit_id: token.unit.0,
            epoch: token.epoch,
            generation: token.generation,
        }
    }
}

/// What a node offers.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// E.g. `browser:chromium`, `egress`.
    pub capabilities: Needs,
    /// Attempts at once.
    pub slots: usize,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A run was submitted; its log already holds the plan.
    Submitted {
        run: RunId,
        generation: u64,
        manifest: v1::Manifest,
    },
    /// A run of an earlier process goes on.
    Resumed(Resumed),
    /// A node's stream begins. Leases of its that it doesn't hold go back.
    Attached {
        node: NodeId,
        offer: Offer,
        held: Vec<Token>,
    },
    /// A node's stream broke; its leases last until they expire.
    Detached { node: NodeId },
    /// A node renews its leases.
    Beat {
        node: NodeId,
        number: u64,
        held: Vec<Token>,
    },
    /// A node says how an attempt ended; the bytes are an AttemptResult that could be decoded and
    /// is about the token's unit.
    Result {
        node: NodeId,
        token: Token,
        result: Vec<u8>,
    },
    /// A node's result can't be read: an infrastructure failure.
    Unreadable {
        node: NodeId,
        token: Token,
        reason: String,
    },
    /// The recordings of a committed result are settled.
    Settled {
        run: RunId,
        unit: UnitId,
        epoch: u64,
        settled: Vec<v1::Settled>,
    },
    /// A node takes no more work and gives some back.
    Drained {
        node: NodeId,
        returned: Vec<Token>,
        reason: String,
    },
    /// Somebody (no problem) or something stops a run.
    Cancelled {
        run: RunId,
        reason: String,
        problem: Option<v1::Problem>,
    },
    /// Time passed; see [`State::wake`].
    Tick,
}

/// A run as its store knows it.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The run.
    pub run: RunId,
    /// Its new generation.
    pub generation: u64,
    /// Its facts with the generation that each was written under.
    pub facts: Vec<(u64, Fact)>,
    /// Results that are committed but whose fact is missing: unit, epoch, bytes.
    pub pending: Vec<(UnitId, u64, Vec<u8>)>,
}

/// What is to be done, in order. `Fact` and `Commit` are made durable before any message goes out.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append to the run's log.
    Fact { run: RunId, fact: Fact },
    /// Keep an attempt's result: from here on it stands.
    Commit {
        run: RunId,
        unit: UnitId,
        epoch: u64,
        result: Vec<u8>,
    },
    /// Settle the recordings of a committed result, then say [`Event::Settled`].
    Settle {
        run: RunId,
        unit: UnitId,
        epoch: u64,
        result: Vec<u8>,
        mode: v1::CacheMode,
    },
    /// Send to a node.
    Send {
        node: NodeId,
        message: Box<v1::coordinator_message::Message>,
    },
    /// Nothing follows for this run.
    Over { run: RunId },
}

impl Effect {
    fn send(node: NodeId, message: v1::coordinator_message::Message) -> Self {
        Self::Send {
            node,
            message: Box::new(message),
        }
    }
}

/// Everything the scheduler knows.
#[derive(Debug)]
pub struct State {
    settings: Settings,
    nodes: BTreeMap<NodeId, Node>,
    runs: HashMap<RunId, Run>,
    /// Runs that are not over, the next one to be served first.
    turn: VecDeque<RunId>,
    /// Runs that are over, oldest first, kept a while so that late results get the right answer.
    over: VecDeque<RunId>,
    /// Since when no node takes work; none = one does.
    lonely_since: Option<Duration>,
}

/// Finished runs that are remembered.
const REMEMBERED: usize = 64;

#[derive(Debug)]
struct Node {
    offer: Offer,
    connected: bool,
    draining: bool,
    /// A lease of its ran out for want of beats, and nothing was heard of it since. Its stream may
    /// take a while longer to break.
    silent: bool,
    leases: BTreeSet<(RunId, usize)>,
}

impl Node {
    fn takes_work(&self) -> bool {
        self.connected && !self.draining && !self.silent
    }

    fn free(&self) -> usize {
        if self.takes_work() {
            self.offer.slots.saturating_sub(self.leases.len())
        } else {
            0
        }
    }
}

#[derive(Debug)]
struct Run {
    fold: RunFold,
    generation: u64,
    since: Duration,
    queues: Queues,
    leases: BTreeMap<usize, Lease>,
    /// Committed results whose recordings are being settled: unit → epoch and who waits for it.
    settling: BTreeMap<usize, Settling>,
    /// Since when nobody offers what some unit needs.
    unmet: BTreeMap<Needs, Duration>,
}

#[derive(Debug)]
struct Lease {
    node: NodeId,
    epoch: u64,
    generation: u64,
    deadline: Duration,
    /// No renewal goes beyond this; none = no limit.
    limit: Option<Duration>,
}

#[derive(Debug)]
struct Settling {
    node: Option<NodeId>,
    token: Token,
    result: Vec<u8>,
}

impl State {
    /// No nodes, no runs.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            nodes: BTreeMap::new(),
            runs: HashMap::new(),
            turn: VecDeque::new(),
            over: VecDeque::new(),
            lonely_since: Some(Duration::ZERO),
        }
    }

    /// Takes in one event and everything that follows from it by `now`.
    pub fn step(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        let out = &mut effects;
        if let Event::Beat { node, .. } | Event::Result { node, .. } = &event
            && let Some(node) = self.nodes.get_mut(node)
        {
            node.silent = false;
        }
        match event {
            Event::Submitted {
                run,
                generation,
                manifest,
            } => {
                self.insert(run, RunFold::plan(manifest), generation, now);
            }
            Event::Resumed(resumed) => self.resume(resumed, now, out),
            Event::Attached { node, offer, held } => self.attach(node, offer, &held, now, out),
            Event::Detached { node } => self.detach(&node),
            Event::Beat { node, number, held } => self.beat(node, number, &held, now, out),
            Event::Result {
                node,
                token,
                result,
            } => self.result(node, token, result, out),
            Event::Unreadable {
                node,
                token,
                reason,
            } => self.unreadable(node, token, &reason, out),
            Event::Settled {
                run,
                unit,
                epoch,
                settled,
            } => self.settled(&run, &unit, epoch, settled, out),
            Event::Drained {
                node,
                returned,
                reason,
            } => self.drain(&node, returned, &reason, out),
            Event::Cancelled {
                run,
                reason,
                problem,
            } => self.cancel(&run, reason, problem, out),
            Event::Tick => {}
        }
        self.expire(now, out);
        self.note_absence(now);
        self.give_up(now, out);
        self.finish(out);
        self.assign(now, out);
        effects
    }

    /// When the next [`Event::Tick`] is due; none = only after another event.
    pub fn wake(&self) -> Option<Duration> {
        let leases = self
            .turn
            .iter()
            .flat_map(|id| self.runs[id].leases.values())
            .map(|lease| lease.deadline);
        let grace = self.settings.node_grace;
        let unmet = self
            .turn
            .iter()
            .flat_map(|id| self.runs[id].unmet.values())
            .map(|since| *since + grace);
        let lonely = self
            .turn
            .iter()
            .filter_map(|id| self.lonely(&self.runs[id]))
            .map(|since| since + grace);
        leases.chain(unmet).chain(lonely).min()
    }

    /// The runs whose unit of this id a node holds; one, unless two runs hold the same test at once.
    pub fn holders(&self, node: &NodeId, unit: &str) -> Vec<RunId> {
        let Some(node) = self.nodes.get(node) else {
            return Vec::new();
        };
        let same = node
            .leases
            .iter()
            .filter(|(run, n)| self.runs[run].fold.manifest.units[*n].unit_id == unit);
        same.map(|(run, _)| run.clone()).collect()
    }

    fn resume(&mut self, resumed: Resumed, now: Duration, out: &mut Vec<Effect>) {
        let Resumed {
            run: id,
            generation,
            facts,
            pending,
        } = resumed;
        let Some(fold) = RunFold::of(facts.iter().map(|(_, fact)| fact)) else {
            return;
        };
        self.insert(id.clone(), fold, generation, now);
        // The leases of the earlier process go on under their own tokens, as if renewed now: their
        // nodes may be on their way back.
        for (granted, fact) in facts {
            if let Fact::Leased(leased) = fact {
                self.restore_lease(&id, granted, &leased, now);
            }
        }
        for (unit, epoch, result) in pending {
            self.restore_settling(&id, unit, epoch, result, out);
        }
    }

    fn insert(&mut self, id: RunId, fold: RunFold, generation: u64, now: Duration) {
        let mut queues = Queues::new(&fold.manifest.units);
        for (n, unit) in fold.units.iter().enumerate() {
            if unit.phase == Phase::Waiting {
                queues.push(n);
            }
        }
        let run = Run {
            fold,
            generation,
            since: now,
            queues,
            leases: BTreeMap::new(),
            settling: BTreeMap::new(),
            unmet: BTreeMap::new(),
        };
        self.runs.insert(id.clone(), run);
        self.turn.push_back(id);
    }
}

impl Run {
    /// Applies a fact and hands it on.
    fn emit(&mut self, id: &RunId, fact: Fact, out: &mut Vec<Effect>) {
        self.fold.apply(&fact);
        out.push(Effect::Fact {
            run: id.clone(),
            fact,
        });
    }

    fn unit_id(&self, n: usize) -> &str {
        &self.fold.manifest.units[n].unit_id
    }
}
