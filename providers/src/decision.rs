//! Decision services: a state and closed questions go in, one option of each comes out.
//!
//! The wire is described in `docs/decision-service.md`. History of [`VERSION`]: 1 = first.

mod http;

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

pub use self::http::HttpDecisions;

/// Version of the wire.
pub const VERSION: u32 = 1;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRequest {
    /// What the questions are about; plain data.
    pub state: Value,
    /// At least one.
    pub questions: Vec<Question>,
    /// From now; the client's own retries are inside it.
    pub timeout: Duration,
}

/// One question, answered by one of its options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Unique in its request.
    pub name: String,
    /// The question in words.
    pub text: String,
    /// 2 to 255.
    pub options: Vec<Offer>,
    /// Options that were left out since there are too many.
    pub omitted: usize,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// Unique in its question.
    pub id: String,
    /// For whoever chooses.
    pub label: String,
}

/// The answer to one question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided {
    /// Index of the option.
    pub chosen: usize,
    /// 0 to 1: how much of the belief lies on it.
    pub probability: f64,
    /// 0 to 1: how far the service trusts itself here.
    pub confidence: f64,
}

/// Why there is no answer. Messages hold no key and no address.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// It could not be reached or failed, after the client's own retries.
    #[error("the decision service did not answer after {requests} requests: {reason}")]
    Failed {
        /// HTTP requests sent.
        requests: u32,
        /// Status or socket error.
        reason: String,
    },
    /// It refused the key or the request.
    #[error(
        "the decision service refuses the request ({reason}); check decision.url and the variable of decision.key-env"
    )]
    Refused {
        /// Status line.
        reason: String,
    },
    /// What it answered breaks the wire.
    #[error("the decision service broke its protocol: {reason}")]
    Invalid {
        /// What is wrong.
        reason: String,
    },
}

/// One decision service.
#[async_trait]
pub trait DecisionClient: Send + Sync {
    /// An answer to each question, in their order. Bounded transport retries stay inside.
    async fn decide(&self, request: &DecisionRequest) -> Result<Vec<Decided>, DecisionError>;
}
