//! The life of a lease: renewed by beats, ended by its time or by being given back. How a result
//! ends it is in `result`.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::id::{NodeId, RunId, UnitId};
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::run_event::Event as Fact;

use super::{Effect, Lease, Node, Offer, Run, Settings, State, Token};
use crate::runs::fold::Phase;

impl Settings {
    /// The longest that an attempt of `unit` may take, from `now`.
    pub(super) fn limit(&self, unit: &v1::Unit, now: Duration) -> Option<Duration> {
        (unit.timeout_ms > 0).then(|| now + Duration::from_millis(unit.timeout_ms) + self.overrun)
    }

    pub(super) fn deadline(&self, limit: Option<Duration>, now: Duration) -> Duration {
        limit.map_or(now + self.lease, |limit| limit.min(now + self.lease))
    }
}

/// How a lease ends without a result.
pub(super) enum Loss {
    /// A try is spent.
    Counted,
    /// The node gave it back or never got it.
    Returned,
}

impl State {
    pub(super) fn attach(
        &mut self,
        id: NodeId,
        offer: Offer,
        held: &[Token],
        now: Duration,
        out: &mut Vec<Effect>,
    ) {
        let leases = self
            .nodes
            .remove(&id)
            .map(|node| node.leases)
            .unwrap_or_default();
        let node = Node {
            offer,
            connected: true,
            draining: false,
            silent: false,
            leases: leases.clone(),
        };
        self.nodes.insert(id.clone(), node);
        self.lonely_since = None;
        let revoked = self.renew(&id, held, now);
        // The times are the sender's to fill in.
        let welcome = v1::Welcome {
            revoked,
            ..Default::default()
        };
        out.push(Effect::send(id.clone(), Message::Welcome(welcome)));
        let held: HashSet<_> = held.iter().collect();
        for (run, n) in leases {
            let token = self.runs[&run].token(&run, n);
            if token.is_some_and(|token| !held.contains(&token)) {
                self.lose(
                    &run,
                    n,
                    Loss::Returned,
                    "its node came back without it",
                    out,
                );
            }
        }
    }

