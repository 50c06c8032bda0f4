//! Requests and replies as JSON.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{Image, Message, ModelReply, ModelRequest, TokenUsage, ToolCall};

/// How this vendor wants a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    /// Whether a tool call is forced.
    pub(super) forced: bool,
    /// Whether the limit is called `max_completion_tokens`.
    pub(super) renamed_limit: bool,
}

/// The body of a request.
pub(super) fn request(model: &str, request: &ModelRequest, dialect: Dialect) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    messages.extend(request.messages.iter().map(message));
    let limit = if dialect.renamed_limit {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let mut body = json!({"model": model, "messages": messages, limit: request.max_output_tokens});
    if !request.tools.is_empty() {
        let tool = |tool: &crate::model::Tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}});
        body["tools"] = request.tools.iter().map(tool).collect();
        body["tool_choice"] = match request.tools.as_slice() {
            _ if !dialect.forced => json!("auto"),
            [only] => json!({"type": "function", "function": {"name": only.name}}),
            _ => json!("required"),
        };
    }
    body
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
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    content: Option<String>,
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

/// Reads a reply; `requests` is left 0. The error says what is wrong.
pub(super) fn reply(body: &[u8]) -> Result<ModelReply, String> {
    let reply: Reply = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let said = reply
        .choices
        .into_iter()
        .next()
        .ok_or("there are no choices")?
        .message;
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
        text: said.content.unwrap_or_default(),
        calls: calls.collect(),
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

/// What a vendor says about a failed request.
#[derive(Debug, Default)]
pub(super) struct VendorError {
    pub(super) message: String,
    code: String,
}

impl VendorError {
    /// Whether the prompt is over the window.
    pub(super) fn says_overflow(&self) -> bool {
        self.code == "context_length_exceeded"
            || ["maximum context length", "context window", "context size"]
                .iter()
                .any(|words| self.names(words))
    }

    /// Whether the message has these words.
    pub(super) fn names(&self, words: &str) -> bool {
        self.message.contains(words)
    }
}

/// Reads `{"error": {"message", "code"}}`, `{"error": "…"}` or `{"message": "…"}`.
pub(super) fn error(body: &[u8]) -> VendorError {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return VendorError::default();
    };
    let error = body.get("error").unwrap_or(&body);
    let text = |key: &str| {
        error
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let message = error
        .as_str()
        .map_or_else(|| text("message"), str::to_owned);
    VendorError {
        message,
        code: text("code"),
    }
}
