//! What one look says about an expectation. Pure.

use muster_engine::Found;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::locator::{Locator, TextMatch};
use muster_suite::op::{BrowserMatcher, LocatorMatcher, Texts};
use url::Url;

use super::text::{Fold, Wanted, folded};
use super::words::wants;
use crate::harness::called;

/// One look's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it holds; none = there is no element (or no field) to say it of, so neither it nor
    /// its opposite holds yet.
    pub holds: Option<bool>,
    /// What is wanted, e.g. `to have text "Paid"`.
    pub expected: String,
    /// What is seen, e.g. `text "Due"`.
    pub actual: String,
}

impl Outcome {
    /// Whether what the test wants is so, given that it may want the opposite.
    pub fn satisfied(&self, negated: bool) -> bool {
        self.holds.is_some_and(|holds| holds != negated)
    }
}

/// The attribute that a matcher needs from each match.
pub fn attribute(matcher: &LocatorMatcher) -> Option<&str> {
    match matcher {
        LocatorMatcher::HaveAttribute { name, .. } => Some(name),
        _ => None,
    }
}

/// Checks a matcher on every match of its locator.
///
/// # Errors
/// What no waiting mends: LOCATOR_AMBIGUOUS, POLICY_DENIED (a secure field's content, negated or
/// not), INVALID_ARGUMENT (a broken pattern).
pub fn check(
    matcher: &LocatorMatcher,
    locator: &Locator,
    found: &[Found],
) -> Result<Outcome, Problem> {
    use LocatorMatcher as M;
    if reads_content(matcher) && found.iter().any(|one| one.node.states.secure) {
        return Err(Problem::new(
            ErrorCode::PolicyDenied,
            format!("{locator} is a secure field; its content can't be checked, only its state"),
        ));
    }
    let expected = wants(matcher);
    match matcher {
        M::HaveCount { count } => {
            let holds = Some(found.len() == *count as usize);
            return Ok(Outcome {
                holds,
                expected,
                actual: format!("{} elements", found.len()),
            });
        }
        M::HaveText {
            want: Texts::List(want),
        } => return list(want, found, expected, |want, text| want.whole(text)),
        M::ContainText {
            want: Texts::List(want),
        } => return list(want, found, expected, |want, text| want.part(text)),
        _ => {}
    }
    let one = match found {
        [] => None,
        [one] => Some(one),
        _ => return Err(ambiguous(locator, found)),
    };
    let said = |holds: bool, actual: String| {
        Ok(Outcome {
            holds: Some(holds),
            expected: expected.clone(),
            actual,
        })
    };
    let Some(one) = one else {
        let holds = match matcher {
            M::BeVisible {} | M::BeAttached {} => Some(false),
            M::BeHidden {} => Some(true),
            _ => None,
        };
        return Ok(Outcome {
            holds,
            expected,
            actual: NOTHING.to_owned(),
        });
    };
    let states = &one.node.states;
    let state = |on: bool, yes: &str, no: &str| (on, (if on { yes } else { no }).to_owned());
    let compiled = |want, fold| {
        Wanted::new(want, fold).map_err(|why| Problem::new(ErrorCode::InvalidArgument, why))
    };
    let (holds, actual) = match matcher {
        M::BeVisible {} => state(one.visible, "visible", "hidden"),
        M::BeHidden {} => state(!one.visible, "hidden", "visible"),
        M::BeAttached {} => (true, "attached".to_owned()),
        M::BeEnabled {} => state(!states.disabled, "enabled", "disabled"),
        M::BeDisabled {} => state(states.disabled, "disabled", "enabled"),
        M::BeChecked {} => state(states.checked == Some(true), "checked", "not checked"),
        M::BeSelected {} => state(states.selected == Some(true), "selected", "not selected"),
        M::BeExpanded {} => state(states.expanded == Some(true), "expanded", "not expanded"),
        M::BeFocused {} => state(states.focused, "focused", "not focused"),
        M::HaveText {
            want: Texts::One(want),
        } => (
            compiled(want, Fold::Whitespace)?.whole(&one.text_content),
            quoted_text(&one.text_content),
        ),
        M::ContainText {
            want: Texts::One(want),
        } => (
            compiled(want, Fold::Whitespace)?.part(&one.text_content),
            quoted_text(&one.text_content),
        ),
        M::HaveValue { want } => match &one.node.value {
            Some(value) => (
                compiled(want, Fold::Raw)?.whole(value),
                format!("value {value:?}"),
            ),
            None => {
                return Ok(Outcome {
                    holds: None,
                    expected,
                    actual: format!("{} has no value", called(&one.node)),
                });
            }
        },
        M::HaveAttribute { name, want } => match (&one.attribute, want) {
            (None, _) => (false, format!("no attribute {name}")),
            (Some(value), None) => (true, format!("{name}={value:?}")),
            (Some(value), Some(want)) => (
                compiled(want, Fold::Raw)?.whole(value),
                format!("{name}={value:?}"),
            ),
        },
        M::HaveAccessibleName { want } => (
            compiled(want, Fold::Whitespace)?.whole(&one.node.name),
            format!("name {:?}", one.node.name),
        ),
        M::HaveClass { want } => (class(want, &one.class)?, format!("class {:?}", one.class)),
        M::HaveCount { .. }
        | M::HaveText {
            want: Texts::List(_),
        }
        | M::ContainText {
            want: Texts::List(_),
        } => {
            unreachable!("count and list forms are answered above")
        }
    };
    said(holds, actual)
}

