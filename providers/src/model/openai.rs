//! The chat-completions wire that many vendors and local servers speak. No streaming.
//!
//! Source: the OpenAI API reference, "Create chat completion"; what compatible servers leave out or
//! refuse is learned per client: a forced tool choice, and the name of the output limit.

mod wire;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::secret::Secret;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::time::Instant;
use url::Url;

use self::wire::Dialect;
use super::{ModelClient, ModelError, ModelInfo, ModelReply, ModelRequest};
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

/// One model at an OpenAI-compatible address.
pub struct OpenAiCompatible {
    http: reqwest::Client,
    endpoint: Url,
    model: String,
    key: Option<Secret>,
    vision: bool,
    /// The vendor refused a forced tool choice before.
    unforced: AtomicBool,
    /// The vendor wants `max_completion_tokens`.
    renamed_limit: AtomicBool,
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
    /// The request is outside what this vendor speaks; it was changed accordingly.
    Dialect,
    /// None will.
    Final(ModelError),
}

impl OpenAiCompatible {
    /// A client for `base_url` (up to and including `/v1`, say), sending `key` as a bearer token.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn new(base_url: &str, model: &str, key: Option<Secret>) -> Result<Self, BadAddress> {
        let base = Url::parse(base_url).map_err(|_| BadAddress::NotHttp)?;
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
            .extend(["chat", "completions"]);
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| BadAddress::Key)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
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
            model: model.to_owned(),
            key,
            vision: false,
            unforced: AtomicBool::new(false),
            renamed_limit: AtomicBool::new(false),
            stall: STALL,
            backoff: BACKOFF,
        })
    }

    /// The same for a model that takes pictures, or doesn't.
    pub fn seeing(self, vision: bool) -> Self {
        Self { vision, ..self }
    }

    async fn once(&self, request: &ModelRequest, deadline: Instant) -> Result<ModelReply, Failed> {
        let dialect = Dialect {
            forced: request.force_tool && !self.unforced.load(Ordering::Relaxed),
            renamed_limit: self.renamed_limit.load(Ordering::Relaxed),
        };
        let body = wire::request(&self.model, request, dialect);
        let within = self
            .stall
            .min(deadline.saturating_duration_since(Instant::now()));
        let retry = |reason: String| Failed::Retry {
            reason,
            after: None,
        };
        let exchange = async {
            let response = self
                .http
                .post(self.endpoint.clone())
                .json(&body)
                .send()
                .await;
            let response =
                response.map_err(|error| retry(http::root_cause(&error.without_url())))?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok((status, headers, self.read(response).await?))
        };
        let (status, headers, text) = tokio::time::timeout(within, exchange)
            .await
            .map_err(|_| retry(format!("no answer within {} s", within.as_secs())))??;
        if status.is_success() {
            return wire::reply(&text).map_err(|reason| {
                Failed::Final(ModelError::Malformed {
                    model: self.model.clone(),
                    reason,
                })
            });
        }
        Err(self.failed(status, &headers, &text, dialect))
    }

    /// The body, within its bound.
    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| Failed::Retry {
                reason: http::root_cause(&error.without_url()),
                after: None,
            })?;
            let Some(chunk) = chunk else { return Ok(body) };
            if body.len() + chunk.len() > MAX_RESPONSE {
                let reason = format!("the answer is over {MAX_RESPONSE} bytes");
                return Err(Failed::Final(ModelError::Malformed {
                    model: self.model.clone(),
                    reason,
                }));
            }
            body.extend_from_slice(&chunk);
        }
    }

    fn failed(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        dialect: Dialect,
    ) -> Failed {
        let model = self.model.clone();
        let error = wire::error(body);
        if error.says_overflow() {
            return Failed::Final(ModelError::ContextOverflow { model });
        }
        let reason = self.reason(status, &error.message);
        match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY
                if !dialect.renamed_limit && error.names("max_completion_tokens") =>
            {
                self.renamed_limit.store(true, Ordering::Relaxed);
                Failed::Dialect
            }
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if dialect.forced => {
                self.unforced.store(true, Ordering::Relaxed);
                Failed::Dialect
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
        let message = match &self.key {
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
}

#[async_trait]
impl ModelClient for OpenAiCompatible {
    async fn complete(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let deadline = Instant::now() + request.timeout;
        let (mut requests, mut retries, mut backoff) = (0, 0, self.backoff);
        loop {
            requests += 1;
            let (reason, after) = match self.once(request, deadline).await {
                Ok(reply) => return Ok(ModelReply { requests, ..reply }),
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Dialect) => continue,
                Err(Failed::Retry { reason, after }) => (reason, after),
            };
            let failed = |reason: String| ModelError::ProviderFailed {
                model: self.model.clone(),
                requests,
                reason,
            };
            let wait = after.unwrap_or(backoff);
            if retries == RETRIES {
                return Err(failed(reason));
            }
            if Instant::now() + wait >= deadline {
                return Err(failed(format!("{reason}; no time is left to try again")));
            }
            tokio::time::sleep(wait).await;
            retries += 1;
            backoff *= 2;
        }
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: "openai-compatible",
            model: self.model.clone(),
            vision: self.vision,
        }
    }
}
