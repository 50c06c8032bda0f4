//! Language models. A client speaks one vendor's wire; tool schemas are opaque JSON here.
//!
//! [`VendorClient`] sends, bounds and repeats requests; [`openai`] and [`anthropic`] say what they look
//! like. To add a vendor whose wire is another, implement `Wire` in a file of its own beside them.

mod anthropic;
mod breaker;
mod openai;
mod scripted;
mod vendor;

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use scripted::ScriptedModel;
pub use vendor::{Served, VendorClient};

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The rules; a stable prefix for the vendor's prompt cache.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Tools offered; empty = plain text.
    pub tools: Vec<Tool>,
    /// Whether the answer must be a tool call.
    pub force_tool: bool,
    /// Most tokens of the answer.
    pub max_output_tokens: u32,
    /// Whether a later request will begin with these messages, so that a prompt cache is worth it.
    pub continues: bool,
    /// From now; the client's own retries are inside it.
    pub timeout: Duration,
}

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From us.
    User {
        /// The text.
        text: String,
        /// Pictures after it; only for models that see.
        images: Vec<Image>,
    },
    /// From the model.
    Assistant {
        /// The text, maybe empty.
        text: String,
        /// Its calls.
        calls: Vec<ToolCall>,
    },
    /// The result of a call.
    ToolResult {
        /// The call's id.
        call_id: String,
        /// One text.
        text: String,
    },
}

impl Message {
    /// A text from us.
    pub fn user(text: impl Into<String>) -> Self {
        Message::User {
            text: text.into(),
            images: Vec::new(),
        }
    }
}

/// A picture.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// `image/png` or `image/jpeg`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: std::sync::Arc<[u8]>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes", self.media_type, self.bytes.len())
    }
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its input, closed.
    pub schema: serde_json::Value,
}

/// A call that the model proposes; nothing is checked yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the conversation.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its input as JSON text, as the vendor sent it.
    pub input: String,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReply {
    /// Text, maybe empty.
    pub text: String,
    /// Calls, in order; one that was cut off is left out.
    pub calls: Vec<ToolCall>,
    /// Why it ends.
    pub end: ReplyEnd,
    /// What it used, as the vendor says; none = it says nothing.
    pub usage: Option<TokenUsage>,
    /// What it cost as the vendor says, millionths of a US dollar.
    pub cost_microusd: Option<u64>,
    /// HTTP requests that were sent, retries included.
    pub requests: u32,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyEnd {
    /// All is said.
    #[default]
    Whole,
    /// At the limit of its tokens.
    Cut,
    /// The model or its vendor declines to answer this.
    Declined,
}

/// Tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Input, cached included.
    pub input: u64,
    /// Of these, read from the vendor's prompt cache.
    pub cached: u64,
    /// Of the input, written to the vendor's prompt cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Of these, reasoning.
    pub reasoning: u64,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// E.g. `openai-compatible`.
    pub provider: &'static str,
    /// The model's name at the vendor.
    pub model: String,
    /// Whether it takes pictures.
    pub vision: bool,
}

/// Why there is no answer. Messages hold no key and no address with credentials.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The vendor could not be reached or failed, after the client's own retries.
    #[error("model {model} did not answer after {requests} requests: {reason}")]
    ProviderFailed {
        /// The model.
        model: String,
        /// HTTP requests sent.
        requests: u32,
        /// Status or socket error.
        reason: String,
    },
    /// The prompt is over the model's window.
    #[error("the prompt is over the window of {model}")]
    ContextOverflow {
        /// The model.
        model: String,
    },
    /// The vendor refused the key or the model's name.
    #[error(
        "model {model} is refused by its vendor ({reason}); check the key's environment variable and the model's table in muster.toml"
    )]
    Refused {
        /// The model.
        model: String,
        /// Status line.
        reason: String,
    },
    /// The vendor's answer is not of its own format.
    #[error("model {model} answered what can't be read: {reason}")]
    Malformed {
        /// The model.
        model: String,
        /// What is wrong.
        reason: String,
    },
}

/// One model at one vendor.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// One answer. Bounded transport retries stay inside.
    async fn complete(&self, request: &ModelRequest) -> Result<ModelReply, ModelError>;
    /// Who answers.
    fn info(&self) -> ModelInfo;
}