/// Seen where no element matches.
pub(super) const NOTHING: &str = "no element matches";

/// Checks a matcher on the browser.
///
/// # Errors
/// INVALID_ARGUMENT for a broken pattern.
pub fn check_browser(
    matcher: &BrowserMatcher,
    app: &Url,
    url: &str,
    title: &str,
) -> Result<Outcome, Problem> {
    let invalid = |why| Problem::new(ErrorCode::InvalidArgument, why);
    match matcher {
        BrowserMatcher::HaveUrl { want } => {
            let absolute = absolute(want, app);
            let holds = Wanted::new(&absolute, Fold::Raw)
                .map_err(invalid)?
                .whole(url);
            Ok(Outcome {
                holds: Some(holds),
                expected: format!("to have URL {absolute}"),
                actual: format!("URL {url:?}"),
            })
        }
        BrowserMatcher::HaveTitle { want } => {
            let holds = Wanted::new(want, Fold::Whitespace)
                .map_err(invalid)?
                .whole(title);
            Ok(Outcome {
                holds: Some(holds),
                expected: format!("to have title {want}"),
                actual: format!("title {title:?}"),
            })
        }
    }
}

/// LOCATOR_AMBIGUOUS, with the first matches.
pub fn ambiguous(locator: &Locator, found: &[Found]) -> Problem {
    let first: Vec<_> = found.iter().take(4).map(|one| called(&one.node)).collect();
    let more = if found.len() > first.len() {
        ", …"
    } else {
        ""
    };
    Problem::new(
        ErrorCode::LocatorAmbiguous,
        format!(
            "{} elements match {locator} ({}{more}); narrow it with a name, filter() or first()",
            found.len(),
            first.join(", ")
        ),
    )
}

/// A relative address resolves on the app's; patterns stand as they are.
fn absolute(want: &TextMatch, app: &Url) -> TextMatch {
    match want {
        TextMatch::Exact { text } => TextMatch::Exact {
            text: app.join(text).map_or_else(|_| text.clone(), String::from),
        },
        TextMatch::Substring { .. } | TextMatch::Pattern { .. } => want.clone(),
    }
}

fn reads_content(matcher: &LocatorMatcher) -> bool {
    matches!(
        matcher,
        LocatorMatcher::HaveText { .. }
            | LocatorMatcher::ContainText { .. }
            | LocatorMatcher::HaveValue { .. }
            | LocatorMatcher::HaveAttribute { .. }
    )
}

