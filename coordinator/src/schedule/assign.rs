//! Which unit goes to which node.
//!
//! Runs take turns, so that a large one doesn't starve a small one; within a run the longest unit
//! goes first; the node with the most free slots gets it. After an infrastructure failure another
//! node is preferred, if there is one that could take the unit.

use std::cmp::Reverse;
use std::time::Duration;

use muster_proto::id::{NodeId, RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::run_event::Event as Fact;

use super::queue::Needs;
use super::{Effect, Lease, State, Token};

impl State {
    /// Leases until every slot is taken or nothing fits.
    pub(super) fn assign(&mut self, now: Duration, out: &mut Vec<Effect>) {
        while let Some((node, run, n)) = self.choose() {
            self.lease(node, run, n, now, out);
        }
    }

    fn choose(&self) -> Option<(NodeId, RunId, usize)> {
        let mut free: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, node)| node.free() > 0)
            .collect();
        free.sort_by_key(|(id, node)| (Reverse(node.free()), *id));
        free.into_iter().find_map(|(id, node)| {
            self.turn.iter().find_map(|run_id| {
                let run = &self.runs[run_id];
                if run.fold.stopping() {
                    return None;
                }
                let fits = |needs: &Needs, n: usize| {
                    run.fold.units[n].avoid.as_ref() != Some(id) || !self.another_could(needs, id)
                };
                let n = run.queues.best(&node.offer.capabilities, fits)?;
                Some((id.clone(), run_id.clone(), n))
            })
        })
    }

    fn another_could(&self, needs: &Needs, than: &NodeId) -> bool {
        self.nodes.iter().any(|(id, node)| {
            id != than && node.takes_work() && needs.is_subset(&node.offer.capabilities)
        })
    }

    fn lease(&mut self, node: NodeId, id: RunId, n: usize, now: Duration, out: &mut Vec<Effect>) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        run.queues.remove(n);
        let unit = run.fold.manifest.units[n].clone();
        let (tries, epoch) = (run.fold.units[n].tries, run.fold.units[n].epoch + 1);
        let grant = run.fold.share();
        let leased = v1::Leased {
            unit_id: unit.unit_id.clone(),
            r#try: tries,
            epoch,
            node_id: node.0.clone(),
            grant: Some(grant),
        };
        run.emit(&id, Fact::Leased(leased), out);
        let limit = self.settings.limit(&unit, now);
        let deadline = self.settings.deadline(limit, now);
        let generation = run.generation;
        run.leases.insert(
            n,
            Lease {
                node: node.clone(),
                epoch,
                generation,
                deadline,
                limit,
            },
        );
        let token = Token {
            run: id.clone(),
            unit: UnitId(unit.unit_id.clone()),
            epoch,
            generation,
        };
        let manifest = &run.fold.manifest;
        let options = manifest.options.clone().unwrap_or_default();
        let lease = v1::Lease {
            token: Some(token.into()),
            unit: Some(unit),
            r#try: tries,
            project_id: manifest.project_id.clone(),
            bundle_digest: manifest.bundle_digest.clone(),
            spec_digest: manifest.spec_digest.clone(),
            grant: Some(grant),
            cache: Some(v1::CacheGrant {
                mode: options.cache_mode,
                namespace: self.settings.namespace.clone(),
                generation: 0,
            }),
            // The sender's to fill in.
            traceparent: String::new(),
        };
        if let Some(holder) = self.nodes.get_mut(&node) {
            holder.leases.insert((id.clone(), n));
        }
        out.push(Effect::send(node, Message::Lease(lease)));
        // Served: to the end of the line.
        self.turn.retain(|other| *other != id);
        self.turn.push_back(id);
    }
}
