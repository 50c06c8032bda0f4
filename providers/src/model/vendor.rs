//! Asking a vendor over HTTP: one request and its bounded answer, sent again where that may help.
//!
//! The crates that speak a vendor's wire bring a transport of their own, without these bounds: no
//! limit of an answer's size, no way past the environment's proxies, none to keep a redirect from
//! carrying prompts elsewhere. So [`Wire`]s only write and read JSON.

#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use muster_proto::secret::Secret;
use reqwest::StatusCode;
use reqwest::header::HeaderName;
use serde_json::Value;
use tokio::time::Instant;

use super::anthropic::Anthropic;
use super::breaker::Breaker;
use super::openai::OpenAi;
use super::{ModelClient, ModelError, ModelInfo, ModelReply, ModelRequest, ReplyEnd, ToolCall};
use crate::endpoint::{self, BadAddress, Endpoint, Failed, MAX_RESPONSE, Response, Tries};

/// A model at an address.
#[derive(Clone, Debug)]
pub struct Served {
    /// Up to and including the version: `https://api.example.com/v1`.
    pub base_url: String,
    /// The vendor's name of it.
    pub model: String,
    /// None = the vendor asks for none.
    pub key: Option<Secret>,
    /// Whether it takes pictures.
    pub vision: bool,
    /// Whether it may think before it answers, as its vendor sees fit; false = it is told not to.
    pub thinking: bool,
}

/// What is a vendor's own: how requests and answers look.
pub(super) trait Wire: Send + Sync {
    /// Its name in telemetry.
    fn provider(&self) -> &'static str;
    /// Where requests go, below the base address.
    fn path(&self) -> &'static [&'static str];
    /// Headers of every request, and what stands in them.
    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, String)>;
    /// The body of a request, without what this vendor refused before.
    fn body(&self, served: &Served, request: &ModelRequest, refused: &Refused) -> Value;
    /// What of a refused body can be left out or said in another way, if anything.
    fn culprit(&self, sent: &Value, error: &VendorError) -> Option<&'static str>;
    /// Reads an answer; `requests` is left 0. The error says what is wrong.
    fn reply(&self, body: &[u8]) -> Result<ModelReply, NoReply>;
}

/// Why a successful answer is none.
#[derive(Debug)]
pub(super) enum NoReply {
    /// It is not of the vendor's format.
    Malformed(String),
    /// It was cut since the window is full.
    Overflow,
}

impl From<serde_json::Error> for NoReply {
    fn from(error: serde_json::Error) -> Self {
        NoReply::Malformed(error.to_string())
    }
}

/// Parts of requests that a vendor refused, as its [`Wire`] calls them.
pub(super) type Refused = BTreeSet<&'static str>;

/// One model at one vendor.
pub struct VendorClient {
    endpoint: Endpoint,
    served: Served,
    wire: Box<dyn Wire>,
    /// What was learned about the vendor so far.
    refused: Mutex<Refused>,
    breaker: Mutex<Breaker>,
}

/// Why one request brought no reply.
enum Fault {
    /// The request has a part that this vendor doesn't take; the next goes without.
    Learned,
    Other(Failed<ModelError>),
}

impl From<Failed<ModelError>> for Fault {
    fn from(failed: Failed<ModelError>) -> Self {
        Fault::Other(failed)
    }
}

