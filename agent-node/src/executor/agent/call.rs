//! What a model calls, parsed before anything is done: each tool and verb takes its own fields alone.

use muster_engine::NodeId;
use muster_proto::action::{Action, DEFAULT_HOLD_MS, Direction, Typed};
use muster_providers::model::ToolCall;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tools::{ACT, COMPLETE, VERBS};
use crate::harness::part::Part;

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
