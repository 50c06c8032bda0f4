//! The chat-completions wire that many vendors and local servers speak. No streaming.
//!
//! Source: the OpenAI API reference, "Create chat completion"; what compatible servers leave out or
//! refuse is learned: a forced tool choice, the name of the output limit, and which of two ways turns
//! thinking off.

#[cfg(test)]
pub(super) mod tests;

use base64::Engine as _;
use muster_proto::secret::Secret;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde::Deserialize;
use serde_json::{Value, json};

use super::vendor::{NoReply, Refused, Served, VendorError, Wire, whole};
use super::{Image, Message, ModelReply, ModelRequest, ReplyEnd, TokenUsage, Tool, ToolCall};

const LIMIT: &str = "max_tokens";
const RENAMED_LIMIT: &str = "max_completion_tokens";
const TOOL_CHOICE: &str = "tool_choice";
/// How thinking is turned off at OpenAI and vendors like it.
const EFFORT: &str = "reasoning_effort";
/// How it is turned off at servers that fill in a chat template (vLLM, SGLang, llama.cpp).
const TEMPLATE: &str = "chat_template_kwargs";

pub(super) struct OpenAi;

impl Wire for OpenAi {
    fn provider(&self) -> &'static str {
        "openai-compatible"
    }

    fn path(&self) -> &'static [&'static str] {
        &["chat", "completions"]
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, String)> {
        let bearer = |key: &Secret| (AUTHORIZATION, format!("Bearer {}", key.expose()));
        key.map(bearer).into_iter().collect()
    }

    fn body(&self, served: &Served, request: &ModelRequest, refused: &Refused) -> Value {
        let mut messages = vec![json!({"role": "system", "content": request.system})];
        messages.extend(request.messages.iter().map(message));
        let limit = match refused.contains(LIMIT) {
            true => RENAMED_LIMIT,
            false => LIMIT,
        };
        let mut body =
            json!({"model": served.model, "messages": messages, limit: request.max_output_tokens});
        if !served.thinking {
            for (part, value) in [
                (EFFORT, json!("none")),
                (TEMPLATE, json!({"enable_thinking": false})),
            ] {
                if !refused.contains(part) {
                    body[part] = value;
                }
            }
        }
        if !request.tools.is_empty() {
            let tool = |tool: &Tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}});
            body["tools"] = request.tools.iter().map(tool).collect();
            body[TOOL_CHOICE] = match request.tools.as_slice() {
                _ if !request.force_tool || refused.contains(TOOL_CHOICE) => json!("auto"),
                [only] => json!({"type": "function", "function": {"name": only.name}}),
                _ => json!("required"),
            };
        }
        body
    }

    fn culprit(&self, sent: &Value, error: &VendorError) -> Option<&'static str> {
        let forced = sent.get(TOOL_CHOICE).is_some_and(|choice| choice != "auto");
        let switches = [EFFORT, TEMPLATE];
        let thinking = switches
            .into_iter()
            .find(|part| sent.get(part).is_some() && error.names(part));
        match () {
            // With both refused it would think, against its configuration.
            () if thinking.is_some() && switches.iter().all(|part| sent.get(part).is_some()) => {
                thinking
            }
            () if thinking.is_some() => None,
            () if sent.get(LIMIT).is_some() && error.names(RENAMED_LIMIT) => Some(LIMIT),
            // Few vendors say that it was this.
            () if forced => Some(TOOL_CHOICE),
            () => None,
        }
    }

    fn reply(&self, body: &[u8]) -> Result<ModelReply, NoReply> {
        reply(body)
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text, images } if images.is_empty() => {
            json!({"role": "user", "content": text})
        }
        Message::User { text, images } => {
            let picture = |image: &Image| {
                let data = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
                json!({"type": "image_url", "image_url": {"url": format!("data:{};base64,{data}", image.media_type)}})
            };
            let mut parts = vec![json!({"type": "text", "text": text})];
            parts.extend(images.iter().map(picture));
            json!({"role": "user", "content": parts})
        }
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let call = |call: &ToolCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.input}});
            // Empty, not null: some servers take no null there.
            json!({"role": "assistant", "content": text, "tool_calls": calls.iter().map(call).collect::<Vec<_>>()})
        }
        Message::ToolResult { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
    }
}

// Vendors add fields of their own: nothing here is closed.

#[derive(Deserialize)]
struct Reply {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Called>>,
}

#[derive(Deserialize)]
struct Called {
    #[serde(default)]
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    /// JSON as text; some servers send the JSON itself.
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
    /// US dollars; some gateways tell it.
    #[serde(default)]
    cost: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

fn reply(body: &[u8]) -> Result<ModelReply, NoReply> {
    let reply: Reply = serde_json::from_slice(body)?;
    let choice = reply
        .choices
        .into_iter()
        .next()
        .ok_or_else(|| NoReply::Malformed("there are no choices".to_owned()))?;
    let said = choice.message;
    let end = match choice.finish_reason.as_deref() {
        Some("length") => ReplyEnd::Cut,
        Some("content_filter") => ReplyEnd::Declined,
        _ if said.refusal.is_some() => ReplyEnd::Declined,
        _ => ReplyEnd::Whole,
    };
    let calls = said
        .tool_calls
        .unwrap_or_default()
        .into_iter()
        .enumerate()
        .map(|(index, called)| ToolCall {
            id: called
                .id
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| format!("call-{index}")),
            name: called.function.name,
            input: match called.function.arguments {
                Value::String(text) => text,
                Value::Null => String::new(),
                json => json.to_string(),
            },
        });
    let cost_microusd = reply.usage.as_ref().and_then(|usage| micro(usage.cost?));
    let usage = reply.usage.map(|usage| {
        let input = usage.prompt_tokens_details.unwrap_or_default();
        let output = usage.completion_tokens_details.unwrap_or_default();
        TokenUsage {
            input: usage.prompt_tokens,
            cached: input.cached_tokens.unwrap_or(0),
            cache_write: input.cache_write_tokens.unwrap_or(0),
            output: usage.completion_tokens,
            reasoning: output.reasoning_tokens.unwrap_or(0),
        }
    });
    Ok(ModelReply {
        text: said.content.or(said.refusal).unwrap_or_default(),
        calls: whole(calls.collect(), end),
        end,
        usage,
        cost_microusd,
        requests: 0,
    })
}

/// Dollars in millionths, rounded up; none for what is no cost.
fn micro(usd: f64) -> Option<u64> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the range"
    )]
    (0.0..=1e6)
        .contains(&usd)
        .then(|| (usd * 1e6).ceil() as u64)
}
