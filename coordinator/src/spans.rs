//! Spans of runs and leases, for traces. A run's span goes on from the client's, a lease's belongs
//! to the run's trace, and the node's attempt is a trace of its own that links to the lease's.

use std::collections::HashMap;

use muster_proto::id::{RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::run_event::Event;
use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The name under which W3C Trace Context hands a span on.
const TRACEPARENT: &str = "traceparent";

/// The open spans.
#[derive(Default)]
pub(crate) struct Spans {
    runs: HashMap<RunId, Span>,
    leases: HashMap<(RunId, UnitId), Span>,
}

impl Spans {
    /// A run starts or goes on.
    pub(crate) fn open(&mut self, run: &RunId, manifest: &v1::Manifest) {
        let span = tracing::info_span!(
            parent: None,
            "run",
            muster.run.id = %run,
            muster.project.id = manifest.project_id,
            muster.run.units = manifest.units.len(),
            muster.run.verdict = Empty,
            muster.run.exit_code = Empty,
        );
        if let Some(options) = &manifest.options
            && !options.traceparent.is_empty()
        {
            // Without a trace to write there is nothing to go on from.
            span.set_parent(remote(&options.traceparent)).ok();
        }
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

    /// The traceparent of a unit's lease; none = nobody traces.
    pub(crate) fn traceparent(&self, run: &RunId, unit: &UnitId) -> Option<String> {
        let span = self.leases.get(&(run.clone(), unit.clone()))?;
        let mut carrier = HashMap::new();
        TraceContextPropagator::new().inject_context(&span.context(), &mut carrier);
        carrier.remove(TRACEPARENT)
    }

    fn close(&mut self, run: &RunId, unit: &str, end: &str) {
        if let Some(span) = self.leases.remove(&(run.clone(), UnitId(unit.to_owned()))) {
            span.record("muster.lease.end", end);
        }
    }
}

/// The span of another process that a traceparent names; what can't be read names none.
fn remote(traceparent: &str) -> Context {
    let carrier = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
    TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier)
}
