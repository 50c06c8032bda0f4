//! Actions of remote executors. A new action gets a field in `executor.proto`, an arm and a verb here.

use crate::action::{Action, DEFAULT_HOLD_MS, Direction, Typed};
use crate::v1;
use crate::v1::action::Verb;

/// What a remote executor may ask for: the names of the fields of `muster.v1.Action`.
pub const VERBS: [&str; 18] = [
    "tap",
    "type",
    "type_secret",
    "press",
    "select",
    "check",
    "hover",
    "scroll_to",
    "navigate",
    "back",
    "double_tap",
    "long_press",
    "right_click",
    "drag",
    "keyboard",
    "scroll",
    "scroll_until",
    "upload",
];

impl TryFrom<v1::Action> for Action<u64> {
    type Error = String;

    /// On elements by their ids; an error says what is missing.
    fn try_from(action: v1::Action) -> Result<Self, String> {
        let verb = action.verb.ok_or_else(|| {
            format!(
                "there is no such action; this node takes {}",
                VERBS.join(", ")
            )
        })?;
        Ok(match verb {
            Verb::Tap(on) => Action::Tap { target: on.element },
            Verb::Type(on) => Action::Type {
                target: on.element,
                value: Typed::Literal { text: on.text },
                replace: !on.after,
            },
            Verb::TypeSecret(on) => Action::Type {
                target: on.element,
                value: Typed::Secret { name: on.name },
                replace: true,
            },
            Verb::Press(on) => Action::Press {
                target: on.element,
                key: on.key,
                times: on.times.max(1),
            },
            Verb::Select(on) => Action::Select {
                target: on.element,
                label: on.label,
            },
            Verb::Check(on) => Action::Check {
                target: on.element,
                checked: on.checked,
            },
            Verb::Hover(on) => Action::Hover { target: on.element },
            Verb::ScrollTo(on) => Action::ScrollTo { target: on.element },
            Verb::Navigate(to) => Action::Navigate { path: to.path },
            Verb::Back(v1::Back {}) => Action::Back {},
            Verb::DoubleTap(on) => Action::DoubleTap { target: on.element },
            Verb::LongPress(on) => Action::LongPress {
                target: on.element,
                hold_ms: match on.hold_ms {
                    0 => DEFAULT_HOLD_MS,
                    hold_ms => hold_ms,
                },
            },
            Verb::RightClick(on) => Action::RightClick { target: on.element },
            Verb::Drag(on) => Action::Drag {
                target: on.element,
                to: on.to,
            },
            Verb::Keyboard(typed) => Action::TypeText { text: typed.text },
            Verb::Scroll(scroll) => Action::Scroll {
                target: scroll.element,
                direction: direction(scroll.direction()),
                times: scroll.times.max(1),
            },
            Verb::ScrollUntil(until) => Action::ScrollUntil {
                target: until.element,
                direction: direction(until.direction()),
                text: until.text,
            },
            Verb::Upload(on) => Action::Upload {
                target: on.element,
                files: on.files,
            },
        })
    }
}

