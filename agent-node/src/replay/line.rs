//! Actions and targets in words, for people and for executors.

use muster_proto::action::{Action, Target, Typed};
use muster_proto::secret::marker;

use super::describe::anonymous;
use super::screen::clip;

/// An action in words, e.g. `tap button "Add" in "Blue mug"`; at most 300 characters.
pub(super) fn action_line(action: &Action<Target>) -> String {
    clip(&words(action.clone().map(|target| target_line(&target)))).to_owned()
}

/// An action in words, its elements as they are called.
pub fn words(action: Action<String>) -> String {
    let on = |target: Option<String>, word: &str| match target {
        Some(target) => format!(" {word} {target}"),
        None => String::new(),
    };
    let times = |times: u32| match times {
        1 => String::new(),
        times => format!(", {times} times"),
    };
    match action {
        Action::Tap { target } => format!("tap {target}"),
        Action::DoubleTap { target } => format!("double tap {target}"),
        Action::LongPress { target, hold_ms } => format!("press {target} for {hold_ms} ms"),
        Action::RightClick { target } => format!("right click {target}"),
        Action::Drag { target, to } => format!("drag {target} to {to}"),
        Action::Type {
            target,
            value,
            replace,
        } => {
            let value = match value {
                Typed::Literal { text } | Typed::Template { text } => format!("{text:?}"),
                Typed::Secret { name } => marker(&name),
            };
            let place = if replace { "into" } else { "at the end of" };
            format!("type {value} {place} {target}")
        }
        Action::TypeText { text } => format!("type {text:?}"),
        Action::Press {
            target,
            key,
            times: often,
        } => format!("press {key}{}{}", on(target, "on"), times(often)),
        Action::Select { target, label } => format!("select {label:?} in {target}"),
        Action::Check { target, checked } => {
            format!("{} {target}", if checked { "check" } else { "uncheck" })
        }
        Action::Hover { target } => format!("hover over {target}"),
        Action::Scroll {
            target,
            direction,
            times: often,
        } => {
            let direction = direction.as_str();
            format!("scroll {direction}{}{}", on(target, "in"), times(often))
        }
        Action::ScrollTo { target } => format!("scroll to {target}"),
        Action::ScrollUntil {
            target,
            text,
            direction,
        } => format!(
            "scroll {} to {text:?}{}",
            direction.as_str(),
            on(target, "in")
        ),
        Action::Upload { target, files } => format!("upload {} to {target}", files.join(", ")),
        Action::Navigate { path } => format!("go to {path}"),
        Action::Back {} => "go back".to_owned(),
    }
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
