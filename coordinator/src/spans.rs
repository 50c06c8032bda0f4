//! Spans of runs and leases, for traces. A lease's span is short and belongs to the run's trace;
//! the node's attempt is a trace of its own that links to it.

use std::collections::HashMap;

use muster_proto::id::{RunId, UnitId};
use muster_proto::v1::run_event::Event;
use tracing::Span;
use tracing::field::Empty;

/// The open spans.
#[derive(Default)]
pub(crate) struct Spans {
    runs: HashMap<RunId, Span>,
    leases: HashMap<(RunId, UnitId), Span>,
}

impl Spans {
    /// A run starts or goes on.
    pub(crate) fn open(&mut self, run: &RunId, project: &str, units: usize) {
        let span = tracing::info_span!(
            "run",
            muster.run.id = %run,
            muster.project.id = project,
            muster.run.units = units,
            muster.run.verdict = Empty,
            muster.run.exit_code = Empty,
        );
        self.runs.insert(run.clone(), span);
    }

    /// Opens and closes spans by a fact.
    pub(crate) fn note(&mut self, run: &RunId, fact: &Event) {
        match fact {
            Event::Leased(leased) => {
                let span = tracing::info_span!(
                    parent: self.runs.get(run).and_then(Span::id),
                    "lease",
                    muster.run.id = %run,
                    muster.unit.id = leased.unit_id,
                    muster.unit.try = leased.r#try,
                    muster.lease.epoch = leased.epoch,
                    muster.node.id = leased.node_id,
                    muster.lease.end = Empty,
                );
                self.leases
                    .insert((run.clone(), UnitId(leased.unit_id.clone())), span);
            }
            Event::Committed(committed) => self.close(run, &committed.unit_id, "committed"),
            Event::Expired(expired) => self.close(run, &expired.unit_id, &expired.reason),
            Event::Final(last) => {
                self.leases.retain(|(id, _), _| id != run);
                if let Some(span) = self.runs.remove(run) {
                    span.record("muster.run.verdict", &last.verdict);
                    span.record("muster.run.exit_code", last.exit_code);
                }
            }
            Event::Planned(_)
            | Event::Fenced(_)
            | Event::Cancelled(_)
            | Event::Progress(_)
            | Event::Reset(_) => {}
        }
    }

    fn close(&mut self, run: &RunId, unit: &str, end: &str) {
        if let Some(span) = self.leases.remove(&(run.clone(), UnitId(unit.to_owned()))) {
            span.record("muster.lease.end", end);
        }
    }
}
