//! Executors and model clients as `muster.toml` names them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_providers::model::{ModelClient, OpenAiCompatible};
use muster_suite::config::{Agent, ExecutorKind, Model};

use super::agent::AgentExecutor;
use super::decision::keyless::Keyless;
use super::decision::{DecisionExecutor, Gates, RandomChooser};
use super::{Abort, Executor};
use crate::attempt::Brains;

/// Makes brains from configuration and this node's environment.
pub struct ConfiguredBrains {
    keys: BTreeMap<String, Secret>,
    /// Clients made so far: each keeps its connections and what it learned about its vendor.
    clients: Mutex<Vec<(Model, Arc<dyn ModelClient>)>>,
}

impl ConfiguredBrains {
    /// With the node's environment; values are used as keys of models alone.
    pub fn new(environment: BTreeMap<String, String>) -> Self {
        let keys = environment
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        Self {
            keys,
            clients: Mutex::default(),
        }
    }
}

impl Brains for ConfiguredBrains {
    fn executor(&self, _: &str, agent: &Agent) -> Result<Arc<dyn Executor>, Problem> {
        Ok(match agent.executor {
            ExecutorKind::Agent => Arc::new(AgentExecutor {
                idle_looks: agent.idle_looks,
            }),
            ExecutorKind::Decision => {
                Arc::new(DecisionExecutor::new(Arc::new(Keyless), Gates::default()))
            }
            ExecutorKind::Abort => Arc::new(Abort),
            ExecutorKind::Random => {
                let chooser = RandomChooser::new(rand::random());
                Arc::new(DecisionExecutor::new(Arc::new(chooser), Gates::default()))
            }
        })
    }

    fn model(&self, model: &Model) -> Result<Arc<dyn ModelClient>, Problem> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(known, _)| known == model) {
            return Ok(Arc::clone(client));
        }
        let unavailable = |why: String| Problem::new(ErrorCode::ModelUnavailable, why);
        let key = match &model.key_env {
            None => None,
            Some(name) => {
                let key = self
                    .keys
                    .get(name)
                    .filter(|key| !key.expose().is_empty())
                    .cloned();
                let missing = || {
                    unavailable(format!(
                        "model {:?} needs the environment variable {name} on this node, which is not set",
                        model.name
                    ))
                };
                Some(key.ok_or_else(missing)?)
            }
        };
        let client = OpenAiCompatible::new(&model.base_url, &model.name, key).map_err(|error| {
            unavailable(format!("model {:?} can't be used: {error}", model.name))
        })?;
        let client: Arc<dyn ModelClient> = Arc::new(client);
        clients.push((model.clone(), Arc::clone(&client)));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(key_env: Option<&str>) -> Model {
        Model {
            key_env: key_env.map(str::to_owned),
            ..Model::new("small", "https://models.example.com/v1")
        }
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        let brains = ConfiguredBrains::new(BTreeMap::from([("EMPTY".to_owned(), String::new())]));
        for name in ["MODEL_KEY", "EMPTY"] {
            let problem = brains.model(&model(Some(name))).err().unwrap();
            assert_eq!(problem.code, ErrorCode::ModelUnavailable);
            assert!(problem.message.contains(name), "{problem}");
        }
        assert!(brains.model(&model(None)).is_ok());
    }

    #[test]
    fn each_kind_has_its_executor() {
        let brains = ConfiguredBrains::new(BTreeMap::new());
        for executor in [
            ExecutorKind::Agent,
            ExecutorKind::Decision,
            ExecutorKind::Abort,
        ] {
            let agent = Agent {
                executor,
                ..Agent::default()
            };
            assert_eq!(
                brains.executor("default", &agent).unwrap().name(),
                executor.as_str()
            );
        }
    }
}
