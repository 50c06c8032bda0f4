//! The world around the scheduler: a model of nodes and logs that checks all that it does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use muster_proto::id::{NodeId, RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::result_ack::Verdict;
use muster_proto::v1::run_event::Event as Fact;
use prost::Message as _;

use super::{CAPABILITIES, How, INFRA_TRIES, LEASE, NODES, Op, PlannedUnit};
use crate::runs::fold::{Phase, RunFold};
use crate::schedule::{Effect, Event, Offer, Resumed, Settings, State, Token};

fn settings() -> Settings {
    Settings {
        lease: LEASE,
        infra_tries: INFRA_TRIES,
        node_grace: LEASE * 4,
        overrun: LEASE * 3,
        namespace: "local".to_owned(),
    }
}

/// What a node knows of itself.
#[derive(Default)]
pub(super) struct NodeModel {
    connected: bool,
    draining: bool,
    offers: BTreeSet<String>,
    slots: usize,
    pub(super) held: Vec<Token>,
}

/// The world around the scheduler, which checks all that it does.
pub(super) struct World {
    state: State,
    now: Duration,
    pub(super) nodes: Vec<NodeModel>,
    facts: BTreeMap<RunId, Vec<(u64, Fact)>>,
    generations: BTreeMap<RunId, u64>,
    /// Commits without their fact.
    pub(super) settling: Vec<(RunId, UnitId, u64, Vec<u8>)>,
    /// Live leases by the facts.
    live: HashMap<(RunId, String), (u64, NodeId)>,
    /// Every token that ever was.
    tokens: Vec<Token>,
    committed: BTreeSet<(RunId, String, u64)>,
}

fn capabilities(mask: u8) -> BTreeSet<String> {
    let chosen = CAPABILITIES
        .iter()
        .enumerate()
        .filter(|(n, _)| mask & (1 << n) != 0);
    chosen.map(|(_, name)| (*name).to_owned()).collect()
}

fn node_id(node: usize) -> NodeId {
    NodeId(format!("n{node}"))
}

