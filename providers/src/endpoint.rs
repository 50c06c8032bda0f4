//! Where JSON is posted: one bounded exchange, and how often it is tried again. Models and decision
//! services are asked through this.

use std::time::Duration;

use muster_proto::guard::Guard;
use muster_proto::secret::Secret;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::http;

/// Requests after the first that one call may send because the server failed.
const RETRIES: u32 = 5;
/// Longest wait for one response; then it is sent again.
const STALL: Duration = Duration::from_secs(120);
/// Wait before the first retry; doubled each time, unless the server names one.
const BACKOFF: Duration = Duration::from_millis(500);
/// Largest response, bytes.
pub(crate) const MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// Longest excerpt of a server's message, characters.
const MAX_REASON: usize = 300;

/// An address or key that can't be used. Holds neither.
#[derive(Debug, thiserror::Error)]
pub enum BadAddress {
    /// Not an address, or of another scheme.
    #[error("its address is not http or https")]
    NotHttp,
    /// A user name or password in it.
    #[error("its address holds credentials; name the key's variable in key-env instead")]
    Credentials,
    /// A key that no header can hold.
    #[error("the key holds characters that no header can hold; is there a line break in it?")]
    Key,
    /// The HTTP client could not be made.
    #[error("no HTTP client: {0}")]
    Client(String),
}

/// Why one request brought no reply.
pub(crate) enum Failed<E> {
    /// Another may; not before the server's own wait, if it names one.
    Retry {
        reason: String,
        after: Option<Duration>,
    },
    /// None will.
    Final(E),
}

/// An address, the headers of every request to it, and its limits.
pub(crate) struct Endpoint {
    http: reqwest::Client,
    pub(crate) url: Url,
    key: Option<Secret>,
    stall: Duration,
    backoff: Duration,
}

/// An answer of any status.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    /// None = it is over [`MAX_RESPONSE`].
    pub(crate) body: Option<Vec<u8>>,
}

/// An http or https address without credentials.
pub(crate) fn address(text: &str) -> Result<Url, BadAddress> {
    let url = Url::parse(text).map_err(|_| BadAddress::NotHttp)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(BadAddress::NotHttp);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadAddress::Credentials);
    }
    Ok(url)
}

impl Endpoint {
    /// `headers` carry `key`, if there is one.
    pub(crate) fn new(
        url: Url,
        key: Option<Secret>,
        headers: impl IntoIterator<Item = (HeaderName, String)>,
    ) -> Result<Self, BadAddress> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(&value).map_err(|_| BadAddress::Key)?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        // A redirect would carry prompts and screens to an address that nobody configured.
        let http = http::client()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .default_headers(map)
            .build()
            .map_err(|error| BadAddress::Client(http::root_cause(&error)))?;
        Ok(Self {
            http,
            url,
            key,
            stall: STALL,
            backoff: BACKOFF,
        })
    }

    /// The same, not waiting as long as users would.
    #[cfg(test)]
    pub(crate) fn in_a_hurry(self) -> Self {
        Self {
            stall: Duration::from_millis(300),
            backoff: Duration::from_millis(1),
            ..self
        }
    }

    /// Posts once.
    pub(crate) async fn post<E>(
        &self,
        body: &impl Serialize,
        deadline: Instant,
    ) -> Result<Response, Failed<E>> {
        let left = deadline.saturating_duration_since(Instant::now());
        let within = self.stall.min(left);
        let exchange = async {
            let request = self.http.post(self.url.clone()).json(body);
            let mut response = request.send().await.map_err(broken)?;
            Ok(Response {
                status: response.status(),
                headers: response.headers().clone(),
                body: read(&mut response).await.map_err(broken)?,
            })
        };
        timeout(within, exchange).await.map_err(|_| Failed::Retry {
            reason: format!("no answer within {} s", within.as_secs()),
            after: None,
        })?
    }

    /// The status and an excerpt of the server's message, without the key.
    pub(crate) fn reason(&self, status: StatusCode, message: &str) -> String {
        let message = match &self.key {
            Some(key) => message.replace(key.expose(), "<key>"),
            None => message.to_owned(),
        };
        let excerpt: String = message.trim().chars().take(MAX_REASON).collect();
        match excerpt.is_empty() {
            true => status.to_string(),
            false => format!("{status}: {excerpt}"),
        }
    }
}

impl Response {
    /// As a failure that may pass, if it is one of a kind that does.
    pub(crate) fn passing<E>(&self, reason: String) -> Result<Failed<E>, String> {
        let passes = matches!(
            self.status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        );
        match passes || self.status.is_server_error() {
            true => Ok(Failed::Retry {
                reason,
                after: http::retry_after(&self.headers),
            }),
            false => Err(reason),
        }
    }
}

/// The requests of one call.
pub(crate) struct Tries {
    deadline: Instant,
    backoff: Duration,
    retries: u32,
}

impl Tries {
    pub(crate) fn until(deadline: Instant, endpoint: &Endpoint) -> Self {
        Self {
            deadline,
            backoff: endpoint.backoff,
            retries: 0,
        }
    }

    /// How many were sent because the server failed, the first among them.
    pub(crate) fn requests(&self) -> u32 {
        self.retries + 1
    }

    /// Waits before the next request; the error says why there is none.
    pub(crate) async fn wait(
        &mut self,
        reason: String,
        after: Option<Duration>,
    ) -> Result<(), String> {
        let wait = after.unwrap_or(self.backoff);
        if self.retries == RETRIES {
            return Err(reason);
        }
        if Instant::now() + wait >= self.deadline {
            return Err(format!("{reason}; no time is left to try again"));
        }
        sleep(wait).await;
        self.retries += 1;
        self.backoff *= 2;
        Ok(())
    }
}

/// The body, within its bound.
async fn read(response: &mut reqwest::Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_RESPONSE && Guard::ModelBound.holds() {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// A connection that broke.
fn broken<E>(error: reqwest::Error) -> Failed<E> {
    Failed::Retry {
        reason: http::root_cause(&error.without_url()),
        after: None,
    }
}
