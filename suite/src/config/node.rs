//! `node.toml`: what a machine lends to runs that others start. Secrets' sources and addresses of
//! models and remote executors that a run names count only if this file names them too, so that a
//! run can't read a variable or call an address of its own choosing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EgressPolicy, Remote, SecretSource};

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NodeFile {
    /// Where this machine finds each secret; takes the place of the project's own sources.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Addresses of models and decision services that runs may send screens to.
    pub models: Vec<ModelPin>,
    /// Remote executors that runs may use, each with the variable that holds its token, whatever the
    /// project says.
    pub executors: Vec<Remote>,
    /// What this machine demands of every run's pages.
    pub egress: NodeEgress,
}

/// `[[models]]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelPin {
    /// The address, as projects write it.
    pub base_url: String,
    /// The variable that holds the key, whatever the project says; none = no key.
    #[serde(default)]
    pub key_env: Option<String>,
}

/// `[egress]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NodeEgress {
    /// The widest policy that this machine serves.
    pub at_most: EgressPolicy,
}

/// Whose word counts for secrets' sources and the addresses of models and remote executors.
#[derive(Clone, Debug, PartialEq)]
pub enum NodePolicy {
    /// The project's: its runs are started on this machine by whoever owns it (`muster run`).
    Project,
    /// This machine's file's.
    Own(NodeFile),
}

impl NodePolicy {
    /// The widest egress policy that this machine serves.
    pub fn at_most(&self) -> EgressPolicy {
        match self {
            NodePolicy::Project => EgressPolicy::Open,
            NodePolicy::Own(file) => file.egress.at_most,
        }
    }
}
