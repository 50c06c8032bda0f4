//! The tools that a model may call, as it is told of them. [`super::call`] parses what it calls.

use muster_proto::action::{MAX_FILES, MAX_SOUGHT, MAX_TIMES};
use muster_proto::code::ErrorCode;
use muster_providers::model::Tool;
use serde_json::{Value, json};

use crate::harness::part::State;

/// The tool that ends the step.
pub(super) const COMPLETE: &str = "complete_step";
/// The tool that does something to the page. One schema for all verbs takes a third of the tokens of a
/// schema for each, and is sent with every request.
pub(super) const ACT: &str = "act";
/// What it can do.
pub(super) const VERBS: [&str; 21] = [
    "tap",
    "double_tap",
    "right_click",
    "long_press",
    "hover",
    "drag",
    "type",
    "press",
    "select",
    "check",
    "scroll",
    "scroll_to",
    "navigate",
    "back",
    "type_secret",
    "upload",
    "tap_at",
    "hover_at",
    "type_at",
    "select_at",
    "press_at",
];

/// For what there are tools and verbs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// The step has secrets.
    pub(super) secrets: bool,
    /// The model sees, and pixels are open.
    pub(super) vision: bool,
    /// The suite has files.
    pub(super) files: bool,
}

impl Offer {
    fn has(self, verb: &str) -> bool {
        match verb {
            "type_secret" => self.secrets,
            "upload" => self.files,
            verb if verb.ends_with("_at") => self.vision,
            _ => true,
        }
    }
}

/// The tools that make sense.
pub(super) fn offered(offer: Offer) -> Vec<Tool> {
    let mut tools = vec![
        tool(
            "observe",
            "Shows the whole screen again, or only what has these words or this state; offset goes on after a cut.",
            &json!({
                "query": {"type": "string"},
                "state": {"type": "string", "enum": State::NAMES},
                "offset": {"type": "integer"},
            }),
            &[],
        ),
        tool(
            "screenshot",
            "Shows a picture of the viewport.",
            &json!({}),
            &[],
        ),
        act(offer),
        complete(),
    ];
    tools.retain(|tool| offer.vision || tool.name != "screenshot");
    tools
}

/// The tool that does something to the page.
fn act(offer: Offer) -> Tool {
    let mut description =
        "Does one thing to the page. Fields of each verb, optional ones in brackets:\n\
        tap, double_tap, right_click, hover: target\n\
        long_press: target [ms]\n\
        drag: target to\n\
        type: value [target] [replace]; without target into what has the focus\n\
        press: key [target] [times]; Enter, Tab, Control+A, …\n\
        select: target value; an option's label\n\
        check: target [checked]; a checkbox, radio or switch, on unless checked is false\n\
        scroll: direction [target] [times]; by a screen\n\
        scroll_to: target, or text [target] [direction]; until it comes up\n\
        navigate: path; within the app\n\
        back"
            .to_owned();
    let string = json!({"type": "string"});
    let times = json!({"type": "integer", "minimum": 1, "maximum": MAX_TIMES});
    let mut properties = json!({
        "target": {"type": "string", "description": "Element id, like n42."},
        "to": string,
        "value": string,
        "replace": {"type": "boolean"},
        "key": string,
        "times": times,
        "checked": {"type": "boolean"},
        "direction": {"type": "string", "enum": ["up", "down", "left", "right"]},
        "text": {"type": "string", "maxLength": MAX_SOUGHT},
        "path": string,
        "ms": {"type": "integer"},
    });
    if offer.secrets {
        description.push_str("\ntype_secret: target name; a declared secret, which you never see");
        properties["name"] = string.clone();
    }
    if offer.files {
        description.push_str("\nupload: target files; paths of the suite's files");
        properties["files"] = json!({"type": "array", "items": string, "maxItems": MAX_FILES});
    }
    if offer.vision {
        description.push_str(
            "\ntap_at, hover_at: x y; pixels of the newest screenshot\n\
             type_at, select_at: x y value\n\
             press_at: x y key",
        );
        let pixel = json!({"type": "integer", "minimum": 0});
        properties["x"] = pixel.clone();
        properties["y"] = pixel;
    }
    let verbs: Vec<&str> = VERBS.into_iter().filter(|verb| offer.has(verb)).collect();
    properties["do"] = json!({"type": "string", "enum": verbs});
    tool(ACT, &description, &properties, &["do"])
}

