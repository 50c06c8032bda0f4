//! What only this wire does.

use serde_json::{Value, json};

use super::*;
use crate::model::vendor::tests::{Response, bad, ok, request, server};
use crate::model::{ModelClient, ModelError, VendorClient};

pub(in crate::model) fn good() -> Response {
    let body = json!({
        "id": "x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "tap", "arguments": "{\"target\":\"n1\"}"}},
            {"type": "function", "function": {"name": "type", "arguments": {"target": "n2"}}},
        ]}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "cost": 0.00012, "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens_details": {"reasoning_tokens": 3}},
    });
    ok(&body)
}

#[tokio::test]
async fn a_conversation_goes_out_and_calls_and_usage_come_back() {
    let server = server(vec![good()]).await;
    let reply = server
        .client(VendorClient::openai)
        .complete(&request())
        .await
        .unwrap();
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
    let (head, body) = server.first();
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
    server
        .client(VendorClient::openai)
        .complete(&asked)
        .await
        .unwrap();
    let last = server.bodies().pop().unwrap();
    assert_eq!(
        (&last["max_completion_tokens"], &last["max_tokens"]),
        (&json!(99), &Value::Null)
    );
    assert_eq!(last["tool_choice"]["function"]["name"], "tap");
}

#[tokio::test]
async fn an_answer_says_why_it_ends() {
    let answer = |finish: &str, message: Value| {
        ok(&json!({"choices": [{"message": message, "finish_reason": finish}]}))
    };
    let call = json!({"id": "a", "function": {"name": "tap", "arguments": "{\"tar"}});
    let server = server(vec![
        answer("length", json!({"tool_calls": [call]})),
        answer("stop", json!({"content": null, "refusal": "I can't"})),
        answer("content_filter", json!({"content": ""})),
        answer("stop", json!({"content": "hi"})),
    ])
    .await;
    let client = server.client(VendorClient::openai);
    for (end, text) in [
        (ReplyEnd::Cut, ""),
        (ReplyEnd::Declined, "I can't"),
        (ReplyEnd::Declined, ""),
        (ReplyEnd::Whole, "hi"),
    ] {
        let reply = client.complete(&request()).await.unwrap();
        assert_eq!(
            (reply.end, reply.text.as_str(), reply.calls.len()),
            (end, text, 0)
        );
    }
}

#[tokio::test]
async fn thinking_is_turned_off_in_the_way_that_the_server_takes() {
    let unknown = |part| bad("400 Bad Request", "", part);
    let server = server(vec![
        unknown("Unrecognized request argument: chat_template_kwargs"),
        good(),
        unknown("reasoning_effort: unknown field"),
    ])
    .await;
    let client = server.client(|served| {
        VendorClient::openai(Served {
            thinking: false,
            ..served
        })
    });
    client.complete(&request()).await.unwrap();
    let bodies = server.bodies();
    assert_eq!(bodies[0][TEMPLATE]["enable_thinking"], false);
    assert_eq!(bodies[1][EFFORT], "none");
    assert_eq!(bodies[1].get(TEMPLATE), None);
    // It would think: nobody asks such a server.
    let error = client.complete(&request()).await.unwrap_err();
    assert!(matches!(error, ModelError::Refused { .. }), "{error}");
}
