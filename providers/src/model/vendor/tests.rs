//! What every vendor's client does, against a real server on loopback that answers as the test wrote.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::model::{Message, Tool};

pub(in crate::model) const KEY: &str = "sk-very-secret";

/// How a client is made, and an answer that its wire can read.
type Vendor = (
    fn(Served) -> Result<VendorClient, BadAddress>,
    fn() -> Response,
);

/// Every wire.
const VENDORS: [Vendor; 2] = [
    (VendorClient::openai, crate::model::openai::tests::good),
    (
        VendorClient::anthropic,
        crate::model::anthropic::tests::good,
    ),
];

/// Answers the n-th request with the n-th response; the last stays. Keeps what it got.
pub(in crate::model) struct Server {
    address: String,
    got: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A status line's rest, further headers, a body; none = never answers.
pub(in crate::model) type Response = Option<(&'static str, &'static str, String)>;

pub(in crate::model) async fn server(responses: Vec<Response>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let got = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&got);
    tokio::spawn(async move {
        let mut held = Vec::new();
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            let (head, length) = loop {
                let mut chunk = [0; 4096];
                let count = stream.read(&mut chunk).await.unwrap();
                assert!(count > 0, "the request broke off");
                bytes.extend_from_slice(&chunk[..count]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some(end) = text.find("\r\n\r\n") {
                    let head = text[..end].to_lowercase();
                    let length = head
                        .lines()
                        .find_map(|line| line.strip_prefix("content-length: "))
                        .unwrap();
                    break (head.clone(), end + 4 + length.parse::<usize>().unwrap());
                }
            };
            let mut body = vec![0; length - bytes.len()];
            stream.read_exact(&mut body).await.unwrap();
            bytes.extend(body);
            let start = head.len() + 4;
            seen.lock()
                .unwrap()
                .push((head, serde_json::from_slice(&bytes[start..]).unwrap()));
            match &responses[number.min(responses.len() - 1)] {
                Some((status, headers, body)) => {
                    let text = format!(
                        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
                        body.len()
                    );
                    // A client that has read enough may be gone.
                    stream.write_all(text.as_bytes()).await.ok();
                }
                None => held.push(stream),
            }
        }
    });
    Server { address, got }
}

impl Server {
    /// A client of this server, in a hurry.
    pub(in crate::model) fn client(
        &self,
        vendor: impl FnOnce(Served) -> Result<VendorClient, BadAddress>,
    ) -> VendorClient {
        let client = vendor(served(&self.address, KEY)).unwrap();
        VendorClient {
            endpoint: client.endpoint.in_a_hurry(),
            ..client
        }
    }

    /// Head and body of what came in first.
    pub(in crate::model) fn first(&self) -> (String, Value) {
        self.got.lock().unwrap()[0].clone()
    }

    /// All bodies that came in.
    pub(in crate::model) fn bodies(&self) -> Vec<Value> {
        let got = self.got.lock().unwrap();
        got.iter().map(|(_, body)| body.clone()).collect()
    }
}

fn served(base_url: &str, key: &str) -> Served {
    Served {
        base_url: base_url.to_owned(),
        model: "small".to_owned(),
        key: Some(Secret::new(key)),
        vision: false,
        thinking: true,
    }
}

/// A conversation of three messages with two tools.
pub(in crate::model) fn request() -> ModelRequest {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: "d".to_owned(),
        schema: json!({"type": "object"}),
    };
    ModelRequest {
        system: "rules".to_owned(),
        messages: vec![
            Message::user("go"),
            Message::Assistant {
                text: String::new(),
                calls: vec![ToolCall {
                    id: "c1".to_owned(),
                    name: "tap".to_owned(),
                    input: "{}".to_owned(),
                }],
            },
            Message::ToolResult {
                call_id: "c1".to_owned(),
                text: "done".to_owned(),
            },
        ],
        tools: vec![tool("tap"), tool("type")],
        force_tool: true,
        max_output_tokens: 99,
        continues: true,
        timeout: Duration::from_secs(20),
    }
}

/// A failure as both vendors tell it.
pub(in crate::model) fn bad(
    status: &'static str,
    headers: &'static str,
    message: &str,
) -> Response {
    Some((
        status,
        headers,
        json!({"error": {"message": message, "code": null}}).to_string(),
    ))
}

/// A 200 with this body.
pub(in crate::model) fn ok(body: &Value) -> Response {
    let headers = "content-type: application/json\r\n";
    Some(("200 OK", headers, body.to_string()))
}

