//! Executors and model clients as `muster.toml` names them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_providers::model::{ModelClient, Served, VendorClient};
use muster_suite::config::node::NodePolicy;
use muster_suite::config::{Agent, ExecutorKind, Model, ModelApi};

use super::agent::AgentExecutor;
use super::decision::keyless::Keyless;
use super::decision::{DecisionExecutor, Gates, RandomChooser};
use super::{Abort, Executor};
use crate::attempt::Brains;

/// Makes brains from configuration and this node's environment.
pub struct ConfiguredBrains {
    keys: BTreeMap<String, Secret>,
    policy: NodePolicy,
    /// Clients made so far: each keeps its connections and what it learned about its vendor.
    clients: Mutex<Vec<(Model, Arc<dyn ModelClient>)>>,
}

impl ConfiguredBrains {
    /// With the node's environment, whose values are used as keys of models alone, and with whose
    /// word counts for models' addresses.
    pub fn new(environment: BTreeMap<String, String>, policy: NodePolicy) -> Self {
        let keys = environment
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        Self {
            keys,
            policy,
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
        let key_env = match &self.policy {
            NodePolicy::Project => &model.key_env,
            NodePolicy::Own(_) if !Guard::ModelAddress.holds() => &model.key_env,
            NodePolicy::Own(file) => {
                let pin = file
                    .models
                    .iter()
                    .find(|pin| pin.base_url == model.base_url);
                let unknown = || {
                    unavailable(format!(
                        "model {:?} is at an address that this machine does not ask; add [[models]] with base-url = {:?} to its node.toml",
                        model.name, model.base_url
                    ))
                };
                &pin.ok_or_else(unknown)?.key_env
            }
        };
        let key = match key_env {
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
        let served = Served {
            base_url: model.base_url.clone(),
            model: model.name.clone(),
            key,
            vision: model.vision,
        };
        let client = match model.api {
            ModelApi::Openai => VendorClient::openai(served),
            ModelApi::Anthropic => VendorClient::anthropic(served),
        };
        let client = client.map_err(|error| {
            unavailable(format!("model {:?} can't be used: {error}", model.name))
        })?;
        let client: Arc<dyn ModelClient> = Arc::new(client);
        clients.push((model.clone(), Arc::clone(&client)));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use muster_suite::config::node::{ModelPin, NodeFile};

    use super::*;

    fn model(key_env: Option<&str>) -> Model {
        Model {
            key_env: key_env.map(str::to_owned),
            ..Model::new("small", "https://models.example.com/v1")
        }
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        let brains = ConfiguredBrains::new(
            BTreeMap::from([("EMPTY".to_owned(), String::new())]),
            NodePolicy::Project,
        );
        for name in ["MODEL_KEY", "EMPTY"] {
            let problem = brains.model(&model(Some(name))).err().unwrap();
            assert_eq!(problem.code, ErrorCode::ModelUnavailable);
            assert!(problem.message.contains(name), "{problem}");
        }
        assert!(brains.model(&model(None)).is_ok());
    }

    #[test]
    fn a_lent_machine_asks_the_addresses_of_its_own_file_with_its_own_keys() {
        let environment = [("OWN", "k"), ("THEIRS", "t")];
        let environment = environment.map(|(name, key)| (name.to_owned(), key.to_owned()));
        let pin = |base_url: &str, key: &str| ModelPin {
            base_url: base_url.to_owned(),
            key_env: Some(key.to_owned()),
        };
        let file = NodeFile {
            models: vec![
                pin("https://models.example.com/v1", "OWN"),
                pin("https://unset.example.com/v1", "UNSET"),
            ],
            ..NodeFile::default()
        };
        let brains = ConfiguredBrains::new(environment.into(), NodePolicy::Own(file));
        assert!(brains.model(&model(Some("THEIRS"))).is_ok());
        let at = |address: &str| Model {
            key_env: Some("THEIRS".to_owned()),
            ..Model::new("small", address)
        };
        let problem = brains
            .model(&at("https://unset.example.com/v1"))
            .err()
            .unwrap();
        assert!(problem.message.contains("UNSET"), "{problem}");
        let problem = brains
            .model(&at("https://collector.example/v1"))
            .err()
            .unwrap();
        assert_eq!(problem.code, ErrorCode::ModelUnavailable);
        assert!(problem.message.contains("node.toml"), "{problem}");
    }

    #[test]
    fn each_kind_has_its_executor() {
        let brains = ConfiguredBrains::new(BTreeMap::new(), NodePolicy::Project);
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
