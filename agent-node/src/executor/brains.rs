//! Executors and model clients as `muster.toml` names them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_providers::decision::HttpDecisions;
use muster_providers::model::{ModelClient, Served, VendorClient};
use muster_suite::config::node::{NodeFile, NodePolicy};
use muster_suite::config::{Agent, Decision, ExecutorKind, Model, ModelApi};

use super::agent::AgentExecutor;
use super::decision::keyless::Keyless;
use super::decision::{Chat, DecisionExecutor, Gates, RandomChooser, Service};
use super::remote::RemoteExecutor;
use super::{Abort, Executor};
use crate::attempt::Brains;

/// Makes brains from configuration and this node's environment.
pub struct ConfiguredBrains {
    keys: BTreeMap<String, Secret>,
    policy: NodePolicy,
    /// Clients made so far: each keeps its connections and what it learned about its vendor.
    clients: Mutex<Vec<(Model, Arc<dyn ModelClient>)>>,
    /// The same of decision services.
    services: Mutex<Vec<(Decision, Arc<HttpDecisions>)>>,
}

impl ConfiguredBrains {
    /// With the node's environment, whose values are used as keys of models and tokens of remote
    /// executors alone, and with whose word counts for their addresses.
    pub fn new(environment: BTreeMap<String, String>, policy: NodePolicy) -> Self {
        let keys = environment
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        Self {
            keys,
            policy,
            clients: Mutex::default(),
            services: Mutex::default(),
        }
    }
}

/// Whom a run wants to reach.
struct Address<'a> {
    /// Who it is, in messages.
    what: &'a str,
    url: &'a str,
    /// The variable that the project names.
    key_env: Option<&'a String>,
    /// How `node.toml` pins such an address.
    pin: &'a str,
    /// What the machine's file says of this address; none = it is not pinned.
    pinned: &'a dyn Fn(&NodeFile) -> Option<Option<String>>,
}

fn unavailable(why: String) -> Problem {
    Problem::new(ErrorCode::ModelUnavailable, why)
}

impl ConfiguredBrains {
    /// The key that goes with an address, if it may be reached at all; none = it takes none.
    fn key(&self, address: &Address<'_>) -> Result<Option<Secret>, Problem> {
        let Address { what, url, pin, .. } = address;
        let key_env = match &self.policy {
            NodePolicy::Own(file) if Guard::ModelAddress.holds() => {
                let unknown = || {
                    unavailable(format!(
                        "{what} is at an address that this machine does not ask; add {pin} = {url:?} to its node.toml"
                    ))
                };
                (address.pinned)(file).ok_or_else(unknown)?
            }
            NodePolicy::Own(_) | NodePolicy::Project => address.key_env.cloned(),
        };
        let Some(name) = key_env else {
            return Ok(None);
        };
        let key = self.keys.get(&name);
        let key = key.filter(|key| !key.expose().is_empty()).cloned();
        let missing = || {
            unavailable(format!(
                "{what} needs the environment variable {name} on this node, which is not set"
            ))
        };
        Ok(Some(key.ok_or_else(missing)?))
    }

    /// [`ConfiguredBrains::key`] for what gets screens and goals.
    fn model_key(
        &self,
        what: &str,
        url: &str,
        key_env: Option<&String>,
    ) -> Result<Option<Secret>, Problem> {
        self.key(&Address {
            what,
            url,
            key_env,
            pin: "[[models]] with base-url",
            pinned: &|file| {
                let mut pins = file.models.iter();
                Some(pins.find(|pin| pin.base_url == url)?.key_env.clone())
            },
        })
    }

    fn decision(&self, name: &str, agent: &Agent) -> Result<DecisionExecutor, Problem> {
        let mut executor = DecisionExecutor::new(Arc::new(Keyless), Gates::default());
        if let Some(settings) = &agent.decision {
            let gates = Gates {
                min_probability: settings.min_probability,
                min_confidence: settings.min_confidence,
            };
            let service = Service::new(self.service(name, settings)?);
            executor = executor.then(Arc::new(service), gates);
        }
        if agent.model.is_some() {
            executor = executor.then(Arc::new(Chat), Gates::default());
        }
        Ok(executor.writing(agent.text.is_some()))
    }

    fn service(&self, name: &str, settings: &Decision) -> Result<Arc<HttpDecisions>, Problem> {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = services.iter().find(|(known, _)| known == settings) {
            return Ok(Arc::clone(client));
        }
        let what = format!("the decision service of agent {name:?}");
        let key = self.model_key(&what, &settings.url, settings.key_env.as_ref())?;
        let client = HttpDecisions::new(&settings.url, key)
            .map_err(|why| unavailable(format!("{what} can't be used: {why}")))?;
        let client = Arc::new(client);
        services.push((settings.clone(), Arc::clone(&client)));
        Ok(client)
    }

