//! Logs and traces. Nothing leaves the process unless `OTEL_EXPORTER_OTLP_ENDPOINT` says where to;
//! nothing is printed unless `MUSTER_LOG` says what, e.g. `MUSTER_LOG=muster_coordinator=debug`.
//! What of a span leaves is on one list, in `listed`.

mod listed;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::env::Env;
use listed::Listed;

/// Flushes on the way out.
pub(crate) struct Telemetry(Option<SdkTracerProvider>);

impl Telemetry {
    pub(crate) fn flush(self) {
        if let Some(provider) = self.0
            && let Err(error) = provider.shutdown()
        {
            eprintln!("muster: traces were not all delivered: {error}");
        }
    }
}

/// Starts what the environment asks for.
pub(crate) fn start(env: &Env) -> Telemetry {
    let log = env.vars.get("MUSTER_LOG").map(|directives| {
        tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_filter(EnvFilter::builder().parse_lossy(directives))
    });
    let provider = env
        .vars
        .get("OTEL_EXPORTER_OTLP_ENDPOINT")
        .filter(|address| !address.is_empty())
        .and_then(|address| match exporter(address) {
            Ok(provider) => Some(provider),
            Err(error) => {
                eprintln!("muster: no traces: OTEL_EXPORTER_OTLP_ENDPOINT is unusable: {error}");
                None
            }
        });
    // Our own crates only: the exporter's own spans would feed it for ever.
    let ours = Targets::new()
        .with_target("muster", tracing::Level::INFO)
        .with_targets(
            [
                "agent_node",
                "cache_store",
                "coordinator",
                "engine",
                "providers",
                "script",
                "cli",
            ]
            .map(|room| (format!("muster_{room}"), tracing::Level::INFO)),
        );
    let traces = provider.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("muster"))
            .with_filter(ours)
    });
    tracing_subscriber::registry().with(traces).with(log).init();
    Telemetry(provider)
}

fn exporter(address: &str) -> Result<SdkTracerProvider, opentelemetry_otlp::ExporterBuildError> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_endpoint(address)
        .build()?;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(Listed(exporter))
        .with_resource(Resource::builder().with_service_name("muster").build())
        .build())
}
