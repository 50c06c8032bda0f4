//! Everything that can be told to somebody: recorded byte by byte.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// What was recorded, by the sink's name.
#[derive(Clone, Default)]
pub(crate) struct Sinks(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Sinks {
    pub(crate) fn record(&self, sink: &str, bytes: &[u8]) {
        let mut sinks = self.0.lock().unwrap();
        sinks
            .entry(sink.to_owned())
            .or_default()
            .extend_from_slice(bytes);
    }

    /// Every file below a folder, names included.
    pub(crate) fn files(&self, sink: &str, folder: &Path) {
        for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
            self.record(sink, entry.path().as_os_str().as_encoded_bytes());
            if entry.file_type().is_file() {
                self.record(sink, &std::fs::read(entry.path()).unwrap());
            }
        }
    }

    pub(crate) fn recorded(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    /// Passes connections to the socket `at` on to the socket `to`, and records both ways. Ends with
    /// the test's process.
    pub(crate) fn wire(&self, sink: &'static str, at: &Path, to: PathBuf) {
        let listener = UnixListener::bind(at).unwrap();
        let sinks = self.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&to) else {
                    continue;
                };
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let (from, into) = (from.try_clone().unwrap(), into.try_clone().unwrap());
                    let sinks = sinks.clone();
                    std::thread::spawn(move || pass(from, into, |bytes| sinks.record(sink, bytes)));
                }
            }
        });
    }

    /// A model that types the secret `canary`, looks again and says that it passed; yields its
    /// address. All that it is asked is recorded.
    pub(crate) fn model(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let sinks = self.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let sinks = sinks.clone();
                std::thread::spawn(move || answer(client, &sinks));
            }
        });
        address
    }
}

fn pass(mut from: UnixStream, mut into: UnixStream, record: impl Fn(&[u8])) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        record(&bytes[..read]);
        if into.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // The other way may have ended both already.
    let _ = into.shutdown(Shutdown::Both);
}

fn answer(mut client: TcpStream, sinks: &Sinks) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let from = head.len();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        if let Some(("content-length", value)) = head[from..].to_lowercase().split_once(": ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    sinks.record("prompts", head.as_bytes());
    sinks.record("prompts", &body);
    let said = wish(&serde_json::from_slice(&body).unwrap()).to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{said}",
        said.len()
    );
    // A client that hung up needs no answer.
    let _ = client.write_all(answer.as_bytes());
}

/// The next call of the goal, by how many were answered.
fn wish(request: &Value) -> Value {
    let messages = request["messages"].as_array().unwrap();
    let answered = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .count();
    let (name, input) = match answered {
        0 => {
            let prompt = request.to_string();
            let (before, _) = prompt
                .split_once(" textbox \\\"Password\\\"")
                .expect("the field is on the screen");
            let (_, id) = before.rsplit_once('#').expect("an id stands before it");
            ("type_secret", json!({ "target": id, "name": "canary" }))
        }
        1 => ("observe", json!({})),
        _ => (
            "complete_step",
            json!({ "status": "passed", "summary": "typed" }),
        ),
    };
    let call = json!({ "id": format!("c{answered}"), "type": "function", "function": { "name": name, "arguments": input.to_string() } });
    json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": [call] } }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1 } })
}

/// Takes spans on a loopback port for as long as it lives.
pub(crate) struct Collector {
    pub(crate) address: String,
    _runtime: Runtime,
}

struct Traces(Sinks);

#[tonic::async_trait]
impl TraceService for Traces {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0
            .record("traces", &request.into_inner().encode_to_vec());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    pub(crate) fn start(sinks: &Sinks) -> Self {
        let runtime = Runtime::new().unwrap();
        let incoming = {
            let _inside = runtime.enter();
            TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap()
        };
        let address = format!("http://{}", incoming.local_addr().unwrap());
        let service = TraceServiceServer::new(Traces(sinks.clone()));
        runtime.spawn(
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        Self {
            address,
            _runtime: runtime,
        }
    }
}