impl VendorClient {
    /// A client for the chat-completions wire that many vendors and local servers speak; the key
    /// goes as a bearer token.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn openai(served: Served) -> Result<Self, BadAddress> {
        Self::new(served, Box::new(OpenAi))
    }

    /// A client for Anthropic's messages wire.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn anthropic(served: Served) -> Result<Self, BadAddress> {
        Self::new(served, Box::new(Anthropic))
    }

    fn new(served: Served, wire: Box<dyn Wire>) -> Result<Self, BadAddress> {
        let mut url = endpoint::address(&served.base_url)?;
        url.path_segments_mut()
            .map_err(|()| BadAddress::NotHttp)?
            .pop_if_empty()
            .extend(wire.path());
        let headers = wire.headers(served.key.as_ref());
        Ok(Self {
            endpoint: Endpoint::new(url, served.key.clone(), headers)?,
            served,
            wire,
            refused: Mutex::default(),
            breaker: Mutex::default(),
        })
    }

    fn model(&self) -> String {
        self.served.model.clone()
    }

    async fn once(&self, request: &ModelRequest, deadline: Instant) -> Result<ModelReply, Fault> {
        let refused = self.refused().clone();
        let body = self.wire.body(&self.served, request, &refused);
        let response = self.endpoint.post(&body, deadline).await?;
        if !response.status.is_success() {
            return Err(self.failed(&response, &body));
        }
        let reply = match &response.body {
            Some(text) => self.wire.reply(text),
            None => Err(NoReply::Malformed(format!(
                "the answer is over {MAX_RESPONSE} bytes"
            ))),
        };
        let model = self.model();
        reply.map_err(|none| {
            Fault::Other(Failed::Final(match none {
                NoReply::Malformed(reason) => ModelError::Malformed { model, reason },
                NoReply::Overflow => ModelError::ContextOverflow { model },
            }))
        })
    }

    fn failed(&self, response: &Response, sent: &Value) -> Fault {
        let (status, model) = (response.status, self.model());
        let error = VendorError::read(response.body.as_deref().unwrap_or_default());
        if status == StatusCode::PAYLOAD_TOO_LARGE || error.says_overflow() {
            return Failed::Final(ModelError::ContextOverflow { model }).into();
        }
        let learns = matches!(
            status,
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY
        );
        if let Some(part) = learns.then(|| self.wire.culprit(sent, &error)).flatten() {
            self.refused().insert(part);
            return Fault::Learned;
        }
        let reason = self.endpoint.reason(status, &error.message);
        let refused = |reason| Failed::Final(ModelError::Refused { model, reason });
        response.passing(reason).unwrap_or_else(refused).into()
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, again and again where that may help, until `deadline`.
    async fn ask(
        &self,
        request: &ModelRequest,
        deadline: Instant,
    ) -> Result<ModelReply, ModelError> {
        let mut tries = Tries::until(deadline, &self.endpoint);
        let mut learned = 0;
        loop {
            let answer = self.once(request, deadline).await;
            let requests = tries.requests() + learned;
            let (reason, after) = match answer {
                Ok(reply) => return Ok(ModelReply { requests, ..reply }),
                Err(Fault::Learned) => {
                    learned += 1;
                    continue;
                }
                Err(Fault::Other(Failed::Final(error))) => return Err(error),
                Err(Fault::Other(Failed::Retry { reason, after })) => (reason, after),
            };
            let waited = tries.wait(reason, after).await;
            waited.map_err(|reason| self.gave_up(requests, reason))?;
        }
    }

    fn gave_up(&self, requests: u32, reason: String) -> ModelError {
        ModelError::ProviderFailed {
            model: self.model(),
            requests,
            reason,
        }
    }
}

/// The calls that were said to their end: the last of an answer that was cut is not.
pub(super) fn whole(mut calls: Vec<ToolCall>, end: ReplyEnd) -> Vec<ToolCall> {
    if end == ReplyEnd::Cut {
        calls.pop();
    }
    calls
}

/// What a vendor says about a failed request.
#[derive(Debug, Default)]
pub(super) struct VendorError {
    message: String,
    code: String,
}

impl VendorError {
    /// Reads `{"error": {"message", "code"}}`, `{"error": "…"}` or `{"message": "…"}`.
    fn read(body: &[u8]) -> Self {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return Self::default();
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
        Self {
            message,
            code: text("code"),
        }
    }

    /// Whether the prompt is over the window.
    fn says_overflow(&self) -> bool {
        const WORDS: [&str; 5] = [
            "maximum context length",
            "context window",
            "context size",
            "context limit",
            "prompt is too long",
        ];
        self.code == "context_length_exceeded" || WORDS.iter().any(|words| self.names(words))
    }

    /// Whether the message has these words.
    pub(super) fn names(&self, words: &str) -> bool {
        self.message.contains(words)
    }
}

#[async_trait]
impl ModelClient for VendorClient {
    async fn complete(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let now = Instant::now();
        self.breaker()
            .admit(now)
            .map_err(|reason| self.gave_up(0, reason))?;
        let answer = self.ask(request, now + request.timeout).await;
        match &answer {
            Err(ModelError::ProviderFailed { reason, .. }) => {
                self.breaker().failed(Instant::now(), reason);
            }
            _ => self.breaker().answered(),
        }
        answer
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: self.wire.provider(),
            model: self.model(),
            vision: self.served.vision,
        }
    }
}
