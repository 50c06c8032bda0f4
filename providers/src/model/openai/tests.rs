//! Against a real server on loopback that answers as the test wrote.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::model::{Message, TokenUsage, Tool, ToolCall};

const KEY: &str = "sk-very-secret";

/// Answers the n-th request with the n-th response; the last stays. Keeps what it got.
struct Server {
    address: String,
    got: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A status line's rest, further headers, a body; none = never answers.
type Response = Option<(&'static str, &'static str, String)>;

async fn server(responses: Vec<Response>) -> Server {
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
    fn client(&self) -> OpenAiCompatible {
        let client = OpenAiCompatible::new(&self.address, "small", Some(Secret::new(KEY))).unwrap();
        OpenAiCompatible {
            backoff: Duration::from_millis(1),
            stall: Duration::from_millis(300),
            ..client
        }
    }

    fn bodies(&self) -> Vec<Value> {
        self.got
            .lock()
            .unwrap()
            .iter()
            .map(|(_, body)| body.clone())
            .collect()
    }
}

fn request() -> ModelRequest {
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
        timeout: Duration::from_secs(20),
    }
}

fn good() -> Response {
    let body = json!({
        "id": "x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "tap", "arguments": "{\"target\":\"n1\"}"}},
            {"type": "function", "function": {"name": "type", "arguments": {"target": "n2"}}},
        ]}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "cost": 0.00012, "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens_details": {"reasoning_tokens": 3}},
    });
    Some((
        "200 OK",
        "content-type: application/json\r\n",
        body.to_string(),
    ))
}

fn bad(status: &'static str, headers: &'static str, message: &str) -> Response {
    Some((
        status,
        headers,
        json!({"error": {"message": message, "code": null}}).to_string(),
    ))
}

#[tokio::test]
async fn a_conversation_goes_out_and_calls_and_usage_come_back() {
    let server = server(vec![good()]).await;
    let reply = server.client().complete(&request()).await.unwrap();
    assert_eq!(
        reply.usage,
        Some(TokenUsage {
            input: 100,
            cached: 80,
            output: 7,
            reasoning: 3,
            ..TokenUsage::default()
        })
    );
    assert_eq!(reply.cost_microusd, Some(120));
    assert_eq!((reply.text.as_str(), reply.requests), ("", 1));
    assert_eq!(
        reply.calls[0],
        ToolCall {
            id: "a".to_owned(),
            name: "tap".to_owned(),
            input: r#"{"target":"n1"}"#.to_owned()
        }
    );
    assert_eq!(
        (reply.calls[1].id.as_str(), reply.calls[1].input.as_str()),
        ("call-1", r#"{"target":"n2"}"#)
    );
    let (head, body) = server.got.lock().unwrap()[0].clone();
    assert!(head.starts_with("post /v1/chat/completions "), "{head}");
    assert!(
        head.contains("authorization: bearer sk-very-secret"),
        "{head}"
    );
    assert_eq!(
        (&body["model"], &body["max_tokens"], &body["tool_choice"]),
        (&json!("small"), &json!(99), &json!("required"))
    );
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "rules"})
    );
    assert_eq!(
        body["messages"][2]["tool_calls"][0]["function"]["name"],
        "tap"
    );
    assert_eq!(
        body["messages"][3],
        json!({"role": "tool", "tool_call_id": "c1", "content": "done"})
    );
    assert_eq!(
        body["tools"][1]["function"]["parameters"],
        json!({"type": "object"})
    );
}

