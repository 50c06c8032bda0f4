//! Actions of remote executors. A new action gets a field in `executor.proto`, an arm and a verb here.

use crate::action::{Action, Typed};
use crate::v1;
use crate::v1::action::Verb;

/// What a remote executor may ask for: the names of the fields of `muster.v1.Action`.
pub const VERBS: [&str; 10] = [
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
            },
            Verb::TypeSecret(on) => Action::Type {
                target: on.element,
                value: Typed::Secret { name: on.name },
            },
            Verb::Press(on) => Action::Press {
                target: on.element,
                key: on.key,
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
        })
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
            Action::Type { value, .. } => match value {
                Typed::Literal { text } | Typed::Template { text } => {
                    let text = text.clone();
                    ("type", Verb::Type(v1::TypeText { element, text }))
                }
                Typed::Secret { name } => {
                    let name = name.clone();
                    let secret = v1::TypeSecret { element, name };
                    ("type_secret", Verb::TypeSecret(secret))
                }
            },
            Action::Press { target, key } => {
                let (element, key) = (*target, key.clone());
                ("press", Verb::Press(v1::Press { element, key }))
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
            },
            Action::Type {
                target: 7,
                value: Typed::Secret { name: text("pw") },
            },
            Action::Press {
                target: None,
                key: text("Enter"),
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