#[tokio::test]
async fn a_failing_vendor_is_asked_again_at_most_five_times() {
    for (vendor, good) in VENDORS {
        let responses = vec![
            bad("503 Service Unavailable", "", "busy"),
            bad("429 Too Many Requests", "retry-after: 0\r\n", ""),
            bad("529 Overloaded", "", "Overloaded"),
            good(),
        ];
        let client = server(responses).await.client(vendor);
        assert_eq!(client.complete(&request()).await.unwrap().requests, 4);

        let server = server(vec![bad("500 Internal Server Error", "", "broken")]).await;
        let error = server
            .client(vendor)
            .complete(&request())
            .await
            .unwrap_err();
        assert!(
            matches!(&error, ModelError::ProviderFailed { requests: 6, reason, .. } if reason == "500 Internal Server Error: broken"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    for (vendor, _) in VENDORS {
        let slow = "retry-after: 3600\r\n";
        let server = server(vec![bad("429 Too Many Requests", slow, "slow down")]).await;
        let error = server
            .client(vendor)
            .complete(&request())
            .await
            .unwrap_err();
        assert!(
            matches!(&error, ModelError::ProviderFailed { requests: 1, reason, .. } if reason.contains("no time is left")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_stalled_answer_is_asked_for_again() {
    for (vendor, good) in VENDORS {
        let client = server(vec![None, good()]).await.client(vendor);
        assert_eq!(client.complete(&request()).await.unwrap().requests, 2);
    }
}

#[tokio::test]
async fn a_refused_forced_choice_falls_back_and_is_remembered() {
    for (vendor, good) in VENDORS {
        let refusal = "tool_choice forces a tool: not supported";
        let server = server(vec![bad("400 Bad Request", "", refusal), good()]).await;
        let client = server.client(vendor);
        assert_eq!(client.complete(&request()).await.unwrap().requests, 2);
        assert_eq!(client.complete(&request()).await.unwrap().requests, 1);
        let bodies = server.bodies();
        let choices = bodies.iter().map(|body| body["tool_choice"].to_string());
        let forced: Vec<bool> = choices.map(|choice| !choice.contains("auto")).collect();
        assert_eq!(forced, [true, false, false]);
    }
}

#[tokio::test]
async fn errors_are_told_apart_and_hold_no_key() {
    for (vendor, good) in VENDORS {
        let answer = async |response: Response| {
            let client = server(vec![response, good()]).await.client(vendor);
            client.complete(&request()).await.unwrap_err()
        };
        for status in ["401 Unauthorized", "403 Forbidden", "404 Not Found"] {
            let error = answer(bad(status, "", "Incorrect API key: sk-very-secret.")).await;
            assert!(matches!(error, ModelError::Refused { .. }), "{error}");
            let told = format!("{error} {error:?}");
            assert!(told.contains("<key>") && !told.contains(KEY), "{told}");
        }
        let code = json!({"error": {"message": "too long", "code": "context_length_exceeded"}});
        for overflow in [
            Some(("400 Bad Request", "", code.to_string())),
            bad(
                "400 Bad Request",
                "",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            bad(
                "400 Bad Request",
                "",
                "This model's maximum context length is 8192 tokens",
            ),
            bad(
                "413 Payload Too Large",
                "",
                "Request exceeds the maximum size",
            ),
        ] {
            let error = answer(overflow).await;
            assert!(
                matches!(error, ModelError::ContextOverflow { .. }),
                "{error}"
            );
        }
        let huge = " ".repeat(MAX_RESPONSE + 1);
        for malformed in ["<html>".to_owned(), "{}".to_owned(), huge] {
            let error = answer(Some(("200 OK", "", malformed))).await;
            assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
        }
        let elsewhere = "location: http://127.0.0.1:1/\r\n";
        let error = answer(Some(("307 Temporary Redirect", elsewhere, String::new()))).await;
        assert!(matches!(error, ModelError::Refused { .. }), "{error}");
    }
}

#[tokio::test]
async fn addresses_are_checked_before_anything_is_sent() {
    for (vendor, _) in VENDORS {
        let new = |base: &str, key: &str| vendor(served(base, key)).err();
        for address in ["models.example.com", "ftp://models.example.com"] {
            assert!(matches!(new(address, KEY), Some(BadAddress::NotHttp)));
        }
        assert!(matches!(
            new("https://me:pw@models.example.com/v1", KEY),
            Some(BadAddress::Credentials)
        ));
        assert!(matches!(
            new("https://models.example.com/v1", "two\nlines"),
            Some(BadAddress::Key)
        ));
    }
    let client = VendorClient::openai(served("https://models.example.com/v1/", KEY)).unwrap();
    assert_eq!(
        client.endpoint.url.as_str(),
        "https://models.example.com/v1/chat/completions"
    );
}

#[tokio::test]
async fn a_dead_model_is_not_asked_by_everybody() {
    for (vendor, _) in VENDORS {
        let server = server(vec![bad("500 Internal Server Error", "", "broken")]).await;
        let client = server.client(vendor);
        for _ in 0..3 {
            client.complete(&request()).await.unwrap_err();
        }
        let asked = server.bodies().len();
        let error = client.complete(&request()).await.unwrap_err();
        assert!(
            matches!(&error, ModelError::ProviderFailed { requests: 0, reason, .. } if reason.contains("3 calls in a row failed")),
            "{error}"
        );
        assert_eq!(server.bodies().len(), asked);
    }
}