    fn remote(&self, name: &str, agent: &Agent) -> Result<RemoteExecutor, Problem> {
        let missing = || {
            unavailable(format!(
                "agent {name:?} says nowhere where its executor listens; add [agents.{name}.remote] with url"
            ))
        };
        let at = agent.remote.as_ref().ok_or_else(missing)?;
        let what = format!("the remote executor of agent {name:?}");
        let token = self.key(&Address {
            what: &what,
            url: &at.url,
            key_env: at.key_env.as_ref(),
            pin: "[[executors]] with url",
            pinned: &|file| {
                let mut pins = file.executors.iter();
                Some(pins.find(|pin| pin.url == at.url)?.key_env.clone())
            },
        })?;
        RemoteExecutor::new(at, token.as_ref())
            .map_err(|why| unavailable(format!("{what} can't be used: {why}")))
    }
}

impl Brains for ConfiguredBrains {
    fn executor(&self, name: &str, agent: &Agent) -> Result<Arc<dyn Executor>, Problem> {
        Ok(match agent.executor {
            ExecutorKind::Agent => Arc::new(AgentExecutor {
                idle_looks: agent.idle_looks,
            }),
            ExecutorKind::Decision => Arc::new(self.decision(name, agent)?),
            ExecutorKind::Abort => Arc::new(Abort),
            ExecutorKind::Random => {
                let chooser = RandomChooser::new(rand::random());
                Arc::new(DecisionExecutor::new(Arc::new(chooser), Gates::default()))
            }
            ExecutorKind::Remote => Arc::new(self.remote(name, agent)?),
        })
    }

    fn model(&self, model: &Model) -> Result<Arc<dyn ModelClient>, Problem> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(known, _)| known == model) {
            return Ok(Arc::clone(client));
        }
        let what = format!("model {:?}", model.name);
        let key = self.model_key(&what, &model.base_url, model.key_env.as_ref())?;
        let served = Served {
            base_url: model.base_url.clone(),
            model: model.name.clone(),
            key,
            vision: model.vision,
            thinking: model.thinking,
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
    use muster_suite::config::Remote;
    use muster_suite::config::node::ModelPin;

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
    fn a_lent_machine_asks_the_decision_services_of_its_own_file() {
        let agent = |url: &str| Agent {
            decision: Some(Decision {
                url: url.to_owned(),
                key_env: Some("THEIRS".to_owned()),
                min_probability: 0.0,
                min_confidence: 0.0,
            }),
            ..Agent::default()
        };
        let pinned = "https://decide.example.com/v1/decide";
        let file = NodeFile {
            models: vec![ModelPin {
                base_url: pinned.to_owned(),
                key_env: None,
            }],
            ..NodeFile::default()
        };
        let lent = ConfiguredBrains::new(BTreeMap::new(), NodePolicy::Own(file));
        assert!(lent.executor("shop", &agent(pinned)).is_ok());
        let own = ConfiguredBrains::new(BTreeMap::new(), NodePolicy::Project);
        for (brains, url, why) in [
            (&lent, "https://collector.example/decide", "node.toml"),
            (&own, pinned, "THEIRS"),
        ] {
            let problem = brains.executor("shop", &agent(url)).err().unwrap();
            assert_eq!(problem.code, ErrorCode::ModelUnavailable);
            assert!(problem.message.contains(why), "{problem}");
        }
    }

    #[test]
    fn a_lent_machine_dials_the_executors_of_its_own_file() {
        let environment = BTreeMap::from([("OWN".to_owned(), "t-123456".to_owned())]);
        let remote = |url: &str, key: &str| Remote {
            url: url.to_owned(),
            key_env: Some(key.to_owned()),
        };
        let agent = |url: &str| Agent {
            executor: ExecutorKind::Remote,
            remote: Some(remote(url, "THEIRS")),
            ..Agent::default()
        };
        let (pinned, other) = ("https://brain.example.com", "https://collector.example");
        let file = NodeFile {
            executors: vec![remote(pinned, "OWN")],
            ..NodeFile::default()
        };
        let lent = ConfiguredBrains::new(environment.clone(), NodePolicy::Own(file));
        assert!(lent.executor("shop", &agent(pinned)).is_ok());
        let refused = |brains: &ConfiguredBrains, url: &str| {
            let problem = brains.executor("shop", &agent(url)).err().unwrap();
            assert_eq!(problem.code, ErrorCode::ModelUnavailable);
            problem.message
        };
        let message = refused(&lent, other);
        assert!(message.contains("[[executors]]"), "{message}");
        let own = ConfiguredBrains::new(environment, NodePolicy::Project);
        let message = refused(&own, pinned);
        assert!(message.contains("THEIRS"), "{message}");
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
