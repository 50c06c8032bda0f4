//! What a result does: fenced if its lease no longer holds, else committed once, settled, and
//! followed by the unit's end or its next try.

use muster_proto::code::ErrorCode;
use muster_proto::id::{NodeId, RunId, UnitId};
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::result_ack::Verdict;
use muster_proto::v1::run_event::Event as Fact;
use prost::Message as _;

use super::lease::Loss;
use super::policy::{self, Budgets, Next};
use super::{Effect, Run, Settling, State, Token};
use crate::words::Outcome;

impl State {
    pub(super) fn result(
        &mut self,
        node: NodeId,
        token: Token,
        result: Vec<u8>,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get_mut(&token.run) else {
            out.push(ack(node, &token, Verdict::Fenced, Vec::new()));
            return;
        };
        if run.committed(&token) {
            out.push(ack(node, &token, Verdict::Duplicate, Vec::new()));
            return;
        }
        let Some(n) = run.holds(&node, &token) else {
            if run.fold.last.is_none() && run.fold.position(token.unit.as_str()).is_some() {
                let fact = v1::Fenced {
                    unit_id: token.unit.0.clone(),
                    epoch: token.epoch,
                    node_id: node.0.clone(),
                };
                run.emit(&token.run, Fact::Fenced(fact), out);
            }
            out.push(ack(node, &token, Verdict::Fenced, Vec::new()));
            return;
        };
        run.leases.remove(&n);
        let (id, unit, epoch) = (token.run.clone(), token.unit.clone(), token.epoch);
        out.push(Effect::Commit {
            run: id.clone(),
            unit: unit.clone(),
            epoch,
            result: result.clone(),
        });
        let mode = run.cache_mode();
        out.push(Effect::Settle {
            run: id.clone(),
            unit,
            epoch,
            result: result.clone(),
            mode,
        });
        // The slot stays taken until the settlement: what the result means for the run (a stop, the
        // failure limit) is known before the next lease.
        run.settling.insert(
            n,
            Settling {
                node: Some(node),
                token,
                result,
            },
        );
    }

    pub(super) fn settled(
        &mut self,
        id: &RunId,
        unit: &UnitId,
        epoch: u64,
        settled: Vec<v1::Settled>,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        let Some(n) = run.fold.position(unit.as_str()) else {
            return;
        };
        if run
            .settling
            .get(&n)
            .is_none_or(|settling| settling.token.epoch != epoch)
        {
            return;
        }
        let Some(Settling {
            node,
            token,
            result,
        }) = run.settling.remove(&n)
        else {
            return;
        };
        let decoded = v1::AttemptResult::decode(result.as_slice()).unwrap_or_default();
        let outcome = Outcome::of(&decoded);
        let unit_fold = &run.fold.units[n];
        let next = if run.fold.stopping() {
            Next::End
        } else {
            let retries = run.fold.manifest.units[n].retries;
            let left = Budgets {
                retries: retries.saturating_sub(unit_fold.tries),
                infra_tries: self.settings.infra_tries.saturating_sub(unit_fold.spent),
            };
            policy::after(&outcome, left)
        };
        let committed = v1::Committed {
            unit_id: unit.0.clone(),
            r#try: unit_fold.tries,
            epoch,
            result,
            settled: settled.clone(),
            last: next == Next::End,
        };
        run.emit(id, Fact::Committed(committed), out);
        if next != Next::End {
            run.queues.push(n);
        }
        if let Some(node) = node {
            self.release(&node, id, n);
            out.push(ack(node, &token, Verdict::Accepted, settled));
        }
        if outcome.stops_run {
            let problem = outcome.problem.unwrap_or_else(|| {
                Problem::new(
                    ErrorCode::InternalError,
                    "an attempt asked to stop the run and gave no reason",
                )
            });
            let reason = problem.message.clone();
            self.cancel(id, reason, Some((&problem).into()), out);
        }
    }

    pub(super) fn unreadable(
        &mut self,
        node: NodeId,
        token: Token,
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        if let Some(n) = self
            .runs
            .get(&token.run)
            .and_then(|run| run.holds(&node, &token))
        {
            self.lose(&token.run, n, Loss::Counted, reason, out);
        }
        out.push(ack(node, &token, Verdict::Fenced, Vec::new()));
    }

    /// A result of an earlier process that is committed and not yet settled.
    pub(super) fn restore_settling(
        &mut self,
        id: &RunId,
        unit: UnitId,
        epoch: u64,
        result: Vec<u8>,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        let Some(n) = run.fold.position(unit.as_str()) else {
            return;
        };
        if run.fold.units[n].epoch != epoch {
            return;
        }
        let mode = run.cache_mode();
        let lease = run.leases.remove(&n);
        let generation = lease
            .as_ref()
            .map_or(run.generation, |lease| lease.generation);
        let token = Token {
            run: id.clone(),
            unit: unit.clone(),
            epoch,
            generation,
        };
        run.settling.insert(
            n,
            Settling {
                node: None,
                token,
                result: result.clone(),
            },
        );
        if let Some(lease) = lease {
            self.release(&lease.node, id, n);
        }
        out.push(Effect::Settle {
            run: id.clone(),
            unit,
            epoch,
            result,
            mode,
        });
    }
}

impl Run {
    /// Whether the result of this lease is committed.
    pub(super) fn committed(&self, token: &Token) -> bool {
        let Some(n) = self.fold.position(token.unit.as_str()) else {
            return false;
        };
        self.fold.units[n].committed.contains(&token.epoch)
            || self
                .settling
                .get(&n)
                .is_some_and(|settling| settling.token.epoch == token.epoch)
    }

    fn cache_mode(&self) -> v1::CacheMode {
        self.fold
            .manifest
            .options
            .as_ref()
            .map_or(v1::CacheMode::Unspecified, |options| options.cache_mode())
    }
}

fn ack(node: NodeId, token: &Token, verdict: Verdict, settled: Vec<v1::Settled>) -> Effect {
    let mut ack = v1::ResultAck {
        token: Some(token.clone().into()),
        settled,
        ..Default::default()
    };
    ack.set_verdict(verdict);
    Effect::send(node, Message::ResultAck(ack))
}
