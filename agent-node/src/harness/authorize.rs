//! Whether an action may be done at all: decided on the newest observation, immediately before it
//! is dispatched, for executors and replay alike. Pure.

use std::collections::BTreeMap;

use muster_engine::{Node, NodeId};
use muster_proto::action::{Action, Typed};
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use url::Url;

use super::observation::called;
use super::{Observation, files, keys, location};

/// What a step may do.
pub struct Rules {
    /// The app's address.
    pub app: Url,
    /// Secrets that the step declares in its parameters, and whether each is a password.
    pub secrets: BTreeMap<String, bool>,
}

/// Why an action is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// POLICY_DENIED for a rule, LOCATOR_NOT_FOUND or ACTION_FAILED for what can't work.
    pub code: ErrorCode,
    /// What, which, what next.
    pub message: String,
    /// The rule that it breaks; none where it just can't work.
    pub guard: Option<Guard>,
}

/// Longest text that is typed on the keyboard, characters.
const MAX_KEYS: usize = 1000;

/// Roles of fields that may take a secret.
const SINKS: [&str; 3] = ["textbox", "searchbox", "combobox"];

/// Allows an action or says why not. `was` tells what an id named on an earlier screen.
pub fn authorize(
    action: &Action<NodeId>,
    on: &Observation,
    was: impl Fn(NodeId) -> Option<String>,
    rules: &Rules,
) -> Result<(), Denied> {
    for id in action.targets() {
        if on.node(*id).is_none() && Guard::TargetStale.holds() {
            return Err(gone(*id, was(*id)));
        }
    }
    action
        .bounded()
        .map_err(|why| denied(ErrorCode::ActionFailed, why))?;
    let target = action.target().and_then(|id| on.node(*id));
    match (action, target) {
        (
            Action::Type {
                value: Typed::Secret { .. },
                replace: false,
                ..
            },
            _,
        ) => Err(denied(
            ErrorCode::ActionFailed,
            "a secret replaces what its field holds".to_owned(),
        )),
        (Action::Type { value, .. }, Some(field)) => sink(value, field, rules),
        (Action::TypeText { text }, _) if text.chars().count() > MAX_KEYS => Err(denied(
            ErrorCode::ActionFailed,
            format!(
                "at most {MAX_KEYS} characters are typed on the keyboard; type into a field instead"
            ),
        )),
        (Action::Press { key, .. }, _) => {
            keys::check(key).map_err(|why| denied(ErrorCode::ActionFailed, why))
        }
        (Action::Upload { files: paths, .. }, _) => {
            paths.iter().try_for_each(|path| files::within(path))
        }
        (Action::Select { label, .. }, Some(select)) => option(label, select),
        (Action::Navigate { path }, _) => {
            location::on_site(path, &rules.app)
                .map(|_| ())
                .map_err(|why| Denied {
                    message: format!("navigation refused: {}", why.message),
                    ..why
                })
        }
        (
            Action::Tap { .. }
            | Action::DoubleTap { .. }
            | Action::LongPress { .. }
            | Action::RightClick { .. }
            | Action::Drag { .. }
            | Action::TypeText { .. }
            | Action::Scroll { .. }
            | Action::ScrollUntil { .. }
            | Action::Type { .. }
            | Action::Select { .. }
            | Action::Check { .. }
            | Action::Hover { .. }
            | Action::ScrollTo { .. }
            | Action::Back {},
            _,
        ) => Ok(()),
    }
}

fn sink(value: &Typed, field: &Node, rules: &Rules) -> Result<(), Denied> {
    let field_name = called(field);
    let blocked = match (field.states.disabled, field.editable) {
        (true, _) => Some("is disabled"),
        (false, false) => Some("takes no text"),
        (false, true) => None,
    };
    match value {
        Typed::Literal { .. } => match blocked {
            Some(why) => Err(denied(
                ErrorCode::ActionFailed,
                format!("{field_name} {why}"),
            )),
            None => Ok(()),
        },
        Typed::Template { .. } => Err(denied(
            ErrorCode::ActionFailed,
            "text with open slots can't be typed; fill them first".to_owned(),
        )),
        Typed::Secret { name } => {
            let refuse = |guard: Guard, why: String| {
                Err(refused(guard, format!("secret {name:?} refused: {why}")))
            };
            let declared = rules.secrets.get(name);
            if Guard::SecretFill.holds() && declared.is_none() {
                return refuse(
                    Guard::SecretFill,
                    "this step does not declare it; pass it in params".to_owned(),
                );
            }
            if let Some(why) = blocked.filter(|_| Guard::SecretFill.holds()) {
                return refuse(Guard::SecretFill, format!("{field_name} {why}"));
            }
            if Guard::SecretFill.holds() && !SINKS.contains(&field.role.as_str()) {
                return refuse(Guard::SecretFill, format!("{field_name} is no text field"));
            }
            let password = declared == Some(&true);
            if Guard::SecretPurpose.holds() && password && !field.states.secure {
                return refuse(
                    Guard::SecretPurpose,
                    format!("it is a password and {field_name} is no password field"),
                );
            }
            Ok(())
        }
    }
}

fn option(label: &str, select: &Node) -> Result<(), Denied> {
    if select.options.is_empty() || select.options.iter().any(|option| option == label) {
        return Ok(());
    }
    let options: Vec<_> = select
        .options
        .iter()
        .take(20)
        .map(|option| format!("{option:?}"))
        .collect();
    Err(denied(
        ErrorCode::ActionFailed,
        format!(
            "{} has no option {label:?}; it has {}",
            called(select),
            options.join(", ")
        ),
    ))
}

