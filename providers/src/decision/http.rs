//! The client of a decision service over HTTP.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use muster_proto::secret::Secret;
use reqwest::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::{Decided, DecisionClient, DecisionError, DecisionRequest, Question, VERSION};
use crate::endpoint::{self, BadAddress, Endpoint, Failed, MAX_RESPONSE, Tries};

/// Longest excerpt of why it refuses, characters.
const MAX_REASON: usize = 300;
/// How far the probabilities of one answer may be from adding up to 1.
const ROUNDING: f64 = 0.01;

/// A decision service at an address.
pub struct HttpDecisions {
    endpoint: Endpoint,
}

impl HttpDecisions {
    /// A client that posts to `url` as it is, sending `key` as a bearer token.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn new(url: &str, key: Option<Secret>) -> Result<Self, BadAddress> {
        let bearer = |key: &Secret| (AUTHORIZATION, format!("Bearer {}", key.expose()));
        let headers = key.as_ref().map(bearer);
        let endpoint = Endpoint::new(endpoint::address(url)?, key, headers)?;
        Ok(Self { endpoint })
    }

    async fn once(
        &self,
        request: &DecisionRequest,
        deadline: Instant,
    ) -> Result<Vec<Decided>, Failed<DecisionError>> {
        let body = Body {
            version: VERSION,
            state: &request.state,
            questions: request.questions.iter().map(Asked::of).collect(),
        };
        let response = self.endpoint.post(&body, deadline).await?;
        if !response.status.is_success() {
            let said = String::from_utf8_lossy(response.body.as_deref().unwrap_or_default());
            let reason = self.endpoint.reason(response.status, &said);
            return Err(response
                .passing(reason)
                .unwrap_or_else(|reason| Failed::Final(DecisionError::Refused { reason })));
        }
        let text = response
            .body
            .ok_or_else(|| invalid(format!("the answer is over {MAX_RESPONSE} bytes")))?;
        answers(&text, &request.questions).map_err(invalid)
    }
}

#[async_trait]
impl DecisionClient for HttpDecisions {
    async fn decide(&self, request: &DecisionRequest) -> Result<Vec<Decided>, DecisionError> {
        let deadline = Instant::now() + request.timeout;
        let mut tries = Tries::until(deadline, &self.endpoint);
        loop {
            let (reason, after) = match self.once(request, deadline).await {
                Ok(answers) => return Ok(answers),
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Retry { reason, after }) => (reason, after),
            };
            let requests = tries.requests();
            let waited = tries.wait(reason, after).await;
            waited.map_err(|reason| DecisionError::Failed { requests, reason })?;
        }
    }
}

fn invalid(reason: String) -> Failed<DecisionError> {
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
