//! What a trace collector gets of a run.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::support::{Project, Ran};

type Spans = Arc<Mutex<Vec<Span>>>;

/// Takes spans on a loopback port for as long as it lives.
struct Collector {
    spans: Spans,
    address: String,
    _runtime: Runtime,
}

struct Sink(Spans);

#[tonic::async_trait]
impl TraceService for Sink {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let spans = resources
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans);
        self.0.lock().unwrap().extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let spans = Spans::default();
        let service = TraceServiceServer::new(Sink(Arc::clone(&spans)));
        let incoming = {
            let _inside = runtime.enter();
            TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap()
        };
        let address = format!("http://{}", incoming.local_addr().unwrap());
        runtime.spawn(
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        Self {
            spans,
            address,
            _runtime: runtime,
        }
    }

    /// Runs a command that is told of this collector, and answers with the spans that it sent.
    fn watch(&self, project: &Project, args: &[&str]) -> (Ran, Vec<Span>) {
        let mut command = project.command(args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.address);
        let ran = Ran::new(command.output().expect("muster starts"));
        (ran, std::mem::take(&mut *self.spans.lock().unwrap()))
    }
}

#[track_caller]
fn one<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let found = spans
        .iter()
        .find(|span| span.name == name || span.name.starts_with(&format!("{name} ")));
    found.unwrap_or_else(|| panic!("no span {name:?} among {names:?}"))
}

fn is_within(spans: &[Span], inner: &Span, outer: &Span) -> bool {
    let parent = |span: &Span| {
        spans
            .iter()
            .find(|other| other.span_id == span.parent_span_id)
    };
    let mut at = Some(inner);
    while let Some(span) = at {
        if span.span_id == outer.span_id {
            return true;
        }
        at = parent(span);
    }
    false
}

#[test]
fn a_run_its_leases_attempts_and_steps_are_spans_that_hang_together() {
    let (collector, project) = (Collector::start(), Project::shop(&[]));
    let (ran, spans) = collector.watch(&project, &["run", "account", "--tag", "smoke"]);
    ran.exits(0);

    let (run, lease, attempt) = (
        one(&spans, "run"),
        one(&spans, "lease"),
        one(&spans, "attempt"),
    );
    assert!(run.parent_span_id.is_empty());
    assert_eq!(lease.parent_span_id, run.span_id);
    assert!(
        attempt.parent_span_id.is_empty(),
        "an attempt is a trace of its own"
    );
    let linked: Vec<_> = attempt
        .links
        .iter()
        .map(|link| (&link.trace_id, &link.span_id))
        .collect();
    assert_eq!(
        linked,
        [(&lease.trace_id, &lease.span_id)],
        "and is linked to its lease"
    );
    assert!(is_within(&spans, one(&spans, "step"), attempt));

    let told = format!("{spans:?}");
    assert!(
        !told.contains(muster_shop::DEMO_PASSWORD),
        "a secret is in a span"
    );
}

/// The address of a server that knows no key: the one answer that is not worth another try.
fn no_model() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = [0; 64 * 1024];
            let answer =
                b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            // A client that hung up needs no answer.
            let _ = client
                .read(&mut head)
                .and_then(|_| client.write_all(answer));
        }
    });
    address
}

#[test]
fn a_goals_look_up_and_model_calls_are_spans_of_its_attempt() {
    let (collector, project) = (Collector::start(), Project::shop(&[]));
    let address = no_model();
    let config = std::fs::read_to_string(project.path().join("muster.toml")).unwrap();
    let agent = format!(
        "{config}\n[agents.default]\nexecutor = \"agent\"\nmodel = {{ name = \"m\", base-url = \"http://{address}/v1\" }}\n"
    );
    project.file("muster.toml", &agent);
    let (ran, spans) = collector.watch(&project, &["run", "cart", "--grep", "added from the list"]);
    ran.exits(2).says("MODEL_UNAVAILABLE");

    let attempt = one(&spans, "attempt");
    for name in ["step", "invoke_agent", "replay.lookup", "chat"] {
        assert!(
            is_within(&spans, one(&spans, name), attempt),
            "{name} is outside of the attempt"
        );
    }
}
