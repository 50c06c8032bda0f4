//! Against a real server on loopback that answers as the test wrote.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::*;
use crate::decision::Offer;

const KEY: &str = "dk-very-secret";

/// Answers the n-th request with the n-th response; the last stays. Keeps what it got.
struct Server {
    address: String,
    got: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A status line's rest and a body; none = never answers.
type Response = Option<(&'static str, String)>;

async fn server(responses: Vec<Response>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/decide", listener.local_addr().unwrap());
    let got = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&got);
    tokio::spawn(async move {
        let mut held = Vec::new();
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let mut line = String::new();
                assert!(stream.read_line(&mut line).await.unwrap() > 0, "cut off");
                if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
                    length = said.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            let body = serde_json::from_slice(&body).unwrap();
            seen.lock().unwrap().push((head, body));
            let Some((status, body)) = &responses[number.min(responses.len() - 1)] else {
                held.push(stream);
                continue;
            };
            let text = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            // A client that has read enough may be gone.
            stream.write_all(text.as_bytes()).await.ok();
        }
    });
    Server { address, got }
}

impl Server {
    async fn ask(&self) -> Result<Vec<Decided>, DecisionError> {
        let client = HttpDecisions::new(&self.address, Some(Secret::new(KEY))).unwrap();
        let hasty = HttpDecisions {
            endpoint: client.endpoint.in_a_hurry(),
        };
        hasty.decide(&request()).await
    }

    fn requests(&self) -> usize {
        self.got.lock().unwrap().len()
    }
}

fn request() -> DecisionRequest {
    let offer = |id: &str| Offer {
        id: id.to_owned(),
        label: format!("label of {id}"),
    };
    let question = |name: &str, ids: [&str; 2]| Question {
        name: name.to_owned(),
        text: format!("{name}?"),
        options: ids.map(offer).to_vec(),
        omitted: 0,
    };
    DecisionRequest {
        state: json!({"goal": "Pay"}),
        questions: vec![
            question("operation", ["tap", "done"]),
            question("tap_target", ["e0", "none"]),
        ],
        timeout: Duration::from_secs(20),
    }
}

fn operation() -> Value {
    json!({"question": "operation", "chosen": "tap", "probabilities": {"tap": 0.9, "done": 0.1}, "confidence": 0.8})
}

fn target() -> Value {
    json!({"question": "tap_target", "chosen": "none", "probabilities": {"none": 1.0}, "confidence": 1})
}

fn answered(answers: &[Value]) -> Response {
    Some((
        "200 OK",
        json!({"version": 1, "answers": answers}).to_string(),
    ))
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let server = server(vec![answered(&[target(), operation()])]).await;
    let decided = |chosen, probability, confidence| Decided {
        chosen,
        probability,
        confidence,
    };
    assert_eq!(
        server.ask().await.unwrap(),
        [decided(0, 0.9, 0.8), decided(1, 1.0, 1.0)],
        "in the order of the questions"
    );
    let (head, body) = server.got.lock().unwrap()[0].clone();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /decide http/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {KEY}")));
    assert_eq!(
        body,
        json!({"version": 1, "state": {"goal": "Pay"}, "questions": [
            {"kind": "choice", "name": "operation", "text": "operation?", "omitted": 0, "options": [
                {"id": "tap", "label": "label of tap"}, {"id": "done", "label": "label of done"}]},
            {"kind": "choice", "name": "tap_target", "text": "tap_target?", "omitted": 0, "options": [
                {"id": "e0", "label": "label of e0"}, {"id": "none", "label": "label of none"}]},
        ]})
    );
}

#[tokio::test]
async fn an_answer_that_breaks_the_wire_is_told_and_not_asked_for_again() {
    let with = |key: &str, value: Value| {
        let mut answer = operation();
        answer[key] = value;
        answered(&[answer, target()])
    };
    for (response, why) in [
        (with("chosen", json!("e7")), "\"e7\" is not offered"),
        (
            with("refused", json!("too hard")),
            "refuses to answer: too hard",
        ),
        (with("chosen", Value::Null), "nothing is chosen"),
        (
            with("probabilities", json!({"e7": 1})),
            "\"e7\" is not offered",
        ),
        (
            with("probabilities", json!({"done": 1})),
            "what is chosen has no probability",
        ),
        (with("probabilities", json!({"tap": 0.4})), "add up to 0.4"),
        (
            with("probabilities", json!({"tap": 1.5, "done": -0.5})),
            "it takes 0 to 1",
        ),
        (with("confidence", json!(1.5)), "confidence is 1.5"),
        (with("confidence", Value::Null), "confidence is missing"),
        (with("note", json!("hi")), "unknown field `note`"),
        (answered(&[operation()]), "tap_target: there is no answer"),
        (
            answered(&[operation(), operation(), target()]),
            "operation: it is answered twice",
        ),
        (with("question", json!("other")), "\"other\" was not asked"),
        (
            Some(("200 OK", json!({"version": 2, "answers": []}).to_string())),
            "in version 2",
        ),
        (Some(("200 OK", "<html>".to_owned())), "expected value"),
        (Some(("200 OK", " ".repeat(MAX_RESPONSE + 1))), "is over"),
    ] {
        let server = server(vec![response]).await;
        let error = server.ask().await.unwrap_err();
        assert!(matches!(error, DecisionError::Invalid { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}: {why}");
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_failing_service_is_asked_again_within_bounds() {
    let busy = || Some(("503 Service Unavailable", "busy".to_owned()));
    let good = || answered(&[operation(), target()]);
    let server = self::server(vec![busy(), None, good()]).await;
    assert!(server.ask().await.is_ok());
    assert_eq!(server.requests(), 3, "one refused, one stalled");

    let server = self::server(vec![busy()]).await;
    let error = server.ask().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the decision service did not answer after 6 requests: 503 Service Unavailable: busy"
    );
    assert_eq!(server.requests(), 6);
}

#[tokio::test]
async fn a_refused_key_is_told_without_the_key() {
    let server = server(vec![Some(("401 Unauthorized", format!("bad key {KEY}")))]).await;
    let error = server.ask().await.unwrap_err();
    assert!(matches!(error, DecisionError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("bad key <key>"), "{error}");
    assert_eq!(server.requests(), 1);
}

#[test]
fn addresses_are_checked_before_anything_is_sent() {
    let new = |url: &str, key: &str| HttpDecisions::new(url, Some(Secret::new(key))).err();
    assert!(matches!(new("example.com", KEY), Some(BadAddress::NotHttp)));
    assert!(matches!(
        new("https://me:pw@decide.example.com", KEY),
        Some(BadAddress::Credentials)
    ));
    assert!(matches!(
        new("https://decide.example.com", "two\nlines"),
        Some(BadAddress::Key)
    ));
}
