//! What of a span leaves the process: its name, times, links, and the attributes listed here.
//!
//! Events and texts of errors stay behind: they may quote the app. A new attribute is exported once
//! it is on the list; it is for names, counts and codes, never for what a page or a prompt says.

use std::time::Duration;

use muster_proto::guard::Guard;
use opentelemetry::trace::Status;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter};

/// Every attribute that leaves, sorted.
const LISTED: &[&str] = &[
    "busy_ns",
    "error.type",
    "gen_ai.agent.name",
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.tool.name",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "idle_ns",
    "muster.action.result",
    "muster.agent.tier",
    "muster.lease.end",
    "muster.lease.epoch",
    "muster.node",
    "muster.node.id",
    "muster.project.id",
    "muster.replay.lookup",
    "muster.replay.result",
    "muster.run",
    "muster.run.exit_code",
    "muster.run.id",
    "muster.run.units",
    "muster.run.verdict",
    "muster.step",
    "muster.step.actions",
    "muster.step.decisions",
    "muster.step.kind",
    "muster.step.model_calls",
    "muster.target",
    "muster.try",
    "muster.unit",
    "muster.unit.id",
    "muster.unit.try",
    "test.case.name",
    "test.case.result.status",
    "test.suite.name",
];

/// An exporter that is given what is listed, and nothing else.
#[derive(Debug)]
pub(super) struct Listed<E>(pub(super) E);

impl<E: SpanExporter> SpanExporter for Listed<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let batch = batch.into_iter().map(listed).collect();
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn listed(mut span: SpanData) -> SpanData {
    if !Guard::TelemetryListed.holds() {
        return span;
    }
    span.attributes
        .retain(|attribute| LISTED.binary_search(&attribute.key.as_str()).is_ok());
    span.events = SpanEvents::default();
    for link in &mut span.links.links {
        link.attributes.clear();
    }
    if let Status::Error { .. } = span.status {
        span.status = Status::error("");
    }
    span
}

#[cfg(test)]
mod tests {
    use opentelemetry::KeyValue;
    use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for Kept {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(LISTED.is_sorted());
    }

    #[test]
    fn what_is_not_listed_stays() {
        let kept = Kept::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(Listed(kept.clone()))
            .build();
        let mut span = provider.tracer("muster").start("step");
        span.set_attribute(KeyValue::new("muster.step", 3));
        span.set_attribute(KeyValue::new("muster.screen", "what the page says"));
        span.add_event(
            "it says",
            vec![KeyValue::new("error", "what the page says")],
        );
        span.set_status(Status::error("what the page says"));
        span.end();
        let told = kept.0.lock().unwrap();
        assert_eq!(told[0].attributes, [KeyValue::new("muster.step", 3)]);
        assert!(!format!("{told:?}").contains("what the page says"));
    }
}
