//! A chooser that asks a decision service.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::decision::{DecisionClient, DecisionError, DecisionRequest};

use super::questions::{Questions, state};
use super::request::{Choice, Request};
use super::{Chooser, Unanswered};
use crate::harness::{Harness, StepError};

/// Longest wait for the answers, the client's retries included.
const ANSWER: Duration = Duration::from_secs(30);

/// Asks a decision service, one call a request.
pub struct Service {
    client: Arc<dyn DecisionClient>,
}

impl Service {
    /// By this client.
    pub fn new(client: Arc<dyn DecisionClient>) -> Self {
        Self { client }
    }
}

#[async_trait]
impl Chooser for Service {
    fn name(&self) -> &'static str {
        "service"
    }

    fn judges(&self) -> bool {
        true
    }

    async fn choose(&self, request: &Request, door: &dyn Harness) -> Result<Choice, Unanswered> {
        door.decide()?;
        let questions = Questions::of(request);
        let asked = questions.asked();
        let request = DecisionRequest {
            state: state(request),
            questions: asked.to_vec(),
            timeout: ANSWER.min(door.budget().time),
        };
        let answers = self.client.decide(&request).await.map_err(failed)?;
        let told = questions.told(|name| {
            let at = asked.iter().position(|question| question.name == name)?;
            answers.get(at).copied()
        });
        let told = told.map_err(|reason| failed(DecisionError::Invalid { reason }))?;
        Ok(Choice {
            answer: told.answer,
            probability: told.probability,
            confidence: told.confidence,
            why: told.line,
            memory: None,
        })
    }
}

fn failed(error: DecisionError) -> Unanswered {
    let problem = |code| Problem::new(code, error.to_string());
    match error {
        DecisionError::Failed { .. } => Unanswered::Failed(problem(ErrorCode::ModelProviderFailed)),
        DecisionError::Refused { .. } => Unanswered::Failed(problem(ErrorCode::ModelUnavailable)),
        DecisionError::Invalid { .. } => {
            Unanswered::Ended(StepError::Stop(problem(ErrorCode::ModelOutputInvalid)))
        }
    }
}