fn result(token: &Token, how: How) -> Vec<u8> {
    let (status, code) = match how {
        How::Pass => (v1::Status::Passed, ""),
        How::Skip => (v1::Status::Skipped, ""),
        How::Product => (v1::Status::Failed, "ASSERTION_FAILED"),
        How::TimedOut => (v1::Status::TimedOut, "TEST_TIMEOUT"),
        How::Configuration => (v1::Status::Failed, "POLICY_DENIED"),
        How::Infrastructure => (v1::Status::Failed, "BROWSER_CRASHED"),
        How::Interrupted => (v1::Status::Interrupted, "CANCELLED"),
        How::StopsRun => (v1::Status::Failed, "MODEL_UNAVAILABLE"),
    };
    let mut result = v1::AttemptResult {
        run_id: token.run.0.clone(),
        unit_id: token.unit.0.clone(),
        epoch: token.epoch,
        problem: (!code.is_empty()).then(|| v1::Problem {
            code: code.to_owned(),
            ..Default::default()
        }),
        stop_run: matches!(how, How::StopsRun),
        ..Default::default()
    };
    result.set_status(status);
    result.encode_to_vec()
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            state: State::new(settings()),
            now: Duration::ZERO,
            nodes: (0..NODES).map(|_| NodeModel::default()).collect(),
            facts: BTreeMap::new(),
            generations: BTreeMap::new(),
            settling: Vec::new(),
            live: HashMap::new(),
            tokens: Vec::new(),
            committed: BTreeSet::new(),
        }
    }

    fn step(&mut self, event: Event) {
        let effects = self.state.step(event, self.now);
        for effect in effects {
            match effect {
                Effect::Fact { run, fact } => self.fact(run, fact),
                Effect::Commit {
                    run, unit, epoch, ..
                } => {
                    let lease = self
                        .live
                        .get(&(run.clone(), unit.0.clone()))
                        .expect("only a live lease commits");
                    assert_eq!(lease.0, epoch, "a stale result is fenced");
                    assert!(
                        self.committed.insert((run, unit.0, epoch)),
                        "no result twice"
                    );
                }
                Effect::Settle {
                    run,
                    unit,
                    epoch,
                    result,
                    ..
                } => self.settling.push((run, unit, epoch, result)),
                Effect::Send { node, message } => self.message(&node, *message),
                Effect::Over { run } => {
                    assert!(matches!(self.facts[&run].last(), Some((_, Fact::Final(_)))))
                }
            }
        }
        self.state.wake();
    }

    fn fact(&mut self, run: RunId, fact: Fact) {
        let log = self.facts.get_mut(&run).expect("the run was submitted");
        assert!(
            !log.iter().any(|(_, fact)| matches!(fact, Fact::Final(_))),
            "nothing follows the final fact"
        );
        let before = RunFold::of(log.iter().map(|(_, fact)| fact)).expect("a plan");
        match &fact {
            Fact::Leased(leased) => {
                let n = before.position(&leased.unit_id).expect("an expected unit");
                assert_eq!(
                    before.units[n].phase,
                    Phase::Waiting,
                    "leased once at a time"
                );
                assert_eq!(leased.epoch, before.units[n].epoch + 1, "epochs only grow");
                assert_eq!(leased.r#try, before.units[n].tries);
                let unit = &before.manifest.units[n];
                assert!(leased.r#try <= unit.retries, "no more retries than allowed");
                assert!(
                    before.units[n].spent < INFRA_TRIES,
                    "no more infrastructure tries than allowed"
                );
                let node_index: usize = leased.node_id[1..].parse().unwrap();
                let node = &self.nodes[node_index];
                assert!(
                    node.connected && !node.draining,
                    "only to nodes that take work"
                );
                assert!(
                    unit.requires
                        .iter()
                        .all(|needs| node.offers.contains(needs)),
                    "capabilities respected"
                );
                let id = NodeId(leased.node_id.clone());
                let busy = self
                    .live
                    .values()
                    .filter(|(_, holder)| *holder == id)
                    .count();
                assert!(busy < node.slots, "slots respected");
                self.live
                    .insert((run.clone(), leased.unit_id.clone()), (leased.epoch, id));
            }
            Fact::Committed(committed) => {
                let n = before
                    .position(&committed.unit_id)
                    .expect("an expected unit");
                assert!(
                    !before.units[n].committed.contains(&committed.epoch),
                    "committed once"
                );
                assert!(self.committed.contains(&(
                    run.clone(),
                    committed.unit_id.clone(),
                    committed.epoch
                )));
                let ended_by_stop = before.cancelled.is_some();
                assert!(
                    ended_by_stop || !matches!(before.units[n].phase, Phase::Ended(_)),
                    "ends once"
                );
                self.live.remove(&(run.clone(), committed.unit_id.clone()));
            }
            Fact::Expired(expired) => {
                self.live.remove(&(run.clone(), expired.unit_id.clone()));
            }
            Fact::Fenced(fenced) => {
                let lease = self.live.get(&(run.clone(), fenced.unit_id.clone()));
                assert!(
                    lease.is_none_or(
                        |(epoch, node)| *epoch != fenced.epoch || node.0 != fenced.node_id
                    )
                );
            }
            Fact::Cancelled(_) => {
                let settling: BTreeSet<_> = self
                    .settling
                    .iter()
                    .map(|(run, unit, ..)| (run, &unit.0))
                    .collect();
                self.live
                    .retain(|(id, unit), _| *id != run || settling.contains(&(id, unit)));
            }
            Fact::Final(last) => {
                self.live.retain(|(id, _), _| *id != run);
                let counts = last.counts.unwrap();
                let sum = counts.passed
                    + counts.flaky
                    + counts.failed
                    + counts.skipped
                    + counts.interrupted
                    + counts.never_run;
                assert_eq!(sum, counts.expected, "every expected unit counts once");
                assert_eq!(counts.expected as usize, before.units.len());
                let green = counts.passed + counts.flaky + counts.skipped == counts.expected;
                assert!(last.exit_code != 0 || green, "never-run is never green");
            }
            Fact::Planned(_) | Fact::Progress(_) | Fact::Reset(_) => {
                panic!("the scheduler emits no {fact:?}")
            }
        }
        log.push((self.generations[&run], fact));
    }

    fn message(&mut self, id: &NodeId, message: Message) {
        let index: usize = id.0[1..].parse().unwrap();
        let node = &mut self.nodes[index];
        let gone: Vec<Token> = match message {
            Message::Lease(lease) => {
                assert!(node.connected, "nothing is leased to who is not there");
                let token = Token::from(lease.token.unwrap());
                node.held.push(token.clone());
                self.tokens.push(token);
                return;
            }
            Message::Welcome(welcome) => welcome.revoked.into_iter().map(Token::from).collect(),
            Message::BeatAck(ack) => ack.revoked.into_iter().map(Token::from).collect(),
            Message::Revoke(revoke) => revoke.token.into_iter().map(Token::from).collect(),
            Message::ResultAck(ack) => {
                let token = Token::from(ack.token.clone().unwrap());
                let committed = self.committed.contains(&(
                    token.run.clone(),
                    token.unit.0.clone(),
                    token.epoch,
                ));
                assert!(ack.verdict() == Verdict::Fenced || committed);
                vec![token]
            }
            Message::Refused(refused) => panic!("the scheduler refuses nobody: {refused:?}"),
        };
        node.held.retain(|token| !gone.contains(token));
    }

    pub(super) fn apply(&mut self, op: Op) {
        match op {
            Op::Submit {
                units,
                max_failures,
            } => self.submit(units, max_failures),
            Op::Attach {
                node,
                offers,
                slots,
                forgets,
            } => self.attach(node, offers, slots, forgets),
            Op::Detach { node } => {
                self.nodes[node].connected = false;
                self.step(Event::Detached {
                    node: node_id(node),
                });
            }
            Op::Beat { node } => self.beat(node),
            Op::Finish { node, pick, how } => {
                if let Some(token) = self.pick(node, pick) {
                    let result = result(&token, how);
                    self.step(Event::Result {
                        node: node_id(node),
                        token,
                        result,
                    });
                }
            }
            Op::Stale { node, pick } => {
                if let Some(token) = self.tokens.get(pick).cloned() {
                    let result = result(&token, How::Pass);
                    self.step(Event::Result {
                        node: node_id(node),
                        token,
                        result,
                    });
                }
            }
            Op::Unreadable { node, pick } => {
                if let Some(token) = self.pick(node, pick) {
                    self.step(Event::Unreadable {
                        node: node_id(node),
                        token,
                        reason: "odd".to_owned(),
                    });
                }
            }
            Op::Settle { pick } => self.settle(pick),
            Op::Drain { node, pick } => {
                let returned: Vec<_> = self.pick(node, pick).into_iter().collect();
                self.nodes[node]
                    .held
                    .retain(|token| !returned.contains(token));
                if self.nodes[node].connected {
                    self.nodes[node].draining = true;
                }
                self.step(Event::Drained {
                    node: node_id(node),
                    returned,
                    reason: "leaving".to_owned(),
                });
            }
            Op::Cancel { pick, by_condition } => {
                let Some(run) = self.facts.keys().nth(pick).cloned() else {
                    return;
                };
                let problem = v1::Problem {
                    code: "APP_UNREACHABLE".to_owned(),
                    ..Default::default()
                };
                let problem = by_condition.then_some(problem);
                self.step(Event::Cancelled {
                    run,
                    reason: "enough".to_owned(),
                    problem,
                });
            }
            Op::Advance { ms } => self.advance(Duration::from_millis(ms)),
            Op::Restart => self.restart(),
        }
    }

    pub(super) fn submit(&mut self, units: Vec<PlannedUnit>, max_failures: u32) {
        let run = RunId(format!("r{}", self.facts.len()));
        let units = units.into_iter().enumerate().map(|(n, unit)| v1::Unit {
            unit_id: format!("u{n}"),
            retries: unit.retries,
            requires: capabilities(unit.needs).into_iter().collect(),
            expected_ms: unit.expected_ms,
            timeout_ms: unit.timeout_ms,
            skip_reason: if unit.skipped {
                "not today".to_owned()
            } else {
                String::new()
            },
            ..Default::default()
        });
        let options = Some(v1::RunOptions {
            max_failures,
            ..Default::default()
        });
        let manifest = v1::Manifest {
            units: units.collect(),
            options,
            ..Default::default()
        };
        let planned = Fact::Planned(v1::Planned {
            manifest: Some(manifest.clone()),
        });
        self.facts.insert(run.clone(), vec![(1, planned)]);
        self.generations.insert(run.clone(), 1);
        self.step(Event::Submitted {
            run,
            generation: 1,
            manifest,
        });
    }

    pub(super) fn attach(&mut self, node: usize, offers: u8, slots: usize, forgets: bool) {
        let model = &mut self.nodes[node];
        let offers = capabilities(offers);
        let held = if forgets {
            Vec::new()
        } else {
            model.held.clone()
        };
        *model = NodeModel {
            connected: true,
            draining: false,
            offers: offers.clone(),
            slots,
            held: held.clone(),
        };
        let offer = Offer {
            capabilities: offers,
            slots,
        };
        self.step(Event::Attached {
            node: node_id(node),
            offer,
            held,
        });
    }

    fn beat(&mut self, node: usize) {
        if self.nodes[node].connected {
            let held = self.nodes[node].held.clone();
            self.step(Event::Beat {
                node: node_id(node),
                number: 1,
                held,
            });
        }
    }

    fn pick(&self, node: usize, pick: usize) -> Option<Token> {
        let held = &self.nodes[node].held;
        if self.nodes[node].connected {
            held.get(pick % held.len().max(1)).cloned()
        } else {
            None
        }
    }

    pub(super) fn settle(&mut self, pick: usize) {
        if !self.settling.is_empty() {
            let (run, unit, epoch, _) = self.settling[pick % self.settling.len()].clone();
            // The fact is emitted while the commit is still on the list, as in the real loop.
            let place = self
                .settling
                .iter()
                .position(|other| (&other.0, &other.1) == (&run, &unit))
                .unwrap();
            self.step(Event::Settled {
                run,
                unit,
                epoch,
                settled: Vec::new(),
            });
            self.settling.remove(place);
        }
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now += by;
        self.step(Event::Tick);
        for lease in self.state.runs.values().flat_map(|run| run.leases.values()) {
            assert!(
                lease.deadline > self.now,
                "every lease ends by its deadline"
            );
        }
    }

    /// A new process that knows what is durable.
    fn restart(&mut self) {
        self.check_folds();
        self.state = State::new(settings());
        let settling = std::mem::take(&mut self.settling);
        for node in &mut self.nodes {
            node.connected = false;
        }
        for (run, unit, ..) in &settling {
            // Its node is not waited for: nobody knows whether it still waits.
            self.live
                .entry((run.clone(), unit.0.clone()))
                .and_modify(|lease| lease.1 = NodeId("past".to_owned()));
        }
        for (run, facts) in self.facts.clone() {
            if matches!(facts.last(), Some((_, Fact::Final(_)))) {
                continue;
            }
            let generation = self.generations[&run] + 1;
            self.generations.insert(run.clone(), generation);
            let pending = settling.iter().filter(|(id, ..)| *id == run);
            let pending = pending
                .map(|(_, unit, epoch, result)| (unit.clone(), *epoch, result.clone()))
                .collect();
            self.step(Event::Resumed(Resumed {
                run,
                generation,
                facts,
                pending,
            }));
        }
    }

    /// Folding the facts gives what the scheduler has.
    fn check_folds(&self) {
        for (id, run) in &self.state.runs {
            let again = RunFold::of(self.facts[id].iter().map(|(_, fact)| fact)).unwrap();
            assert_eq!(
                format!("{:?}", run.fold.units),
                format!("{:?}", again.units)
            );
            assert_eq!(run.fold.open(), again.open());
        }
    }

    /// Honest nodes that can do everything answer until every run is over.
    pub(super) fn finish(&mut self) {
        for _ in 0..1000 {
            for node in 0..NODES {
                if !self.nodes[node].connected
                    || self.nodes[node].draining
                    || self.nodes[node].offers.len() < 2
                {
                    self.attach(node, 3, 2, false);
                }
            }
            if self.over() {
                self.check_folds();
                return;
            }
            for node in 0..NODES {
                self.beat(node);
                if let Some(token) = self.pick(node, 0) {
                    let result = result(&token, How::Pass);
                    self.step(Event::Result {
                        node: node_id(node),
                        token,
                        result,
                    });
                }
            }
            while !self.settling.is_empty() {
                self.settle(0);
            }
            self.advance(Duration::from_millis(5));
        }
        panic!("a run never ends: {:#?}", self.state);
    }

    pub(super) fn over(&self) -> bool {
        self.facts
            .values()
            .all(|facts| matches!(facts.last(), Some((_, Fact::Final(_)))))
    }
}