    pub(super) fn detach(&mut self, id: &NodeId) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.connected = false;
            if node.leases.is_empty() {
                self.nodes.remove(id);
            }
        }
    }

    pub(super) fn beat(
        &mut self,
        node: NodeId,
        number: u64,
        held: &[Token],
        now: Duration,
        out: &mut Vec<Effect>,
    ) {
        let revoked = self.renew(&node, held, now);
        out.push(Effect::send(
            node,
            Message::BeatAck(v1::BeatAck { number, revoked }),
        ));
    }

    /// Renews what still holds; the rest is the answer. A token whose result is committed is
    /// neither: its node is only waiting for the acknowledgement.
    fn renew(&mut self, node: &NodeId, held: &[Token], now: Duration) -> Vec<v1::LeaseToken> {
        let mut revoked = Vec::new();
        for token in held {
            let Some(run) = self.runs.get_mut(&token.run) else {
                revoked.push(token.clone().into());
                continue;
            };
            if let Some(n) = run.holds(node, token) {
                if let Some(lease) = run.leases.get_mut(&n) {
                    lease.deadline = self.settings.deadline(lease.limit, now);
                }
            } else if !run.committed(token) {
                revoked.push(token.clone().into());
            }
        }
        revoked
    }

    pub(super) fn expire(&mut self, now: Duration, out: &mut Vec<Effect>) {
        let due = |(id, run): (&RunId, &Run)| {
            let due = run.leases.iter().filter(|(_, lease)| lease.deadline <= now);
            due.map(|(n, lease)| {
                (
                    id.clone(),
                    *n,
                    lease.limit.is_some_and(|limit| limit <= now),
                )
            })
            .collect::<Vec<_>>()
        };
        let due: BTreeSet<_> = self
            .turn
            .iter()
            .filter_map(|id| self.runs.get_key_value(id))
            .flat_map(due)
            .collect();
        for (run, n, overrun) in due {
            let reason = if overrun {
                "it outlived its test's timeout"
            } else {
                let lease = self.runs[&run].leases.get(&n);
                if let Some(node) = lease.and_then(|lease| self.nodes.get_mut(&lease.node)) {
                    node.silent = true;
                }
                "its node sent no beat in time"
            };
            self.lose(&run, n, Loss::Counted, reason, out);
        }
    }

    pub(super) fn drain(
        &mut self,
        id: &NodeId,
        returned: Vec<Token>,
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.draining = true;
        }
        for token in returned {
            let held = self
                .runs
                .get(&token.run)
                .and_then(|run| run.holds(id, &token));
            if let Some(n) = held {
                self.lose(
                    &token.run,
                    n,
                    Loss::Returned,
                    &format!("its node gave it back: {reason}"),
                    out,
                );
            }
        }
    }

    pub(super) fn lose(
        &mut self,
        id: &RunId,
        n: usize,
        loss: Loss,
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        let Some(lease) = run.leases.remove(&n) else {
            return;
        };
        let spent = run.fold.units[n].spent + 1;
        let returned = matches!(loss, Loss::Returned);
        let given_up = !returned && spent >= self.settings.infra_tries;
        let problem = given_up.then(|| {
            let message = format!(
                "infrastructure failed it {spent} times, the last time on node {}: {reason}; see that node's log",
                lease.node
            );
            v1::Problem::from(&Problem::new(ErrorCode::NodeLost, message))
        });
        let expired = v1::Expired {
            unit_id: run.unit_id(n).to_owned(),
            epoch: lease.epoch,
            node_id: lease.node.0.clone(),
            reason: reason.to_owned(),
            given_up,
            problem,
            returned,
        };
        run.emit(id, Fact::Expired(expired), out);
        if !given_up {
            run.queues.push(n);
        }
        self.release(&lease.node, id, n);
    }

    /// Frees the slot of a lease that ended.
    pub(super) fn release(&mut self, id: &NodeId, run: &RunId, n: usize) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.leases.remove(&(run.clone(), n));
            if !node.connected && node.leases.is_empty() {
                self.nodes.remove(id);
            }
        }
    }

    /// A lease of an earlier process, if it is the unit's current one.
    pub(super) fn restore_lease(
        &mut self,
        id: &RunId,
        granted: u64,
        leased: &v1::Leased,
        now: Duration,
    ) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        let Some(n) = run.fold.position(&leased.unit_id) else {
            return;
        };
        let unit = &run.fold.units[n];
        let node = NodeId(leased.node_id.clone());
        if unit.epoch != leased.epoch || unit.phase != Phase::Leased(node.clone()) {
            return;
        }
        let limit = self.settings.limit(&run.fold.manifest.units[n], now);
        let deadline = self.settings.deadline(limit, now);
        let lease = Lease {
            node: node.clone(),
            epoch: leased.epoch,
            generation: granted,
            deadline,
            limit,
        };
        run.leases.insert(n, lease);
        let absent = || Node {
            offer: Offer::default(),
            connected: false,
            draining: false,
            silent: false,
            leases: BTreeSet::new(),
        };
        self.nodes
            .entry(node)
            .or_insert_with(absent)
            .leases
            .insert((id.clone(), n));
    }
}

impl Run {
    /// The unit whose live lease on `node` this token names.
    pub(super) fn holds(&self, node: &NodeId, token: &Token) -> Option<usize> {
        let n = self.fold.position(token.unit.as_str())?;
        let lease = self.leases.get(&n)?;
        (lease.node == *node && lease.epoch == token.epoch && lease.generation == token.generation)
            .then_some(n)
    }

    /// The token of a unit's live lease.
    pub(super) fn token(&self, id: &RunId, n: usize) -> Option<Token> {
        let lease = self.leases.get(&n)?;
        Some(Token {
            run: id.clone(),
            unit: UnitId(self.unit_id(n).to_owned()),
            epoch: lease.epoch,
            generation: lease.generation,
        })
    }
}
