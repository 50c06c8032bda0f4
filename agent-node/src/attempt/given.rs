//! What an attempt was given and never changes.

use std::sync::Arc;

use muster_cache_store::ReplayStore;
use muster_proto::code::ErrorCode;
use muster_proto::id::{NodeId, RunId};
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_providers::model::ModelClient;
use muster_suite::config::{Agent, Model, RunSpec, Timeouts};

use super::Brains;
use super::lookup::CacheUse;
use crate::harness::{StepModel, StepModels};

/// Everything but the page and the worker.
pub(super) struct Given {
    pub(super) run: RunId,
    pub(super) node: NodeId,
    pub(super) unit: v1::Unit,
    pub(super) try_: u32,
    pub(super) spec: Arc<RunSpec>,
    pub(super) app_identity: String,
    pub(super) brains: Arc<dyn Brains>,
    pub(super) recordings: Arc<dyn ReplayStore>,
    pub(super) cache: CacheUse,
    pub(super) namespace: String,
    pub(super) policy_digest: String,
}

impl Given {
    pub(super) fn timeouts(&self) -> &Timeouts {
        &self.spec.timeouts
    }

    /// The client of a model, or MODEL_UNAVAILABLE.
    pub(super) fn client(
        &self,
        name: &str,
        model: Option<&Model>,
    ) -> Result<Arc<dyn ModelClient>, Problem> {
        let model = model.ok_or_else(|| {
            Problem::new(
                ErrorCode::ModelUnavailable,
                format!("agent {name:?} has no model; add [agents.{name}.model] to muster.toml"),
            )
        })?;
        self.brains.model(model)
    }

    /// The models of a step, by tier.
    pub(super) fn models(&self, name: &str, agent: &Agent) -> StepModels {
        let of = |model: Option<&Model>| {
            let client = self.client(name, model)?;
            Ok(StepModel {
                client,
                price: model.and_then(|model| model.price),
            })
        };
        StepModels {
            act: of(agent.model.as_ref()),
            judge: of(agent.judging()),
            text: of(agent.text.as_ref()),
        }
    }

    /// The model of judgments.
    pub(super) fn judge_model(
        &self,
        name: &str,
        agent: &Agent,
    ) -> Result<Arc<dyn ModelClient>, Problem> {
        self.client(name, agent.judging())
    }
}
