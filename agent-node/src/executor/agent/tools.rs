//! The tools that a model may call: closed schemas, parsed before anything is done.

use muster_engine::NodeId;
use muster_proto::action::{
    Action, DEFAULT_HOLD_MS, Direction, MAX_FILES, MAX_SOUGHT, MAX_TIMES, Typed,
};
use muster_proto::code::ErrorCode;
use muster_providers::model::{Tool, ToolCall};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::harness::part::{Part, State};

/// The tool that ends the step.
pub(super) const COMPLETE: &str = "complete_step";
/// The tool that does something to the page. One schema for all verbs takes a third of the tokens of a
/// schema for each, and is sent with every request.
const ACT: &str = "act";
/// What it can do.
const VERBS: [&str; 21] = [
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

/// A parsed call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    /// A look at the screen, or at a part of it.
    Observe(Part),
    /// A picture of the viewport.
    Screenshot,
    /// An action.
    Act(Action<NodeId>),
    /// Something at a point of the newest picture.
    At { x: u32, y: u32, touch: Touch },
    /// A verdict, not yet accepted.
    Complete(Completion),
}

/// What is done at a point.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Touch {
    Tap,
    Hover,
    Type(String),
    Press(String),
    Select(String),
}

impl Touch {
    /// The same on a control.
    pub(super) fn on(self, target: NodeId) -> Action<NodeId> {
        match self {
            Touch::Tap => Action::Tap { target },
            Touch::Hover => Action::Hover { target },
            Touch::Type(text) => Action::Type {
                target,
                value: Typed::Literal { text },
                replace: true,
            },
            Touch::Press(key) => Action::Press {
                target: Some(target),
                key,
                times: 1,
            },
            Touch::Select(label) => Action::Select { target, label },
        }
    }
}

/// What `complete_step` takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Completion {
    pub(super) status: muster_proto::verdict::VerdictStatus,
    pub(super) summary: String,
    #[serde(default)]
    pub(super) error_code: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnTarget {
    target: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    target: String,
    #[serde(default = "held")]
    ms: u64,
}

