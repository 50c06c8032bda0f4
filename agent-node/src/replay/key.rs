//! What a recording depends on. Change one part and it is another recording.

use muster_proto::canonical;
use muster_proto::id::ReplayKey;
use muster_proto::recording::SCHEMA;
use serde::Serialize;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// Version of the rules by which recordings are made and matched; part of every key, so that no
/// recording is read by other rules than it was written by.
///
/// History: `replay/1` = first.
pub const POLICY: &str = "replay/1";

/// The parts of a replay key. Neither model nor executor is among them: a recording made by one
/// serves all.
#[derive(Clone, Copy, Debug)]
pub struct KeyParts<'a> {
    /// Project id.
    pub project: &'a str,
    /// Test id.
    pub test_id: &'a str,
    /// Target name.
    pub target: &'a str,
    /// Engine name, e.g. `chromium`; never its version.
    pub engine: &'a str,
    /// How many calls of the attempt had the same agent, instruction and parameters before this
    /// one, from 0.
    pub call_index: u32,
    /// The goal. Line ends, Unicode composition and outer whitespace don't matter.
    pub instruction: &'a str,
    /// Parameters; secrets stand as handles, so they count by name.
    pub params: &'a Value,
    /// JSON Pointers into `params` of values made by `unique()`; their values don't count.
    pub unique: &'a [String],
    /// Which app, and which environment of it, as configured: never an allocated port.
    pub app_identity: &'a str,
    /// The agent's name.
    pub agent: &'a str,
    /// The agent's context, redacted.
    pub agent_context: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preimage<'a> {
    policy: &'static str,
    schema: u32,
    kind: &'static str,
    project_sha256: String,
    test: &'a str,
    target: &'a str,
    engine: &'a str,
    call_index: u32,
    instruction_sha256: String,
    params_sha256: String,
    app: &'a str,
    agent: &'a str,
    agent_context_sha256: String,
}

/// The key: lower-case hex SHA-256 over the canonical JSON of the parts.
pub fn replay_key(parts: &KeyParts<'_>) -> ReplayKey {
    ReplayKey(canonical::digest(&Preimage {
        policy: POLICY,
        schema: SCHEMA,
        kind: "act",
        project_sha256: canonical::sha256_hex(parts.project.as_bytes()),
        test: parts.test_id,
        target: parts.target,
        engine: parts.engine,
        call_index: parts.call_index,
        instruction_sha256: instruction_digest(parts.instruction),
        params_sha256: params_digest(parts.params, parts.unique),
        app: parts.app_identity,
        agent: parts.agent,
        agent_context_sha256: canonical::sha256_hex(parts.agent_context.as_bytes()),
    }))
}

fn instruction_digest(instruction: &str) -> String {
    let composed: String = instruction.replace("\r\n", "\n").nfc().collect();
    canonical::sha256_hex(composed.trim().as_bytes())
}

/// The pointers are hashed beside the masked parameters: a plain parameter that looks like the
/// placeholder is another key than a unique one.
fn params_digest(params: &Value, unique: &[String]) -> String {
    let mut masked = match params {
        Value::Null => Value::Object(serde_json::Map::new()),
        other => other.clone(),
    };
    let mut slots: Vec<&str> = Vec::new();
    for pointer in unique {
        if let Some(value) = masked.pointer_mut(pointer) {
            *value = Value::Null;
            slots.push(pointer);
        }
    }
    slots.sort_unstable();
    slots.dedup();
    canonical::digest(&(masked, slots))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts<'a>(params: &'a Value, unique: &'a [String]) -> KeyParts<'a> {
        KeyParts {
            project: "shop",
            test_id: "tests/cart.e2e.ts::adds",
            target: "web",
            engine: "chromium",
            call_index: 0,
            instruction: "Create the list",
            params,
            unique,
            app_identity: "shop@test",
            agent: "default",
            agent_context: "",
        }
    }

    /// Keys name files that people commit: this digest may change only together with [`POLICY`].
    #[test]
    fn the_key_is_stable() {
        let params = json!({ "name": "Alpha 1", "password": { "kind": "secret", "name": "pw" } });
        let unique = ["/name".to_owned()];
        assert_eq!(
            replay_key(&parts(&params, &unique)).as_str(),
            "d2725f62cd6678c3280efce125c04d1a86ad0590d8ced171a0cc80910f45359b"
        );
    }

    #[test]
    fn what_does_not_matter_does_not_change_it() {
        let unique = ["/name".to_owned()];
        let (one, two) = (json!({ "name": "Alpha 1" }), json!({ "name": "Alpha 2" }));
        let key = replay_key(&parts(&one, &unique));
        assert_eq!(
            key,
            replay_key(&parts(&two, &unique)),
            "the value of a unique()"
        );

        let lines = KeyParts {
            instruction: "Ouvre le cafe\u{301}\r\nmaintenant \n",
            ..parts(&one, &unique)
        };
        let composed = KeyParts {
            instruction: "Ouvre le caf\u{e9}\nmaintenant",
            ..parts(&one, &unique)
        };
        assert_eq!(
            replay_key(&lines),
            replay_key(&composed),
            "line ends, composition, outer space"
        );

        let (null, empty) = (Value::Null, json!({}));
        assert_eq!(
            replay_key(&parts(&null, &[])),
            replay_key(&parts(&empty, &[])),
            "no parameters"
        );
    }

    #[test]
    fn every_part_changes_it() {
        let params = json!({ "name": "Alpha 1", "kind": "list" });
        let other = json!({ "name": "Alpha 1", "kind": "board" });
        let unique = ["/name".to_owned()];
        let base = parts(&params, &unique);
        let keys = [
            replay_key(&base),
            replay_key(&KeyParts {
                project: "shop2",
                ..base
            }),
            replay_key(&KeyParts {
                test_id: "t",
                ..base
            }),
            replay_key(&KeyParts {
                target: "mobile",
                ..base
            }),
            replay_key(&KeyParts {
                engine: "webkit",
                ..base
            }),
            replay_key(&KeyParts {
                call_index: 1,
                ..base
            }),
            replay_key(&KeyParts {
                instruction: "Create a list",
                ..base
            }),
            replay_key(&KeyParts {
                params: &other,
                ..base
            }),
            replay_key(&KeyParts {
                unique: &[],
                ..base
            }),
            replay_key(&KeyParts {
                app_identity: "shop@staging",
                ..base
            }),
            replay_key(&KeyParts {
                agent: "admin",
                ..base
            }),
            replay_key(&KeyParts {
                agent_context: "You are an admin",
                ..base
            }),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(
                keys.iter().position(|each| each == key),
                Some(index),
                "part {index}"
            );
        }
    }

    #[test]
    fn a_secret_counts_by_name_and_a_masked_value_is_no_null() {
        let pw = json!({ "p": { "kind": "secret", "name": "pw" } });
        let pin = json!({ "p": { "kind": "secret", "name": "pin" } });
        assert_ne!(replay_key(&parts(&pw, &[])), replay_key(&parts(&pin, &[])));

        let (value, null) = (json!({ "p": "x" }), json!({ "p": null }));
        let unique = ["/p".to_owned()];
        assert_ne!(
            replay_key(&parts(&value, &unique)),
            replay_key(&parts(&null, &[]))
        );
    }
}