fn list(
    want: &[TextMatch],
    found: &[Found],
    expected: String,
    fits: fn(&Wanted<'_>, &str) -> bool,
) -> Result<Outcome, Problem> {
    let mut holds = want.len() == found.len();
    for (want, one) in want.iter().zip(found) {
        let want = Wanted::new(want, Fold::Whitespace)
            .map_err(|why| Problem::new(ErrorCode::InvalidArgument, why))?;
        holds &= fits(&want, &one.text_content);
    }
    let texts: Vec<_> = found
        .iter()
        .map(|one| format!("{:?}", folded(&one.text_content)))
        .collect();
    Ok(Outcome {
        holds: Some(holds),
        expected,
        actual: format!("texts [{}]", texts.join(", ")),
    })
}

fn class(want: &TextMatch, classes: &str) -> Result<bool, Problem> {
    let wanted = Wanted::new(want, Fold::Whitespace)
        .map_err(|why| Problem::new(ErrorCode::InvalidArgument, why))?;
    Ok(match want {
        TextMatch::Pattern { .. } => wanted.whole(classes),
        TextMatch::Exact { .. } | TextMatch::Substring { .. } => {
            classes.split_whitespace().any(|class| wanted.whole(class))
        }
    })
}

fn quoted_text(text: &str) -> String {
    format!("text {:?}", folded(text))
}

#[cfg(test)]
mod tests {
    use muster_engine::Node;
    use muster_suite::locator::{LocatorStep, States};

    use super::*;

    fn locator() -> Locator {
        let step = LocatorStep::Role {
            role: "status".to_owned(),
            name: None,
            states: States::default(),
            visible: false,
        };
        Locator { steps: vec![step] }
    }

    fn found(text: &str) -> Found {
        Found {
            visible: true,
            text_content: text.to_owned(),
            ..Found::default()
        }
    }

    fn exact(text: &str) -> TextMatch {
        TextMatch::Exact {
            text: text.to_owned(),
        }
    }

    fn holds(matcher: &LocatorMatcher, found: &[Found]) -> Option<bool> {
        check(matcher, &locator(), found).unwrap().holds
    }

    #[test]
    fn states_read_as_they_are_and_missing_ones_as_off() {
        use LocatorMatcher as M;
        let mut one = found("");
        for off in [
            M::BeHidden {},
            M::BeDisabled {},
            M::BeChecked {},
            M::BeSelected {},
            M::BeExpanded {},
            M::BeFocused {},
        ] {
            assert_eq!(holds(&off, &[one.clone()]), Some(false), "{off:?}");
        }
        for on in [M::BeVisible {}, M::BeAttached {}, M::BeEnabled {}] {
            assert_eq!(holds(&on, &[one.clone()]), Some(true), "{on:?}");
        }
        one.visible = false;
        let states = &mut one.node.states;
        (states.disabled, states.focused) = (true, true);
        (states.checked, states.selected, states.expanded) = (Some(true), Some(true), Some(true));
        for on in [
            M::BeHidden {},
            M::BeDisabled {},
            M::BeChecked {},
            M::BeSelected {},
            M::BeExpanded {},
            M::BeFocused {},
        ] {
            assert_eq!(holds(&on, &[one.clone()]), Some(true), "{on:?}");
        }
        assert_eq!(holds(&M::BeVisible {}, &[one.clone()]), Some(false));
        assert_eq!(holds(&M::BeEnabled {}, &[one]), Some(false));
    }

    #[test]
    fn without_an_element_only_presence_is_known() {
        use LocatorMatcher as M;
        assert_eq!(holds(&M::BeVisible {}, &[]), Some(false));
        assert_eq!(holds(&M::BeHidden {}, &[]), Some(true));
        assert_eq!(holds(&M::BeAttached {}, &[]), Some(false));
        assert_eq!(holds(&M::HaveCount { count: 0 }, &[]), Some(true));
        let text = check(
            &M::HaveText {
                want: Texts::One(exact("x")),
            },
            &locator(),
            &[],
        )
        .unwrap();
        assert!(
            !text.satisfied(false) && !text.satisfied(true),
            "a missing element has no other text either"
        );
        assert_eq!(text.actual, "no element matches");
    }

    #[test]
    fn one_element_is_meant_unless_the_form_counts() {
        use LocatorMatcher as M;
        let two = [found("a"), found("b")];
        let problem = check(&M::BeVisible {}, &locator(), &two).unwrap_err();
        assert_eq!(problem.code, ErrorCode::LocatorAmbiguous);
        assert!(
            problem.message.starts_with("2 elements match status"),
            "{problem}"
        );
        assert_eq!(holds(&M::HaveCount { count: 2 }, &two), Some(true));
        let list = |texts: &[&str]| Texts::List(texts.iter().map(|text| exact(text)).collect());
        assert_eq!(
            holds(
                &M::HaveText {
                    want: list(&["a", "b"])
                },
                &two
            ),
            Some(true)
        );
        assert_eq!(
            holds(
                &M::HaveText {
                    want: list(&["b", "a"])
                },
                &two
            ),
            Some(false)
        );
        assert_eq!(
            holds(&M::HaveText { want: list(&["a"]) }, &two),
            Some(false)
        );
        assert_eq!(holds(&M::HaveText { want: list(&[]) }, &[]), Some(true));
        assert_eq!(
            holds(
                &M::ContainText {
                    want: list(&["a", ""])
                },
                &two
            ),
            Some(true)
        );
    }

    #[test]
    fn texts_values_attributes_names_and_classes() {
        use LocatorMatcher as M;
        let one = Found {
            node: Node {
                name: "Save  it".to_owned(),
                value: Some(" x ".to_owned()),
                ..Node::default()
            },
            text_content: "  Save\n it now ".to_owned(),
            attribute: Some("polite".to_owned()),
            class: "btn btn-primary".to_owned(),
            visible: true,
        };
        let pattern = |source: &str| TextMatch::Pattern {
            source: source.to_owned(),
            flags: String::new(),
        };
        for (matcher, expected) in [
            (
                M::HaveText {
                    want: Texts::One(exact("Save it now")),
                },
                true,
            ),
            (
                M::HaveText {
                    want: Texts::One(exact("Save it")),
                },
                false,
            ),
            (
                M::ContainText {
                    want: Texts::One(exact("Save it")),
                },
                true,
            ),
            (
                M::ContainText {
                    want: Texts::One(exact("save it")),
                },
                false,
            ),
            (M::HaveValue { want: exact(" x ") }, true),
            (M::HaveValue { want: exact("x") }, false),
            (
                M::HaveAttribute {
                    name: "aria-live".to_owned(),
                    want: None,
                },
                true,
            ),
            (
                M::HaveAttribute {
                    name: "aria-live".to_owned(),
                    want: Some(pattern("^pol")),
                },
                true,
            ),
            (
                M::HaveAttribute {
                    name: "aria-live".to_owned(),
                    want: Some(exact("pol")),
                },
                false,
            ),
            (
                M::HaveAccessibleName {
                    want: exact("Save it"),
                },
                true,
            ),
            (M::HaveClass { want: exact("btn") }, true),
            (
                M::HaveClass {
                    want: exact("btn btn-primary"),
                },
                false,
            ),
            (
                M::HaveClass {
                    want: pattern("btn btn-"),
                },
                true,
            ),
        ] {
            assert_eq!(
                holds(&matcher, std::slice::from_ref(&one)),
                Some(expected),
                "{matcher:?}"
            );
        }
        let broken = M::HaveText {
            want: Texts::One(pattern("(")),
        };
        assert_eq!(
            check(&broken, &locator(), &[one]).unwrap_err().code,
            ErrorCode::InvalidArgument
        );
    }

    #[test]
    fn what_is_no_field_has_no_other_value_either() {
        let value = LocatorMatcher::HaveValue { want: exact("x") };
        let outcome = check(&value, &locator(), &[found("x")]).unwrap();
        assert!(!outcome.satisfied(false) && !outcome.satisfied(true));
        assert!(outcome.actual.ends_with("has no value"), "{outcome:?}");
    }

    #[test]
    fn the_content_of_a_secure_field_is_nobodys_business() {
        use LocatorMatcher as M;
        let mut one = found("hunter22");
        one.node.states.secure = true;
        for matcher in [
            M::HaveText {
                want: Texts::One(exact("a")),
            },
            M::ContainText {
                want: Texts::List(vec![exact("a")]),
            },
            M::HaveValue { want: exact("a") },
            M::HaveAttribute {
                name: "value".to_owned(),
                want: None,
            },
        ] {
            let problem = check(&matcher, &locator(), &[one.clone()]).unwrap_err();
            assert_eq!(problem.code, ErrorCode::PolicyDenied, "{matcher:?}");
            assert!(!problem.message.contains("hunter22"));
        }
        assert_eq!(holds(&M::BeVisible {}, &[one]), Some(true));
    }

    #[test]
    fn addresses_resolve_on_the_app() {
        let app = Url::parse("http://shop.test/").unwrap();
        let url = |want| BrowserMatcher::HaveUrl { want };
        let at = |matcher: &BrowserMatcher| {
            check_browser(matcher, &app, "http://shop.test/cart?x=1", "The  cart")
                .unwrap()
                .holds
        };
        assert_eq!(at(&url(exact("/cart?x=1"))), Some(true));
        assert_eq!(at(&url(exact("http://shop.test/cart?x=1"))), Some(true));
        assert_eq!(at(&url(exact("/cart"))), Some(false));
        assert_eq!(
            at(&url(TextMatch::Pattern {
                source: "/cart".to_owned(),
                flags: String::new()
            })),
            Some(true)
        );
        assert_eq!(
            at(&BrowserMatcher::HaveTitle {
                want: exact("The cart")
            }),
            Some(true)
        );
    }
}