/// The tool that ends the step.
pub(super) fn complete() -> Tool {
    let codes: Vec<&str> = ErrorCode::ALL
        .iter()
        .filter(|code| code.model_may_pick())
        .map(|code| code.as_str())
        .collect();
    tool(
        COMPLETE,
        "Ends the step with your verdict. The first accepted one is final.",
        &json!({
            "status": {"type": "string", "enum": ["passed", "failed", "blocked"]},
            "summary": {"type": "string", "description": "What was done, or why not; under 400 characters."},
            "errorCode": {"type": "string", "enum": codes, "description": "The reason; needed for blocked, left out for passed."},
        }),
        &["status", "summary"],
    )
}

fn tool(name: &str, description: &str, properties: &Value, required: &[&str]) -> Tool {
    let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        schema,
    }
}

#[cfg(test)]
mod tests {
    use muster_engine::NodeId;
    use muster_proto::action::{Action, Direction, Typed};
    use muster_providers::model::ToolCall;

    use super::super::call::{Call, parse, plain};
    use super::*;
    use crate::harness::part::Part;

    fn call(name: &str, input: &str) -> Result<Call, String> {
        parse(&plain(&ToolCall {
            id: "1".to_owned(),
            name: name.to_owned(),
            input: input.to_owned(),
        }))
    }

