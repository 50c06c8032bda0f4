//! Anthropic's messages wire. No streaming.
//!
//! Source: the Anthropic API reference, "Create a message", and its pages on tool use and prompt
//! caching. A forced tool choice that a model refuses, as while it thinks, is left out from then on.

#[cfg(test)]
pub(super) mod tests;

use base64::Engine as _;
use muster_proto::secret::Secret;
use reqwest::header::HeaderName;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::vendor::{NoReply, Refused, Served, VendorError, Wire, whole};
use super::{Image, Message, ModelReply, ModelRequest, ReplyEnd, TokenUsage, Tool, ToolCall};

/// Version of the wire.
const VERSION: &str = "2023-06-01";
const TOOL_CHOICE: &str = "tool_choice";

pub(super) struct Anthropic;

impl Wire for Anthropic {
    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self) -> &'static [&'static str] {
        &["messages"]
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, String)> {
        let version = HeaderName::from_static("anthropic-version");
        let key = key.map(|key| {
            let name = HeaderName::from_static("x-api-key");
            (name, key.expose().to_owned())
        });
        [(version, VERSION.to_owned())]
            .into_iter()
            .chain(key)
            .collect()
    }

    fn body(&self, served: &Served, request: &ModelRequest, refused: &Refused) -> Value {
        // The vendor reads tools, then system, then messages: this mark keeps both of the former.
        let mut system = json!({"type": "text", "text": request.system});
        mark(&mut system);
        let mut body = json!({
            "model": served.model,
            "max_tokens": request.max_output_tokens,
            "system": [system],
            "messages": messages(request),
        });
        if !served.thinking {
            body["thinking"] = json!({"type": "disabled"});
        }
        if !request.tools.is_empty() {
            let tool = |tool: &Tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
            body["tools"] = request.tools.iter().map(tool).collect();
            body[TOOL_CHOICE] = match request.tools.as_slice() {
                _ if !request.force_tool || refused.contains(TOOL_CHOICE) => {
                    json!({"type": "auto"})
                }
                [only] => json!({"type": "tool", "name": only.name}),
                _ => json!({"type": "any"}),
            };
        }
        body
    }

    fn culprit(&self, sent: &Value, error: &VendorError) -> Option<&'static str> {
        let forced = sent
            .get(TOOL_CHOICE)
            .is_some_and(|choice| choice["type"] != "auto");
        (forced && error.names(TOOL_CHOICE)).then_some(TOOL_CHOICE)
    }

    fn reply(&self, body: &[u8]) -> Result<ModelReply, NoReply> {
        reply(body)
    }
}

/// Asks the vendor to keep all up to and with this block.
fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

/// Turns of the user and of the model, one after the other.
fn messages(request: &ModelRequest) -> Value {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = blocks(message);
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    if request.continues
        && let Some(newest) = turns.last_mut().and_then(|(_, blocks)| blocks.last_mut())
    {
        mark(newest);
    }
    let turn = |(role, content)| json!({"role": role, "content": Value::Array(content)});
    turns.into_iter().map(turn).collect()
}

fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    // The vendor refuses empty texts.
    let said = |text: &str| (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    match message {
        Message::User { text, images } => {
            let picture = |image: &Image| {
                let data = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
                json!({"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}})
            };
            let pictures = images.iter().map(picture);
            ("user", said(text).into_iter().chain(pictures).collect())
        }
        Message::Assistant { text, calls } => {
            let call = |call: &ToolCall| {
                let input: Map<String, Value> =
                    serde_json::from_str(&call.input).unwrap_or_default();
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
            };
            let calls = calls.iter().map(call);
            ("assistant", said(text).into_iter().chain(calls).collect())
        }
        Message::ToolResult { call_id, text } => {
            let result = json!({"type": "tool_result", "tool_use_id": call_id, "content": text});
            ("user", vec![result])
        }
    }
}

// The vendor adds fields: nothing here is closed.

#[derive(Deserialize)]
struct Reply {
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    /// Thoughts, and what comes later.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

fn reply(body: &[u8]) -> Result<ModelReply, NoReply> {
    let reply: Reply = serde_json::from_slice(body)?;
    let end = match reply.stop_reason.as_deref() {
        Some("max_tokens") => ReplyEnd::Cut,
        Some("refusal") => ReplyEnd::Declined,
        Some("model_context_window_exceeded") => return Err(NoReply::Overflow),
        _ => ReplyEnd::Whole,
    };
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in reply.content {
        match block {
            Block::Text { text: more } => text.push_str(&more),
            Block::ToolUse { id, name, input } => calls.push(ToolCall {
                id,
                name,
                input: input.to_string(),
            }),
            Block::Other => {}
        }
    }
    let usage = reply.usage.map(|usage| {
        let cached = usage.cache_read_input_tokens.unwrap_or(0);
        let cache_write = usage.cache_creation_input_tokens.unwrap_or(0);
        TokenUsage {
            input: usage.input_tokens + cached + cache_write,
            cached,
            cache_write,
            output: usage.output_tokens,
            // The vendor counts thoughts as output and doesn't tell them apart.
            reasoning: 0,
        }
    });
    Ok(ModelReply {
        text,
        calls: whole(calls, end),
        end,
        usage,
        ..ModelReply::default()
    })
}