fn direction(sent: v1::Direction) -> Direction {
    match sent {
        v1::Direction::Up => Direction::Up,
        v1::Direction::Unspecified | v1::Direction::Down => Direction::Down,
        v1::Direction::Left => Direction::Left,
        v1::Direction::Right => Direction::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its name on the wire and its form there. Exhaustive, so that the compiler leads here.
    fn sent(action: &Action<u64>) -> (&'static str, Verb) {
        let element = action.target().copied().unwrap_or_default();
        let on = v1::OnElement { element };
        match action {
            Action::Tap { .. } => ("tap", Verb::Tap(on)),
            Action::Type { value, replace, .. } => match value {
                Typed::Literal { text } | Typed::Template { text } => {
                    let text = text.clone();
                    let after = !replace;
                    (
                        "type",
                        Verb::Type(v1::TypeText {
                            element,
                            text,
                            after,
                        }),
                    )
                }
                Typed::Secret { name } => {
                    let name = name.clone();
                    let secret = v1::TypeSecret { element, name };
                    ("type_secret", Verb::TypeSecret(secret))
                }
            },
            Action::Press { target, key, times } => {
                let (element, key, times) = (*target, key.clone(), *times);
                (
                    "press",
                    Verb::Press(v1::Press {
                        element,
                        key,
                        times,
                    }),
                )
            }
            Action::Select { label, .. } => {
                let label = label.clone();
                ("select", Verb::Select(v1::SelectOption { element, label }))
            }
            &Action::Check { checked, .. } => {
                ("check", Verb::Check(v1::Check { element, checked }))
            }
            Action::Hover { .. } => ("hover", Verb::Hover(on)),
            Action::ScrollTo { .. } => ("scroll_to", Verb::ScrollTo(on)),
            Action::Navigate { path } => {
                let path = path.clone();
                ("navigate", Verb::Navigate(v1::Navigate { path }))
            }
            Action::Back {} => ("back", Verb::Back(v1::Back {})),
            Action::DoubleTap { .. } => ("double_tap", Verb::DoubleTap(on)),
            &Action::LongPress { hold_ms, .. } => {
                let held = v1::LongPress { element, hold_ms };
                ("long_press", Verb::LongPress(held))
            }
            Action::RightClick { .. } => ("right_click", Verb::RightClick(on)),
            &Action::Drag { to, .. } => ("drag", Verb::Drag(v1::Drag { element, to })),
            Action::TypeText { text } => {
                let text = text.clone();
                ("keyboard", Verb::Keyboard(v1::Keyboard { text }))
            }
            &Action::Scroll {
                target: element,
                direction,
                times,
            } => {
                let direction = way(direction).into();
                let scroll = v1::Scroll {
                    element,
                    direction,
                    times,
                };
                ("scroll", Verb::Scroll(scroll))
            }
            Action::ScrollUntil {
                target,
                text,
                direction,
            } => {
                let until = v1::ScrollUntil {
                    element: *target,
                    text: text.clone(),
                    direction: way(*direction).into(),
                };
                ("scroll_until", Verb::ScrollUntil(until))
            }
            Action::Upload { files, .. } => {
                let files = files.clone();
                ("upload", Verb::Upload(v1::Upload { element, files }))
            }
        }
    }

    fn way(direction: Direction) -> v1::Direction {
        match direction {
            Direction::Up => v1::Direction::Up,
            Direction::Down => v1::Direction::Down,
            Direction::Left => v1::Direction::Left,
            Direction::Right => v1::Direction::Right,
        }
    }

    #[test]
    fn every_action_has_its_verb() {
        let text = |text: &str| text.to_owned();
        let all = [
            Action::Tap { target: 7 },
            Action::Type {
                target: 7,
                value: Typed::Literal { text: text("Ann") },
                replace: false,
            },
            Action::Type {
                target: 7,
                value: Typed::Secret { name: text("pw") },
                replace: true,
            },
            Action::Press {
                target: None,
                key: text("Enter"),
                times: 3,
            },
            Action::Select {
                target: 7,
                label: text("Large"),
            },
            Action::Check {
                target: 7,
                checked: true,
            },
            Action::Hover { target: 7 },
            Action::ScrollTo { target: 7 },
            Action::Navigate {
                path: text("/cart"),
            },
            Action::Back {},
            Action::DoubleTap { target: 7 },
            Action::LongPress {
                target: 7,
                hold_ms: 800,
            },
            Action::RightClick { target: 7 },
            Action::Drag { target: 7, to: 8 },
            Action::TypeText { text: text("Ann") },
            Action::Scroll {
                target: Some(7),
                direction: Direction::Left,
                times: 2,
            },
            Action::ScrollUntil {
                target: None,
                text: text("Ann"),
                direction: Direction::Up,
            },
            Action::Upload {
                target: 7,
                files: vec![text("a.pdf")],
            },
        ];
        let names: Vec<_> = all.iter().map(|action| sent(action).0).collect();
        assert_eq!(names, VERBS);
        for action in all {
            let verb = Some(sent(&action).1);
            assert_eq!(Action::try_from(v1::Action { verb }), Ok(action));
        }
        assert!(Action::<u64>::try_from(v1::Action { verb: None }).is_err());
    }
}