    #[test]
    fn every_tool_and_verb_takes_its_own_fields_and_no_other() {
        let inputs = [
            ("observe", "{}"),
            ("screenshot", "{}"),
            (COMPLETE, r#"{"status":"passed","summary":"done"}"#),
            ("tap", r#"{"target":"n7"}"#),
            ("double_tap", r#"{"target":"n7"}"#),
            ("right_click", r#"{"target":"n7"}"#),
            ("long_press", r#"{"target":"n7"}"#),
            ("hover", r##"{"target":"#n7"}"##),
            ("drag", r#"{"target":"n7","to":"n8"}"#),
            ("type", r#"{"target":"n7","value":"x"}"#),
            ("press", r#"{"key":"Enter"}"#),
            ("select", r#"{"target":"n7","value":"x"}"#),
            ("check", r#"{"target":"n7"}"#),
            ("scroll", r#"{"direction":"up"}"#),
            ("scroll_to", r#"{"target":"n7"}"#),
            ("navigate", r#"{"path":"/"}"#),
            ("back", "{}"),
            ("type_secret", r#"{"target":"n7","name":"pw"}"#),
            ("upload", r#"{"target":"n7","files":["a.pdf"]}"#),
            ("tap_at", r#"{"x":3,"y":4}"#),
            ("hover_at", r#"{"x":3,"y":4}"#),
            ("type_at", r#"{"x":3,"y":4,"value":"x"}"#),
            ("select_at", r#"{"x":3,"y":4,"value":"x"}"#),
            ("press_at", r#"{"x":3,"y":4,"key":"Enter"}"#),
        ];
        for (name, input) in inputs {
            let parsed = call(name, input).unwrap();
            let mut more: Value = serde_json::from_str(input).unwrap();
            more["selector"] = json!("#pay");
            let refusal = call(name, &more.to_string()).unwrap_err();
            assert!(
                refusal.starts_with("refused: ") && refusal.contains("selector"),
                "{refusal}"
            );
            let (Call::Act(_) | Call::At { .. }) = parsed else {
                continue;
            };
            let mut act: Value = serde_json::from_str(input).unwrap();
            act["do"] = json!(name);
            act["to"] = act.get("to").cloned().unwrap_or_default();
            assert_eq!(call(ACT, &act.to_string()), Ok(parsed), "null is left out");
        }
        let offer = |all| Offer {
            secrets: all,
            vision: all,
            files: all,
        };
        let verbs = |all| act(offer(all)).schema["properties"]["do"]["enum"].clone();
        assert_eq!(verbs(true), json!(inputs.map(|(name, _)| name)[3..]));
        assert_eq!(verbs(false), json!(VERBS[..14]));
    }

    #[test]
    fn what_nobody_offers_is_refused_by_name() {
        let refused = |name, input| call(name, input).unwrap_err();
        assert!(refused("evaluate", "{}").contains("no tool and no verb \"evaluate\""));
        assert!(refused(ACT, r#"{"do":"evaluate"}"#).contains("no verb \"evaluate\""));
        assert!(refused(ACT, r#"{"target":"n7"}"#).contains("`do` is one of tap"));
        assert!(refused(ACT, "tap n7").contains("`do` is one of tap"));
    }

    #[test]
    fn what_a_call_leaves_out_has_a_meaning() {
        let act = |name, input| match call(name, input) {
            Ok(Call::Act(action)) => Ok(action),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal),
        };
        let (target, text) = (NodeId(7), "x".to_owned());
        let value = Typed::Literal { text: text.clone() };
        let typed = |replace| Action::Type {
            target,
            value: value.clone(),
            replace,
        };
        let down = Direction::Down;
        for (name, input, action) in [
            ("type", r#"{"target":"n7","value":"x"}"#, typed(true)),
            (
                "type",
                r#"{"target":"n7","value":"x","replace":false}"#,
                typed(false),
            ),
            (
                "type",
                r#"{"value":"x"}"#,
                Action::TypeText { text: text.clone() },
            ),
            (
                "long_press",
                r#"{"target":"n7"}"#,
                Action::LongPress {
                    target,
                    hold_ms: 500,
                },
            ),
            (
                "scroll",
                r#"{"direction":"down"}"#,
                Action::Scroll {
                    target: None,
                    direction: down,
                    times: 1,
                },
            ),
            (
                "scroll_to",
                r#"{"target":"n7"}"#,
                Action::ScrollTo { target },
            ),
            (
                "scroll_to",
                r#"{"text":"x","target":"n7"}"#,
                Action::ScrollUntil {
                    target: Some(target),
                    text,
                    direction: down,
                },
            ),
        ] {
            assert_eq!(act(name, input), Ok(action));
        }
        for (name, input) in [
            ("type", r#"{"value":"x","replace":true}"#),
            ("scroll_to", "{}"),
            ("scroll_to", r#"{"target":"n7","direction":"up"}"#),
            ("scroll", r#"{"direction":"sideways"}"#),
            ("drag", r#"{"target":"n7"}"#),
        ] {
            assert!(
                act(name, input).unwrap_err().starts_with("refused: "),
                "{input}"
            );
        }
    }

    #[test]
    fn a_look_is_whole_or_names_its_part() {
        assert_eq!(call("observe", "{}"), Ok(Call::Observe(Part::default())));
        let part = Part {
            query: Some("mug".to_owned()),
            state: Some(State::Enabled),
            offset: 40,
        };
        let input = r#"{"query":"mug","state":"enabled","offset":40}"#;
        assert_eq!(call("observe", input), Ok(Call::Observe(part)));
        for bad in [r#"{"state":"hidden"}"#, r#"{"offset":-1}"#] {
            assert!(call("observe", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_are_ids() {
        assert_eq!(
            call("tap", r#"{"target":"n7"}"#),
            Ok(Call::Act(Action::Tap { target: NodeId(7) }))
        );
        for bad in ["button", "n", "n0", "7", "n-1", "#pay"] {
            assert!(
                call("tap", &json!({"target": bad}).to_string()).is_err(),
                "{bad}"
            );
        }
        assert!(call("tap", "not json").is_err());
    }
}
