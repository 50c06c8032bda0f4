//! Expectations in words, for titles and failures.

use muster_suite::op::{LocatorMatcher, Texts};

/// The expectation in words.
pub(crate) fn wants(matcher: &LocatorMatcher) -> String {
    use LocatorMatcher as M;
    let texts = |want: &Texts| match want {
        Texts::One(one) => one.to_string(),
        Texts::List(many) => format!(
            "[{}]",
            many.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    match matcher {
        M::BeVisible {} => "to be visible".to_owned(),
        M::BeHidden {} => "to be hidden".to_owned(),
        M::BeAttached {} => "to be attached".to_owned(),
        M::BeEnabled {} => "to be enabled".to_owned(),
        M::BeDisabled {} => "to be disabled".to_owned(),
        M::BeChecked {} => "to be checked".to_owned(),
        M::BeSelected {} => "to be selected".to_owned(),
        M::BeExpanded {} => "to be expanded".to_owned(),
        M::BeFocused {} => "to be focused".to_owned(),
        M::HaveText { want } => format!("to have text {}", texts(want)),
        M::ContainText { want } => format!("to contain text {}", texts(want)),
        M::HaveValue { want } => format!("to have value {want}"),
        M::HaveAttribute { name, want: None } => format!("to have attribute {name}"),
        M::HaveAttribute {
            name,
            want: Some(want),
        } => format!("to have attribute {name}={want}"),
        M::HaveCount { count } => format!("to have count {count}"),
        M::HaveAccessibleName { want } => format!("to have accessible name {want}"),
        M::HaveClass { want } => format!("to have class {want}"),
    }
}
