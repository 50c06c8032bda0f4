//! The client of a decision service over HTTP.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::secret::Secret;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::{Decided, DecisionClient, DecisionError, DecisionRequest, Question, VERSION};
use crate::http;
use crate::model::BadAddress;

/// Requests after the first that one call may send because the service failed.
const RETRIES: u32 = 5;
/// Longest wait for one response; then it is sent again.
const STALL: Duration = Duration::from_secs(120);
/// Wait before the first retry; doubled each time, unless the service names one.
const BACKOFF: Duration = Duration::from_millis(500);
/// Largest response, bytes.
const MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// Longest excerpt of what the service says, characters.
const MAX_REASON: usize = 300;
/// How far the probabilities of one answer may be from adding up to 1.
const ROUNDING: f64 = 0.01;

/// A decision service at an address.
pub struct HttpDecisions {
    http: reqwest::Client,
    url: Url,
    key: Option<Secret>,
    stall: Duration,
    backoff: Duration,
}

/// Why one request brought no answer.
enum Failed {
    /// Another may; not before the service's own wait, if it names one.
    Retry {
        reason: String,
        after: Option<Duration>,
    },
    /// None will.
    Final(DecisionError),
}

impl HttpDecisions {
    /// A client that posts to `url` as it is, sending `key` as a bearer token.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn new(url: &str, key: Option<Secret>) -> Result<Self, BadAddress> {
        let url = Url::parse(url).map_err(|_| BadAddress::NotHttp)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadAddress::NotHttp);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadAddress::Credentials);
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| BadAddress::Key)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // A redirect would carry screens to an address that nobody configured.
        let http = http::client()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
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

    async fn once(
        &self,
        request: &DecisionRequest,
        deadline: Instant,
    ) -> Result<Vec<Decided>, Failed> {
        let body = Body {
            version: VERSION,
            state: &request.state,
            questions: request.questions.iter().map(Asked::of).collect(),
        };
        let within = self
            .stall
            .min(deadline.saturating_duration_since(Instant::now()));
        let exchange = async {
            let request = self.http.post(self.url.clone()).json(&body);
            let response = request.send().await.map_err(broken)?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok((status, headers, read(response).await?))
        };
        let (status, headers, text) =
            tokio::time::timeout(within, exchange)
                .await
                .map_err(|_| Failed::Retry {
                    reason: format!("no answer within {} s", within.as_secs()),
                    after: None,
                })??;
        if !status.is_success() {
            return Err(self.failed(status, &headers, &text));
        }
        answers(&text, &request.questions).map_err(invalid)
    }

    fn failed(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failed {
        let said = String::from_utf8_lossy(body);
        let said = match &self.key {
            Some(key) => said.replace(key.expose(), "<key>"),
            None => said.into_owned(),
        };
        let excerpt: String = said.trim().chars().take(MAX_REASON).collect();
        let reason = match excerpt.is_empty() {
            true => status.to_string(),
            false => format!("{status}: {excerpt}"),
        };
        let again = matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        );
        match again || status.is_server_error() {
            true => Failed::Retry {
                reason,
                after: http::retry_after(headers),
            },
            false => Failed::Final(DecisionError::Refused { reason }),
        }
    }
}

#[async_trait]
impl DecisionClient for HttpDecisions {
    async fn decide(&self, request: &DecisionRequest) -> Result<Vec<Decided>, DecisionError> {
        let deadline = Instant::now() + request.timeout;
        let mut backoff = self.backoff;
        for requests in 1.. {
            let (reason, after) = match self.once(request, deadline).await {
                Ok(answers) => return Ok(answers),
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Retry { reason, after }) => (reason, after),
            };
            let wait = after.unwrap_or(backoff);
            let reason = match Instant::now() + wait >= deadline {
                true => format!("{reason}; no time is left to try again"),
                false if requests <= RETRIES => {
                    tokio::time::sleep(wait).await;
                    backoff *= 2;
                    continue;
                }
                false => reason,
            };
            return Err(DecisionError::Failed { requests, reason });
        }
        unreachable!("the loop ends by returning")
    }
}

/// The body, within its bound.
async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_RESPONSE {
            return Err(invalid(format!("the answer is over {MAX_RESPONSE} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A connection that broke.
fn broken(error: reqwest::Error) -> Failed {
    Failed::Retry {
        reason: http::root_cause(&error.without_url()),
        after: None,
    }
}

fn invalid(reason: String) -> Failed {
    Failed::Final(DecisionError::Invalid { reason })
}

#[derive(Serialize)]
struct Body<'a> {
    version: u32,
    state: &'a Value,
    questions: Vec<Asked<'a>>,
}

/// A question and what kind it is; others may come.
#[derive(Serialize)]
struct Asked<'a> {
    kind: &'static str,
    #[serde(flatten)]
    question: &'a Question,
}

impl<'a> Asked<'a> {
    fn of(question: &'a Question) -> Self {
        Self {
            kind: "choice",
            question,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    version: u32,
    answers: Vec<Answer>,
}

/// Either `refused`, or the other three.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    question: String,
    #[serde(default)]
    refused: Option<String>,
    #[serde(default)]
    chosen: Option<String>,
    #[serde(default)]
    probabilities: BTreeMap<String, f64>,
    #[serde(default)]
    confidence: Option<f64>,
}

/// Reads the answers, in the order of the questions. The error says what is wrong.
fn answers(body: &[u8], questions: &[Question]) -> Result<Vec<Decided>, String> {
    let said: Answers = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if said.version != VERSION {
        return Err(format!(
            "it answers in version {} instead of {VERSION}",
            said.version
        ));
    }
    if let Some(extra) = said.answers.iter().find(|answer| {
        let asked = |question: &Question| question.name == answer.question;
        !questions.iter().any(asked)
    }) {
        return Err(format!("{:?} was not asked", extra.question));
    }
    let answer = |question: &Question| {
        let mut own = said
            .answers
            .iter()
            .filter(|answer| answer.question == question.name);
        match (own.next(), own.next()) {
            (Some(answer), None) => decided(answer, question),
            (None, _) => Err("there is no answer".to_owned()),
            (Some(_), Some(_)) => Err("it is answered twice".to_owned()),
        }
        .map_err(|why| format!("{}: {why}", question.name))
    };
    questions.iter().map(answer).collect()
}

fn decided(answer: &Answer, question: &Question) -> Result<Decided, String> {
    if let Some(why) = &answer.refused {
        let why: String = why.chars().take(MAX_REASON).collect();
        return Err(format!("it refuses to answer: {why}"));
    }
    let place = |id: &str| {
        let place = question.options.iter().position(|option| option.id == id);
        place.ok_or_else(|| format!("{id:?} is not offered"))
    };
    let chosen = answer.chosen.as_ref().ok_or("nothing is chosen")?;
    let index = place(chosen)?;
    let within = |what: &str, figure: f64| match (0.0..=1.0).contains(&figure) {
        true => Ok(figure),
        false => Err(format!("{what} is {figure}; it takes 0 to 1")),
    };
    for (id, probability) in &answer.probabilities {
        place(id)?;
        within("a probability", *probability)?;
    }
    let sum: f64 = answer.probabilities.values().sum();
    if (sum - 1.0).abs() > ROUNDING {
        return Err(format!("the probabilities add up to {sum}, not to 1"));
    }
    let probability = answer.probabilities.get(chosen);
    Ok(Decided {
        chosen: index,
        probability: *probability.ok_or("what is chosen has no probability")?,
        confidence: within(
            "confidence",
            answer.confidence.ok_or("confidence is missing")?,
        )?,
    })
}
