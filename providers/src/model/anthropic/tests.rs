//! What only this wire does.

use serde_json::json;

use super::*;
use crate::model::vendor::tests::{Response, ok, request, server};
use crate::model::{ModelClient, ModelError, VendorClient};

pub(in crate::model) fn good() -> Response {
    ok(&json!({
        "id": "msg", "type": "message", "role": "assistant", "model": "small",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I tap."},
            {"type": "tool_use", "id": "toolu_1", "name": "tap", "input": {"target": "n1"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10, "output_tokens": 7},
    }))
}

#[tokio::test]
async fn a_conversation_goes_out_and_calls_and_usage_come_back() {
    let server = server(vec![good()]).await;
    let client = server.client(VendorClient::anthropic);
    let reply = client.complete(&request()).await.unwrap();
    let usage = TokenUsage {
        input: 100,
        cached: 70,
        cache_write: 10,
        output: 7,
        reasoning: 0,
    };
    let call = ToolCall {
        id: "toolu_1".to_owned(),
        name: "tap".to_owned(),
        input: r#"{"target":"n1"}"#.to_owned(),
    };
    let want = ModelReply {
        text: "I tap.".to_owned(),
        calls: vec![call],
        usage: Some(usage),
        requests: 1,
        ..ModelReply::default()
    };
    assert_eq!(reply, want);
    let (head, body) = server.first();
    assert!(head.starts_with("post /v1/messages "), "{head}");
    for header in ["x-api-key: sk-very-secret", "anthropic-version: 2023-06-01"] {
        assert!(head.contains(header), "{head}");
    }
    let mark = json!({"type": "ephemeral"});
    let want = json!({
        "model": "small", "max_tokens": 99, "tool_choice": {"type": "any"},
        "system": [{"type": "text", "text": "rules", "cache_control": mark}],
        "tools": [
            {"name": "tap", "description": "d", "input_schema": {"type": "object"}},
            {"name": "type", "description": "d", "input_schema": {"type": "object"}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "tap", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done", "cache_control": mark}]},
        ],
    });
    assert_eq!(body, want);
}

#[test]
fn turns_alternate_and_hold_no_empty_text() {
    let image = Image {
        media_type: "image/png",
        bytes: b"png".to_vec().into(),
    };
    let silent = Message::Assistant {
        text: String::new(),
        calls: Vec::new(),
    };
    let asked = ModelRequest {
        messages: vec![
            Message::user("goal"),
            silent,
            Message::User {
                text: "look".to_owned(),
                images: vec![image],
            },
        ],
        continues: false,
        ..request()
    };
    let want = json!([{"role": "user", "content": [
        {"type": "text", "text": "goal"},
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
    ]}]);
    assert_eq!(messages(&asked), want);
}

#[tokio::test]
async fn an_answer_says_why_it_ends() {
    let answer = |stop: &str, content: Value| ok(&json!({"content": content, "stop_reason": stop}));
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "tap", "input": {}});
    let server = server(vec![
        answer("max_tokens", json!([call("a"), call("b")])),
        answer("refusal", json!([])),
        answer("model_context_window_exceeded", json!([])),
    ])
    .await;
    let client = server.client(VendorClient::anthropic);
    // The second call may have been cut: only the first is one.
    let cut = client.complete(&request()).await.unwrap();
    assert_eq!((cut.end, cut.calls.len()), (ReplyEnd::Cut, 1));
    let declined = client.complete(&request()).await.unwrap();
    assert_eq!((declined.end, declined.usage), (ReplyEnd::Declined, None));
    assert!(matches!(
        client.complete(&request()).await,
        Err(ModelError::ContextOverflow { .. })
    ));
}

#[tokio::test]
async fn thinking_is_turned_off_by_name() {
    let server = server(vec![good()]).await;
    let client = server.client(|served| {
        VendorClient::anthropic(Served {
            thinking: false,
            ..served
        })
    });
    client.complete(&request()).await.unwrap();
    assert_eq!(server.first().1["thinking"]["type"], "disabled");
}