fn gone(id: NodeId, was: Option<String>) -> Denied {
    let message = match was {
        Some(was) => format!(
            "{id} ({was}) is no longer on the screen; observe again and use an id that is listed"
        ),
        None => format!("{id} was never on the screen; use an id that is listed"),
    };
    Denied {
        guard: Some(Guard::TargetStale),
        ..denied(ErrorCode::LocatorNotFound, message)
    }
}

fn denied(code: ErrorCode, message: String) -> Denied {
    Denied {
        code,
        message,
        guard: None,
    }
}

/// A broken rule.
pub(super) fn refused(guard: Guard, message: String) -> Denied {
    Denied {
        guard: Some(guard),
        ..denied(ErrorCode::PolicyDenied, message)
    }
}

#[cfg(test)]
mod tests {
    use muster_engine::{Snapshot, States};

    use super::*;

    fn field(id: u64, role: &str, name: &str, editable: bool, secure: bool) -> Node {
        Node {
            id: NodeId(id),
            role: role.to_owned(),
            name: name.to_owned(),
            editable,
            states: States {
                secure,
                ..States::default()
            },
            ..Node::default()
        }
    }

    fn screen() -> Observation {
        let nodes = vec![
            field(1, "textbox", "User", true, false),
            field(2, "textbox", "Password", true, true),
            field(3, "button", "Log in", false, false),
            Node {
                states: States {
                    disabled: true,
                    ..States::default()
                },
                ..field(4, "textbox", "Later", false, true)
            },
            field(5, "slider", "Volume", true, true),
            Node {
                options: vec!["Red".to_owned()],
                ..field(6, "combobox", "Colour", false, false)
            },
        ];
        Observation {
            revision: 1,
            location: "/".to_owned(),
            notes: Vec::new(),
            snapshot: Snapshot {
                nodes,
                ..Snapshot::default()
            },
        }
    }

    fn check(action: Action<NodeId>) -> Result<(), Denied> {
        let rules = Rules {
            app: Url::parse("http://shop.test/").unwrap(),
            secrets: [("pw".to_owned(), true), ("token".to_owned(), false)].into(),
        };
        authorize(
            &action,
            &screen(),
            |id| (id.0 == 9).then(|| "button \"Buy\"".to_owned()),
            &rules,
        )
    }

    fn secret(id: u64, name: &str) -> Action<NodeId> {
        Action::Type {
            target: NodeId(id),
            value: Typed::Secret {
                name: name.to_owned(),
            },
            replace: true,
        }
    }

    #[test]
    fn an_id_must_be_on_the_newest_screen() {
        assert_eq!(check(Action::Tap { target: NodeId(3) }), Ok(()));
        let stale = check(Action::Tap { target: NodeId(9) }).unwrap_err();
        assert_eq!(stale.code, ErrorCode::LocatorNotFound);
        assert!(
            stale
                .message
                .starts_with("n9 (button \"Buy\") is no longer on the screen"),
            "{}",
            stale.message
        );
        let unknown = check(Action::Hover { target: NodeId(77) }).unwrap_err();
        assert!(
            unknown.message.contains("never on the screen"),
            "{}",
            unknown.message
        );
    }

    #[test]
    fn secrets_go_only_where_they_belong() {
        assert_eq!(check(secret(2, "pw")), Ok(()));
        assert_eq!(check(secret(1, "token")), Ok(()));
        for (action, why) in [
            (secret(2, "other"), "does not declare it"),
            (secret(1, "pw"), "no password field"),
            (secret(3, "token"), "takes no text"),
            (secret(4, "pw"), "is disabled"),
            (secret(5, "pw"), "no text field"),
        ] {
            let denied = check(action).unwrap_err();
            assert_eq!(denied.code, ErrorCode::PolicyDenied);
            assert!(denied.message.contains(why), "{}", denied.message);
        }
    }

    #[test]
    fn plain_text_needs_a_field_and_no_slots() {
        let plain = |id| Action::Type {
            target: NodeId(id),
            value: Typed::Literal {
                text: "x".to_owned(),
            },
            replace: true,
        };
        assert_eq!(check(plain(1)), Ok(()));
        assert_eq!(check(plain(3)).unwrap_err().code, ErrorCode::ActionFailed);
        let slots = Action::Type {
            target: NodeId(1),
            value: Typed::Template {
                text: "{{/a|raw}}".to_owned(),
            },
            replace: true,
        };
        assert_eq!(check(slots).unwrap_err().code, ErrorCode::ActionFailed);
    }

    #[test]
    fn navigation_keys_and_options_are_checked() {
        assert_eq!(
            check(Action::Navigate {
                path: "/cart".to_owned()
            }),
            Ok(())
        );
        let away = check(Action::Navigate {
            path: "//evil.test/".to_owned(),
        })
        .unwrap_err();
        assert_eq!(away.code, ErrorCode::PolicyDenied);
        assert!(
            check(Action::Press {
                target: None,
                key: "Enter".to_owned(),
                times: 1,
            })
            .is_ok()
        );
        assert!(
            check(Action::Press {
                target: None,
                key: "Entre".to_owned(),
                times: 1,
            })
            .is_err()
        );
        assert!(
            check(Action::Select {
                target: NodeId(6),
                label: "Red".to_owned()
            })
            .is_ok()
        );
        let missing = check(Action::Select {
            target: NodeId(6),
            label: "Blue".to_owned(),
        })
        .unwrap_err();
        assert_eq!(
            missing.message,
            "combobox \"Colour\" has no option \"Blue\"; it has \"Red\""
        );
    }
}
