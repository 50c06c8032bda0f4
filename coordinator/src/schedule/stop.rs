//! How runs end: because every unit has, because somebody stops them, or because nobody is there
//! to run them. No run waits for ever.

use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::id::RunId;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::run_event::Event as Fact;

use super::queue::Needs;
use super::{Effect, REMEMBERED, Run, State};
use crate::verdict::verdict;

impl State {
    pub(super) fn cancel(
        &mut self,
        id: &RunId,
        reason: String,
        problem: Option<v1::Problem>,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        if run.fold.cancelled.is_some() || run.fold.last.is_some() {
            return;
        }
        run.emit(
            id,
            Fact::Cancelled(v1::Cancelled {
                reason: reason.clone(),
                problem,
            }),
            out,
        );
        self.clear(id, &reason, out);
    }

    /// Ends every run that has nothing left to wait for. What is being settled is waited for: it
    /// is committed and counts.
    pub(super) fn finish(&mut self, out: &mut Vec<Effect>) {
        for id in self.turn.clone() {
            let Some(run) = self.runs.get_mut(&id) else {
                continue;
            };
            let done = run.fold.open() == 0 || run.fold.stopping();
            if !done || !run.settling.is_empty() {
                continue;
            }
            // What is still open was stopped by the failure limit; the verdict counts it.
            let mut last = run.fold.clone();
            last.apply(&Fact::Final(v1::Final::default()));
            run.emit(&id, Fact::Final(verdict(&last)), out);
            self.clear(&id, "the run is over", out);
            self.turn.retain(|other| *other != id);
            out.push(Effect::Over { run: id.clone() });
            self.over.push_back(id);
            if self.over.len() > REMEMBERED
                && let Some(oldest) = self.over.pop_front()
            {
                self.runs.remove(&oldest);
            }
        }
    }

    /// Takes the run's leases back and empties its queues.
    fn clear(&mut self, id: &RunId, reason: &str, out: &mut Vec<Effect>) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        run.queues.clear();
        run.unmet.clear();
        let tokens: Vec<_> = run
            .leases
            .keys()
            .filter_map(|n| run.token(id, *n))
            .collect();
        for ((n, lease), token) in std::mem::take(&mut run.leases).into_iter().zip(tokens) {
            let revoke = v1::Revoke {
                token: Some(token.into()),
                reason: reason.to_owned(),
            };
            out.push(Effect::send(lease.node.clone(), Message::Revoke(revoke)));
            self.release(&lease.node, id, n);
        }
    }

    /// Starts and stops the clocks of what no node can take.
    pub(super) fn note_absence(&mut self, now: Duration) {
        let working: Vec<_> = self
            .nodes
            .values()
            .filter(|node| node.takes_work())
            .collect();
        if working.is_empty() {
            self.lonely_since.get_or_insert(now);
        } else {
            self.lonely_since = None;
        }
        for id in &self.turn {
            let Some(run) = self.runs.get_mut(id) else {
                continue;
            };
            let before = std::mem::take(&mut run.unmet);
            if working.is_empty() {
                continue;
            }
            for needs in run.queues.needs() {
                if !working
                    .iter()
                    .any(|node| needs.is_subset(&node.offer.capabilities))
                {
                    run.unmet
                        .insert(needs.clone(), before.get(needs).copied().unwrap_or(now));
                }
            }
        }
    }

    /// Since when a run has had nobody to work on it; `None` while a node is there or a lease may
    /// still bring a result.
    pub(super) fn lonely(&self, run: &Run) -> Option<Duration> {
        let busy = !run.leases.is_empty() || !run.settling.is_empty() || run.queues.is_empty();
        if busy {
            None
        } else {
            self.lonely_since.map(|since| since.max(run.since))
        }
    }

    /// Ends what has waited its grace for a node.
    pub(super) fn give_up(&mut self, now: Duration, out: &mut Vec<Effect>) {
        let grace = self.settings.node_grace;
        for id in self.turn.clone() {
            let Some(run) = self.runs.get(&id) else {
                continue;
            };
            if self.lonely(run).is_some_and(|since| since + grace <= now) {
                let message = format!(
                    "no node has been connected for {} s; start one with `muster node`",
                    grace.as_secs_f64()
                );
                let problem =
                    v1::Problem::from(&Problem::new(ErrorCode::Unschedulable, message.clone()));
                self.cancel(&id, message, Some(problem), out);
                continue;
            }
            let due: Vec<_> = run
                .unmet
                .iter()
                .filter(|(_, since)| **since + grace <= now)
                .map(|(needs, _)| needs.clone())
                .collect();
            for needs in due {
                let missing = self.missing(&needs);
                if let Some(run) = self.runs.get_mut(&id) {
                    run.give_up(&id, &needs, &missing, out);
                }
            }
        }
    }

    /// What is missing, in words.
    fn missing(&self, needs: &Needs) -> String {
        let offered: Needs = self
            .nodes
            .values()
            .filter(|node| node.takes_work())
            .flat_map(|node| node.offer.capabilities.iter().cloned())
            .collect();
        let missing: Vec<_> = needs.difference(&offered).cloned().collect();
        let list = |needs: &mut dyn Iterator<Item = &String>| {
            let names: Vec<_> = needs.map(|name| format!("`{name}`")).collect();
            if names.is_empty() {
                "nothing".to_owned()
            } else {
                names.join(", ")
            }
        };
        if missing.is_empty() {
            return format!(
                "no connected node offers all of {} together",
                list(&mut needs.iter())
            );
        }
        format!(
            "no connected node offers {} (offered: {})",
            list(&mut missing.iter()),
            list(&mut offered.iter())
        )
    }
}

impl Run {
    fn give_up(&mut self, id: &RunId, needs: &Needs, missing: &str, out: &mut Vec<Effect>) {
        self.unmet.remove(needs);
        for n in self.queues.units(needs) {
            self.queues.remove(n);
            let message =
                format!("{missing}; start a node that does, or change what the test requires");
            let expired = v1::Expired {
                unit_id: self.unit_id(n).to_owned(),
                epoch: 0,
                node_id: String::new(),
                reason: missing.to_owned(),
                given_up: true,
                problem: Some(v1::Problem::from(&Problem::new(
                    ErrorCode::Unschedulable,
                    message,
                ))),
                returned: false,
            };
            self.emit(id, Fact::Expired(expired), out);
        }
    }
}
