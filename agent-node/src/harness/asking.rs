//! The models of a step: asked through it, counted by it.

use std::sync::Arc;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::step::Tier;
use muster_providers::model::{ModelClient, ModelError, ModelReply, ModelRequest, ReplyEnd};
use muster_suite::config::Price;
use tokio::time::Instant;
use tracing::{Instrument, Span, info_span};

use super::budget::Meter;
use super::purse::Amounts;
use super::{StepError, StepHarness, ToldCall};

/// A model and what its tokens cost.
#[derive(Clone)]
pub struct StepModel {
    /// Asks it.
    pub client: Arc<dyn ModelClient>,
    /// None = only what its vendor tells is known.
    pub price: Option<Price>,
}

impl StepModel {
    /// A model without a price.
    pub fn unpriced(client: Arc<dyn ModelClient>) -> Self {
        Self {
            client,
            price: None,
        }
    }
}

/// The models of a step, each or why there is none.
pub struct StepModels {
    /// Drives the app.
    pub act: Result<StepModel, Problem>,
    /// Judges the screen.
    pub judge: Result<StepModel, Problem>,
    /// Writes what a decision executor types.
    pub text: Result<StepModel, Problem>,
}

impl StepModels {
    /// None at all, for one reason.
    pub fn none(why: &Problem) -> Self {
        let none = || Err(why.clone());
        Self {
            act: none(),
            judge: none(),
            text: none(),
        }
    }

    pub(super) fn of(&self, tier: Tier) -> Result<&StepModel, Problem> {
        let model = match tier {
            Tier::Act | Tier::Heal | Tier::Decide => &self.act,
            Tier::Judge => &self.judge,
            Tier::Text => &self.text,
        };
        model.as_ref().map_err(Clone::clone)
    }
}

impl StepHarness<'_> {
    /// Asks a model, within the step's budgets.
    pub(super) async fn ask(
        &self,
        tier: Tier,
        request: &ModelRequest,
    ) -> Result<ModelReply, StepError> {
        if let Some(problem) = self.scope.ended() {
            return Err(self.stop(problem));
        }
        let StepModel { client, price } = match self.grant.models.of(tier) {
            Ok(model) => model,
            Err(problem) => return Err(self.stop(problem)),
        };
        let held = Amounts::call(request, price.as_ref());
        self.reserve(held, Meter::reserve_model_call)?;
        let info = client.info();
        let span = info_span!(
            "chat",
            otel.name = %format_args!("chat {}", info.model),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = info.provider,
            gen_ai.request.model = info.model,
            gen_ai.usage.input_tokens = tracing::field::Empty,
            gen_ai.usage.output_tokens = tracing::field::Empty,
            gen_ai.usage.cache_read.input_tokens = tracing::field::Empty,
            gen_ai.usage.cache_creation.input_tokens = tracing::field::Empty,
            gen_ai.usage.reasoning.output_tokens = tracing::field::Empty,
            muster.agent.tier = tier.as_str(),
            error.r#type = tracing::field::Empty,
        );
        let request = ModelRequest {
            timeout: request.timeout.min(self.scope.remaining()),
            ..request.clone()
        };
        let asked = Instant::now();
        let answer = self
            .scope
            .run(client.complete(&request))
            .instrument(span.clone())
            .await;
        match answer {
            Ok(Ok(reply)) => {
                let used = reply.usage.unwrap_or_default();
                span.record("gen_ai.usage.input_tokens", used.input);
                span.record("gen_ai.usage.output_tokens", used.output);
                span.record("gen_ai.usage.cache_read.input_tokens", used.cached);
                span.record("gen_ai.usage.cache_creation.input_tokens", used.cache_write);
                span.record("gen_ai.usage.reasoning.output_tokens", used.reasoning);
                let used =
                    self.meter()
                        .told(tier, &info.model, price.as_ref(), &reply, asked.elapsed());
                // Who tells no usage is taken to have used what was held.
                let used = match reply.usage {
                    Some(_) => Amounts::used(&used),
                    None => held,
                };
                self.settle(held, used);
                if reply.end == ReplyEnd::Declined {
                    return Err(self.declined(&info.model, &span));
                }
                Ok(reply)
            }
            // Nobody knows what the vendor will charge for: the most that it can be, if it was asked.
            Ok(Err(error)) => {
                let unsent = matches!(error, ModelError::ProviderFailed { requests: 0, .. });
                self.settle(held, if unsent { Amounts::default() } else { held });
                Err(self.model_failed(&error, &span))
            }
            Err(problem) => {
                self.settle(held, held);
                span.record("error.type", problem.code.as_str());
                Err(self.stop(problem))
            }
        }
    }

    /// Counts a call that the executor made itself.
    pub(super) fn count_told(&self, tier: Tier, call: &ToldCall) -> Result<(), StepError> {
        if let Some(problem) = self.scope.ended() {
            return Err(self.stop(problem));
        }
        let call = ToldCall {
            model: self.attempt.redactor().text(&call.model),
            ..call.clone()
        };
        let used = Amounts::used(&self.meter().told_by_executor(tier, &call));
        // It was made already: what no budget allows is counted all the same, and ends the step.
        let reserved = self.reserve(used, |meter| meter.reserve_thought("model calls"));
        let held = match &reserved {
            Ok(()) => used,
            Err(_) => Amounts::default(),
        };
        self.settle(held, used);
        reserved
    }

    /// Asking again would be declined again.
    fn declined(&self, model: &str, span: &Span) -> StepError {
        let code = ErrorCode::ModelOutputInvalid;
        span.record("error.type", code.as_str());
        let why = format!(
            "model {model} declined to answer; reword the step, or use another model for it"
        );
        self.stop(Problem::new(code, why))
    }

    fn model_failed(&self, error: &ModelError, span: &Span) -> StepError {
        let code = match error {
            ModelError::ProviderFailed { .. } | ModelError::Malformed { .. } => {
                ErrorCode::ModelProviderFailed
            }
            ModelError::ContextOverflow { .. } => ErrorCode::ContextOverflow,
            ModelError::Refused { .. } => ErrorCode::ModelUnavailable,
        };
        span.record("error.type", code.as_str());
        match code {
            // The executor may shrink its history and ask again.
            ErrorCode::ContextOverflow => self.refused(code, &error.to_string()),
            _ => self.stop(Problem::new(code, error.to_string())),
        }
    }
}
