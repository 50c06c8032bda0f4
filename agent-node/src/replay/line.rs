//! Actions and targets in words, for people and for the executor that goes on after a hand-off.

use muster_proto::action::{Action, Target, Typed};
use muster_proto::secret::marker;

use super::describe::anonymous;
use super::screen::clip;

/// An action in words, e.g. `tap button "Add" in "Blue mug"`; at most 300 characters.
pub(super) fn action_line(action: &Action<Target>) -> String {
    let line = match action {
        Action::Tap { target } => format!("tap {}", target_line(target)),
        Action::Type { target, value } => {
            let value = match value {
                Typed::Literal { text } | Typed::Template { text } => format!("{text:?}"),
                Typed::Secret { name } => marker(name),
            };
            format!("type {value} into {}", target_line(target))
        }
        Action::Press {
            target: Some(target),
            key,
        } => format!("press {key} on {}", target_line(target)),
        Action::Press { target: None, key } => format!("press {key}"),
        Action::Select { target, label } => format!("select {label:?} in {}", target_line(target)),
        Action::Check {
            target,
            checked: true,
        } => format!("check {}", target_line(target)),
        Action::Check {
            target,
            checked: false,
        } => format!("uncheck {}", target_line(target)),
        Action::Hover { target } => format!("hover over {}", target_line(target)),
        Action::ScrollTo { target } => format!("scroll to {}", target_line(target)),
        Action::Navigate { path } => format!("go to {path}"),
        Action::Back {} => "go back".to_owned(),
    };
    clip(&line).to_owned()
}

/// A target in words, e.g. `button "Add" in "Blue mug"`.
pub(super) fn target_line(target: &Target) -> String {
    let role = if target.role.is_empty() {
        "element"
    } else {
        &target.role
    };
    let label = [
        Some(&target.name),
        Some(&target.text),
        target.placeholder.as_ref(),
        target.test_id.as_ref(),
    ]
    .into_iter()
    .flatten()
    .find(|text| !text.is_empty());
    let mut line = match label {
        Some(label) => format!("{role} {label:?}"),
        None if anonymous(target) => format!("unnamed {role}"),
        None => role.to_owned(),
    };
    if let Some(within) = &target.within {
        line.push_str(&format!(" in {within:?}"));
    }
    match target.checked {
        Some(true) => line.push_str(" (on)"),
        Some(false) => line.push_str(" (off)"),
        None => {}
    }
    if let Some(position) = target.position {
        line.push_str(&format!(" ({} of {})", position.index + 1, position.of));
    }
    line
}