#[tokio::test]
async fn a_failing_vendor_is_asked_again_at_most_five_times() {
    let server = server(vec![
        bad("503 Service Unavailable", "", "busy"),
        bad("429 Too Many Requests", "retry-after: 0\r\n", ""),
        good(),
    ])
    .await;
    assert_eq!(
        server.client().complete(&request()).await.unwrap().requests,
        3
    );

    let server = self::server(vec![bad("500 Internal Server Error", "", "broken")]).await;
    let error = server.client().complete(&request()).await.unwrap_err();
    assert!(
        matches!(error, ModelError::ProviderFailed { requests: 6, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("500 Internal Server Error: broken"),
        "{error}"
    );
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let server = server(vec![bad(
        "429 Too Many Requests",
        "retry-after: 3600\r\n",
        "slow down",
    )])
    .await;
    let error = server.client().complete(&request()).await.unwrap_err();
    assert!(
        matches!(&error, ModelError::ProviderFailed { requests: 1, reason, .. } if reason.contains("no time is left")),
        "{error}"
    );
}

#[tokio::test]
async fn a_stalled_answer_is_asked_for_again() {
    let server = server(vec![None, good()]).await;
    assert_eq!(
        server.client().complete(&request()).await.unwrap().requests,
        2
    );
}

#[tokio::test]
async fn a_refused_forced_choice_falls_back_and_is_remembered() {
    let server = server(vec![
        bad(
            "400 Bad Request",
            "",
            "tool_choice 'required' is not supported",
        ),
        good(),
    ])
    .await;
    let client = server.client();
    assert_eq!(client.complete(&request()).await.unwrap().requests, 2);
    assert_eq!(client.complete(&request()).await.unwrap().requests, 1);
    let choices: Vec<Value> = server
        .bodies()
        .iter()
        .map(|body| body["tool_choice"].clone())
        .collect();
    assert_eq!(choices, [json!("required"), json!("auto"), json!("auto")]);
}

#[tokio::test]
async fn a_renamed_limit_is_learned() {
    let server = server(vec![
        bad(
            "400 Bad Request",
            "",
            "use 'max_completion_tokens' instead of 'max_tokens'",
        ),
        good(),
    ])
    .await;
    let mut asked = request();
    asked.tools.truncate(1);
    server.client().complete(&asked).await.unwrap();
    let last = server.bodies().pop().unwrap();
    assert_eq!(
        (&last["max_completion_tokens"], &last["max_tokens"]),
        (&json!(99), &Value::Null)
    );
    assert_eq!(last["tool_choice"]["function"]["name"], "tap");
}

#[tokio::test]
async fn errors_are_told_apart_and_hold_no_key() {
    for status in ["401 Unauthorized", "403 Forbidden", "404 Not Found"] {
        let server = server(vec![bad(
            status,
            "",
            "Incorrect API key provided: sk-very-secret.",
        )])
        .await;
        let error = server.client().complete(&request()).await.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{error}");
        let told = format!("{error} {error:?}");
        assert!(told.contains("<key>") && !told.contains(KEY), "{told}");
    }
    let overflow =
        json!({"error": {"message": "too long", "code": "context_length_exceeded"}}).to_string();
    let server = self::server(vec![Some(("400 Bad Request", "", overflow))]).await;
    assert!(matches!(
        server.client().complete(&request()).await,
        Err(ModelError::ContextOverflow { .. })
    ));
    assert_eq!(server.bodies().len(), 1);

    let server = self::server(vec![Some(("200 OK", "", "<html>".to_owned()))]).await;
    assert!(matches!(
        server.client().complete(&request()).await,
        Err(ModelError::Malformed { .. })
    ));

    let server = self::server(vec![Some(("200 OK", "", " ".repeat(MAX_RESPONSE + 1)))]).await;
    assert!(matches!(
        server.client().complete(&request()).await,
        Err(ModelError::Malformed { .. })
    ));

    let server = self::server(vec![Some((
        "307 Temporary Redirect",
        "location: http://127.0.0.1:1/\r\n",
        String::new(),
    ))])
    .await;
    assert!(matches!(
        server.client().complete(&request()).await,
        Err(ModelError::Refused { .. })
    ));
}

#[tokio::test]
async fn addresses_are_checked_before_anything_is_sent() {
    let new =
        |base: &str, key: &str| OpenAiCompatible::new(base, "small", Some(Secret::new(key))).err();
    assert!(matches!(
        new("models.example.com", KEY),
        Some(BadAddress::NotHttp)
    ));
    assert!(matches!(
        new("ftp://models.example.com", KEY),
        Some(BadAddress::NotHttp)
    ));
    assert!(matches!(
        new("https://me:pw@models.example.com/v1", KEY),
        Some(BadAddress::Credentials)
    ));
    assert!(matches!(
        new("https://models.example.com/v1", "two\nlines"),
        Some(BadAddress::Key)
    ));
    let client = OpenAiCompatible::new("https://models.example.com/v1/", "small", None).unwrap();
    assert_eq!(
        client.endpoint.as_str(),
        "https://models.example.com/v1/chat/completions"
    );
}
