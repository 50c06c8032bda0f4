//! What a goal or judgment is called with: checked, redacted, and with its agent.

use std::collections::BTreeMap;

use muster_proto::canonical;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::config::{Agent, RunSpec};
use muster_suite::op::{AgentCall, SecretHandle, Vision};
use serde_json::Value;

use crate::harness::AttemptHarness;

/// Longest instruction, bytes.
const MAX_INSTRUCTION: usize = 8192;

/// Largest parameters, bytes of canonical JSON.
const MAX_PARAMS: usize = 64 * 1024;

/// Deepest parameters.
const MAX_DEPTH: u32 = 32;

/// A call that is fit to be made.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    /// The goal or statement, redacted.
    pub(super) instruction: String,
    /// Parameters, redacted; secrets stand as handles.
    pub(super) params: Value,
    /// Pointers to `unique()` values.
    pub(super) unique: &'a [String],
    /// The agent's name.
    pub(super) name: &'a str,
    /// The agent.
    pub(super) agent: &'a Agent,
    /// The agent's context, redacted.
    pub(super) context: String,
    /// Secrets that the parameters declare, and whether each is a password.
    pub(super) secrets: BTreeMap<String, bool>,
    /// What a judgment goes by.
    pub(super) vision: Vision,
}

/// Checks a call. `default_agent` is the unit's.
pub(super) fn prepare<'a>(
    call: &'a AgentCall,
    default_agent: &'a str,
    spec: &'a RunSpec,
    harness: &AttemptHarness,
) -> Result<Prepared<'a>, Problem> {
    let size = call.instruction.len();
    if call.instruction.trim().is_empty() || size > MAX_INSTRUCTION {
        return Err(invalid(format!(
            "an instruction has 1 to {MAX_INSTRUCTION} bytes; this one has {size}"
        )));
    }
    let depth = depth(&call.params);
    if depth > MAX_DEPTH {
        return Err(invalid(format!(
            "params are nested {depth} deep; the limit is {MAX_DEPTH}"
        )));
    }
    let size = canonical::json(&call.params).len();
    if size > MAX_PARAMS {
        return Err(invalid(format!(
            "params have {size} bytes; the limit is {MAX_PARAMS}"
        )));
    }
    for (what, limit) in [
        ("maxSteps", call.max_steps),
        ("maxModelCalls", call.max_model_calls),
    ] {
        if limit == Some(0) {
            return Err(invalid(format!("{what} is at least 1")));
        }
    }
    let name = call.agent.as_deref().unwrap_or(default_agent);
    let agent = spec.agents.get(name).ok_or_else(|| {
        let known: Vec<_> = spec.agents.keys().map(String::as_str).collect();
        invalid(format!(
            "there is no agent {name:?}; muster.toml has {}",
            known.join(", ")
        ))
    })?;
    let mut names = Vec::new();
    handles(&call.params, &mut names);
    let secrets = names
        .into_iter()
        .map(|name| harness.is_password(&name).map(|password| (name, password)))
        .collect::<Result<_, _>>()?;
    let redactor = harness.redactor();
    Ok(Prepared {
        instruction: redactor.text(&call.instruction),
        params: redactor.json(&call.params),
        unique: &call.unique,
        name,
        agent,
        context: redactor.text(&agent.context),
        secrets,
        vision: call.vision,
    })
}

fn invalid(message: String) -> Problem {
    Problem::new(ErrorCode::InvalidArgument, message)
}

fn depth(value: &Value) -> u32 {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    deepest.unwrap_or(0) + 1
}

/// Names of every secret handle in `value`.
fn handles(value: &Value, names: &mut Vec<String>) {
    if let Ok(handle) = serde_json::from_value::<SecretHandle>(value.clone()) {
        names.push(handle.name);
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| handles(item, names)),
        Value::Object(fields) => fields.values().for_each(|item| handles(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn handles_are_found_wherever_they_stand() {
        let mut names = Vec::new();
        let params = json!({"user": "ada", "login": [{"kind": "secret", "name": "pw"}, {"kind": "other", "name": "x"}]});
        handles(&params, &mut names);
        assert_eq!(names, ["pw"]);
    }

    #[test]
    fn depth_counts_containers() {
        assert_eq!(depth(&json!(1)), 0);
        assert_eq!(depth(&json!({})), 1);
        assert_eq!(depth(&json!({"a": [1, {"b": 2}]})), 3);
    }
}
