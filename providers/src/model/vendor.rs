//! Asking a vendor over HTTP: one request and its bounded answer, sent again where that may help.
//!
//! The crates that speak a vendor's wire bring a transport of their own, without these bounds: no
//! limit of an answer's size, no way past the environment's proxies, none to keep a redirect from
//! carrying prompts elsewhere. So [`Wire`]s only write and read JSON.

#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::guard::Guard;
use muster_proto::secret::Secret;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::anthropic::Anthropic;
use super::breaker::Breaker;
use super::openai::OpenAi;
use super::{ModelClient, ModelError, ModelInfo, ModelReply, ModelRequest, ReplyEnd, ToolCall};
use crate::http;

/// Requests after the first that one call may send because the vendor failed.
const RETRIES: u32 = 5;
/// Longest wait for one response; then it is sent again.
const STALL: Duration = Duration::from_secs(120);
/// Wait before the first retry; doubled each time, unless the vendor names one.
const BACKOFF: Duration = Duration::from_millis(500);
/// Largest response, bytes.
const MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// Longest excerpt of a vendor's message, characters.
const MAX_REASON: usize = 300;

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
    http: reqwest::Client,
    endpoint: Url,
    served: Served,
    wire: Box<dyn Wire>,
    /// What was learned about the vendor so far.
    refused: Mutex<Refused>,
    breaker: Mutex<Breaker>,
    stall: Duration,
    backoff: Duration,
}

/// An address or key that can't be used. Holds neither.
#[derive(Debug, thiserror::Error)]
pub enum BadAddress {
    /// Not an address, or of another scheme.
    #[error("base-url is not an http or https address")]
    NotHttp,
    /// A user name or password in it.
    #[error("base-url holds credentials; name the key's variable in key-env instead")]
    Credentials,
    /// A key that no header can hold.
    #[error("the key holds characters that no header can hold; is there a line break in it?")]
    Key,
    /// The HTTP client could not be made.
    #[error("no HTTP client: {0}")]
    Client(String),
}

/// Why one request brought no reply.
enum Failed {
    /// Another may; not before the vendor's own wait, if it names one.
    Retry {
        reason: String,
        after: Option<Duration>,
    },
    /// The request has a part that this vendor doesn't take; the next goes without.
    Learned,
    /// None will.
    Final(ModelError),
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
        let base = Url::parse(&served.base_url).map_err(|_| BadAddress::NotHttp)?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(BadAddress::NotHttp);
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(BadAddress::Credentials);
        }
        let mut endpoint = base;
        endpoint
            .path_segments_mut()
            .map_err(|()| BadAddress::NotHttp)?
            .pop_if_empty()
            .extend(wire.path());
        let mut headers = HeaderMap::new();
        for (name, value) in wire.headers(served.key.as_ref()) {
            let mut value = HeaderValue::from_str(&value).map_err(|_| BadAddress::Key)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        // A redirect would carry prompts to an address that nobody configured.
        let http = http::client()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .build()
            .map_err(|error| BadAddress::Client(http::root_cause(&error)))?;
        Ok(Self {
            http,
            endpoint,
            served,
            wire,
            refused: Mutex::default(),
            breaker: Mutex::default(),
            stall: STALL,
            backoff: BACKOFF,
        })
    }

    fn model(&self) -> String {
        self.served.model.clone()
    }

    async fn once(&self, request: &ModelRequest, deadline: Instant) -> Result<ModelReply, Failed> {
        let refused = self.refused().clone();
        let body = self.wire.body(&self.served, request, &refused);
        let within = self
            .stall
            .min(deadline.saturating_duration_since(Instant::now()));
        let exchange = async {
            let request = self.http.post(self.endpoint.clone()).json(&body);
            let response = request.send().await.map_err(broken)?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok((status, headers, self.read(response).await?))
        };
        let (status, headers, text) =
            tokio::time::timeout(within, exchange)
                .await
                .map_err(|_| Failed::Retry {
                    reason: format!("no answer within {} s", within.as_secs()),
                    after: None,
                })??;
        if !status.is_success() {
            return Err(self.failed(status, &headers, &text, &body));
        }
        let model = self.model();
        self.wire.reply(&text).map_err(|none| {
            Failed::Final(match none {
                NoReply::Malformed(reason) => ModelError::Malformed { model, reason },
                NoReply::Overflow => ModelError::ContextOverflow { model },
            })
        })
    }

    /// The body, within its bound.
    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > MAX_RESPONSE && Guard::ModelBound.holds() {
                let reason = format!("the answer is over {MAX_RESPONSE} bytes");
                let model = self.model();
                return Err(Failed::Final(ModelError::Malformed { model, reason }));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn failed(&self, status: StatusCode, headers: &HeaderMap, body: &[u8], sent: &Value) -> Failed {
        let model = self.model();
        let error = VendorError::read(body);
        if status == StatusCode::PAYLOAD_TOO_LARGE || error.says_overflow() {
            return Failed::Final(ModelError::ContextOverflow { model });
        }
        let reason = self.reason(status, &error.message);
        match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                match self.wire.culprit(sent, &error) {
                    Some(part) => {
                        self.refused().insert(part);
                        Failed::Learned
                    }
                    None => Failed::Final(ModelError::Refused { model, reason }),
                }
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Failed::Retry {
                reason,
                after: http::retry_after(headers),
            },
            status if status.is_server_error() => Failed::Retry {
                reason,
                after: http::retry_after(headers),
            },
            _ => Failed::Final(ModelError::Refused { model, reason }),
        }
    }

    /// The status and an excerpt of the vendor's message, without the key.
    fn reason(&self, status: StatusCode, message: &str) -> String {
        let message = match &self.served.key {
            Some(key) => message.replace(key.expose(), "<key>"),
            None => message.to_owned(),
        };
        let excerpt: String = message.chars().take(MAX_REASON).collect();
        if excerpt.is_empty() {
            status.to_string()
        } else {
            format!("{status}: {excerpt}")
        }
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
        let (mut requests, mut retries, mut backoff) = (0, 0, self.backoff);
        loop {
            requests += 1;
            let (reason, after) = match self.once(request, deadline).await {
                Ok(reply) => return Ok(ModelReply { requests, ..reply }),
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Learned) => continue,
                Err(Failed::Retry { reason, after }) => (reason, after),
            };
            let wait = after.unwrap_or(backoff);
            if retries == RETRIES {
                return Err(self.gave_up(requests, reason));
            }
            if Instant::now() + wait >= deadline {
                let reason = format!("{reason}; no time is left to try again");
                return Err(self.gave_up(requests, reason));
            }
            tokio::time::sleep(wait).await;
            retries += 1;
            backoff *= 2;
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

/// A connection that broke.
fn broken(error: reqwest::Error) -> Failed {
    Failed::Retry {
        reason: http::root_cause(&error.without_url()),
        after: None,
    }
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