fn held() -> u64 {
    DEFAULT_HOLD_MS
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dragged {
    target: String,
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithValue {
    target: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithFiles {
    target: String,
    files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    x: u32,
    y: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointValue {
    x: u32,
    y: u32,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointKey {
    x: u32,
    y: u32,
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithText {
    #[serde(default)]
    target: Option<String>,
    value: String,
    #[serde(default)]
    replace: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithName {
    target: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithKey {
    #[serde(default)]
    target: Option<String>,
    key: String,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithDirection {
    #[serde(default)]
    target: Option<String>,
    direction: Direction,
    #[serde(default = "once")]
    times: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sought {
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    direction: Option<Direction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithState {
    target: String,
    #[serde(default = "on")]
    checked: bool,
}

fn on() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithPath {
    path: String,
}

/// A call of `act` as a call of its verb, without the fields that are null; any other call as it is.
pub(super) fn plain(call: &ToolCall) -> ToolCall {
    let verb_and_input = || {
        let mut input: Map<String, Value> = serde_json::from_str(&call.input).ok()?;
        let verb = input.remove("do")?.as_str()?.to_owned();
        input.retain(|_, value| !value.is_null());
        Some((verb, Value::from(input).to_string()))
    };
    match verb_and_input() {
        Some((name, input)) if call.name == ACT => ToolCall {
            id: call.id.clone(),
            name,
            input,
        },
        _ => call.clone(),
    }
}

/// Parses a plain call; the error is what the model is told.
pub(super) fn parse(call: &ToolCall) -> Result<Call, String> {
    let action = match call.name.as_str() {
        "observe" => {
            return input(call).map(Call::Observe);
        }
        "screenshot" => {
            input::<Nothing>(call)?;
            return Ok(Call::Screenshot);
        }
        "tap_at" | "hover_at" => {
            let Point { x, y } = input(call)?;
            let touch = match call.name.as_str() {
                "tap_at" => Touch::Tap,
                _ => Touch::Hover,
            };
            return Ok(Call::At { x, y, touch });
        }
        "type_at" | "select_at" => {
            let PointValue { x, y, value } = input(call)?;
            let touch = match call.name.as_str() {
                "type_at" => Touch::Type(value),
                _ => Touch::Select(value),
            };
            return Ok(Call::At { x, y, touch });
        }
        "press_at" => {
            let PointKey { x, y, key } = input(call)?;
            let touch = Touch::Press(key);
            return Ok(Call::At { x, y, touch });
        }
        COMPLETE => return input(call).map(Call::Complete),
        "tap" => Action::Tap {
            target: target(&input::<OnTarget>(call)?.target)?,
        },
        "hover" => Action::Hover {
            target: target(&input::<OnTarget>(call)?.target)?,
        },
        "double_tap" => Action::DoubleTap {
            target: target(&input::<OnTarget>(call)?.target)?,
        },
        "right_click" => Action::RightClick {
            target: target(&input::<OnTarget>(call)?.target)?,
        },
        "long_press" => {
            let Held { target: at, ms } = input(call)?;
            Action::LongPress {
                target: target(&at)?,
                hold_ms: ms,
            }
        }
        "drag" => {
            let Dragged { target: at, to } = input(call)?;
            Action::Drag {
                target: target(&at)?,
                to: target(&to)?,
            }
        }
        "scroll" => {
            let WithDirection {
                target: at,
                direction,
                times,
            } = input(call)?;
            Action::Scroll {
                target: optional(at.as_deref())?,
                direction,
                times,
            }
        }
        "scroll_to" => match input(call)? {
            Sought {
                target: Some(at),
                text: None,
                direction: None,
            } => Action::ScrollTo {
                target: target(&at)?,
            },
            Sought {
                target: at,
                text: Some(text),
                direction,
            } => Action::ScrollUntil {
                target: optional(at.as_deref())?,
                text,
                direction: direction.unwrap_or(Direction::Down),
            },
            _ => return Err("refused: scroll_to takes a target, or a text to look for".to_owned()),
        },
        "type" => match input(call)? {
            WithText {
                target: Some(at),
                value,
                replace,
            } => Action::Type {
                target: target(&at)?,
                value: Typed::Literal { text: value },
                replace: replace.unwrap_or(true),
            },
            WithText {
                replace: Some(true),
                ..
            } => return Err("refused: only a target's text can be replaced".to_owned()),
            WithText { value, .. } => Action::TypeText { text: value },
        },
        "type_secret" => {
            let WithName { target: at, name } = input(call)?;
            Action::Type {
                target: target(&at)?,
                value: Typed::Secret { name },
                replace: true,
            }
        }
        "upload" => {
            let WithFiles { target: at, files } = input(call)?;
            Action::Upload {
                target: target(&at)?,
                files,
            }
        }
        "select" => {
            let WithValue { target: at, value } = input(call)?;
            Action::Select {
                target: target(&at)?,
                label: value,
            }
        }
        "press" => {
            let WithKey {
                target: at,
                key,
                times,
            } = input(call)?;
            Action::Press {
                target: optional(at.as_deref())?,
                key,
                times,
            }
        }
        "check" => {
            let WithState {
                target: at,
                checked,
            } = input(call)?;
            Action::Check {
                target: target(&at)?,
                checked,
            }
        }
        "navigate" => Action::Navigate {
            path: input::<WithPath>(call)?.path,
        },
        "back" => {
            input::<Nothing>(call)?;
            Action::Back {}
        }
        ACT => return Err(format!("refused: `do` is one of {}", VERBS.join(", "))),
        other => {
            return Err(format!(
                "refused: there is no tool and no verb {other:?}; the tools are observe, screenshot, {ACT} and {COMPLETE}, \
                 the verbs of {ACT} are {}",
                VERBS.join(", ")
            ));
        }
    };
    Ok(Call::Act(action))
}

fn input<T: DeserializeOwned>(call: &ToolCall) -> Result<T, String> {
    let text = if call.input.trim().is_empty() {
        "{}"
    } else {
        &call.input
    };
    serde_json::from_str(text).map_err(|error| {
        format!(
            "refused: the input of {} is not what it takes: {error}",
            call.name
        )
    })
}

/// `n42` or `#n42`.
fn target(text: &str) -> Result<NodeId, String> {
    let digits = text.trim().trim_start_matches('#').strip_prefix('n');
    let id = digits
        .and_then(|digits| digits.parse().ok())
        .filter(|id| *id > 0);
    id.map(NodeId).ok_or_else(|| {
        format!(
            "refused: {text:?} is no element id; ids stand in front of the screen's lines, like n42"
        )
    })
}

fn optional(text: Option<&str>) -> Result<Option<NodeId>, String> {
    text.map(target).transpose()
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
    use super::*;

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
