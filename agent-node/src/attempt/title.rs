//! Steps in one line, for people.

use muster_proto::step::StepKind;
use muster_suite::locator::TextMatch;
use muster_suite::op::{BrowserMatcher, FillValue, Gesture, Op, OptionChoice, Read};

use crate::expect::words;
use crate::harness::Redactor;

/// Longest quoted text, characters.
const LONGEST: usize = 120;

/// Kind and title of a step. What is cut is redacted first, so that no half of a secret is left; the
/// whole is not yet redacted.
pub(super) fn title(op: &Op, redactor: &Redactor) -> (StepKind, String) {
    let short = |text: &str| short(text, redactor);
    let quoted = |text: &str| quoted(text, redactor);
    let not = |negated: &bool| if *negated { "not " } else { "" };
    match op {
        Op::AppOpen { path } if path.is_empty() => (StepKind::App, "open the app".to_owned()),
        Op::AppOpen { path } => (StepKind::App, format!("open {}", short(path))),
        Op::AppBack {} => (StepKind::App, "go back".to_owned()),
        Op::AppClearState {} => (StepKind::App, "clear the app's state".to_owned()),
        Op::BrowserGoto { url, .. } => (StepKind::Browser, format!("go to {}", short(url))),
        Op::BrowserReload {} => (StepKind::Browser, "reload".to_owned()),
        Op::BrowserBack {} => (StepKind::Browser, "go back".to_owned()),
        Op::BrowserForward {} => (StepKind::Browser, "go forward".to_owned()),
        Op::BrowserUrl {} => (StepKind::Browser, "read the URL".to_owned()),
        Op::BrowserTitle {} => (StepKind::Browser, "read the title".to_owned()),
        Op::BrowserWaitForUrl { url, .. } => (StepKind::Browser, format!("wait for URL {url}")),
        Op::Act {
            locator, gesture, ..
        } => (
            StepKind::Locator,
            act(gesture, &locator.to_string(), redactor),
        ),
        Op::WaitFor {
            locator, visible, ..
        } => {
            let state = if *visible { "visible" } else { "hidden" };
            (
                StepKind::Locator,
                format!("wait for {locator} to be {state}"),
            )
        }
        Op::Read { locator, what } => (
            StepKind::Locator,
            format!("read {} of {locator}", property(what)),
        ),
        Op::ExpectLocator {
            locator,
            matcher,
            negated,
            ..
        } => (
            StepKind::Assertion,
            format!("expect {locator} {}{}", not(negated), words::wants(matcher)),
        ),
        Op::ExpectBrowser {
            matcher, negated, ..
        } => {
            let (what, want): (_, &TextMatch) = match matcher {
                BrowserMatcher::HaveUrl { want } => ("URL", want),
                BrowserMatcher::HaveTitle { want } => ("title", want),
            };
            (
                StepKind::Assertion,
                format!("expect {what} {}to be {want}", not(negated)),
            )
        }
        Op::AgentAct(call) => (
            StepKind::Agent,
            format!("agent.act {}", quoted(&call.instruction)),
        ),
        Op::AgentAssert(call) => (
            StepKind::Agent,
            format!("agent.assert {}", quoted(&call.instruction)),
        ),
        Op::AgentWaitFor { call, .. } => (
            StepKind::Agent,
            format!("agent.waitFor {}", quoted(&call.instruction)),
        ),
        Op::AgentExtract { call, .. } => (
            StepKind::Agent,
            format!("agent.extract {}", quoted(&call.instruction)),
        ),
    }
}

fn act(gesture: &Gesture, on: &str, redactor: &Redactor) -> String {
    let quoted = |text: &str| quoted(text, redactor);
    match gesture {
        Gesture::Tap {} => format!("tap {on}"),
        Gesture::Fill {
            value: FillValue::Plain { text },
        } => format!("fill {on} with {}", quoted(text)),
        Gesture::Fill {
            value: FillValue::Secret { name },
        } => format!("fill {on} with secret {name:?}"),
        Gesture::Clear {} => format!("clear {on}"),
        Gesture::Press { key } => format!("press {key} on {on}"),
        Gesture::Check {} => format!("check {on}"),
        Gesture::Uncheck {} => format!("uncheck {on}"),
        Gesture::SelectOption { choice } => {
            let choice = match choice {
                OptionChoice::Label { label } => quoted(label),
                OptionChoice::Value { value } => format!("value {}", quoted(value)),
                OptionChoice::Index { index } => format!("number {index}"),
            };
            format!("select {choice} in {on}")
        }
        Gesture::SetInputFiles { files } => {
            format!("set the files of {on} to {}", quoted(&files.join(", ")))
        }
        Gesture::Hover {} => format!("hover {on}"),
        Gesture::Focus {} => format!("focus {on}"),
        Gesture::ScrollIntoView {} => format!("scroll to {on}"),
    }
}

fn property(what: &Read) -> &str {
    match what {
        Read::TextContent {} => "the text",
        Read::InputValue {} => "the value",
        Read::Attribute { name } => name,
        Read::IsEnabled {} => "whether it is enabled",
        Read::IsChecked {} => "whether it is checked",
        Read::IsVisible {} => "whether it is visible",
        Read::IsHidden {} => "whether it is hidden",
        Read::Count {} => "the number",
        Read::AllTextContents {} => "all texts",
        Read::BoundingBox {} => "the box",
    }
}

fn quoted(text: &str, redactor: &Redactor) -> String {
    format!("{:?}", short(text, redactor))
}

fn short(text: &str, redactor: &Redactor) -> String {
    let text = redactor.text(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use muster_proto::secret::Secret;
    use muster_suite::locator::{Locator, LocatorStep};
    use muster_suite::op::LocatorMatcher;

    use super::*;

    #[test]
    fn steps_read_like_sentences() {
        let pay = || Locator {
            steps: vec![LocatorStep::TestId {
                id: "pay".to_owned(),
                visible: false,
            }],
        };
        let act = |gesture| Op::Act {
            locator: pay(),
            gesture,
            timeout_ms: None,
        };
        for (op, expected) in [
            (
                Op::AppOpen {
                    path: "/cart".to_owned(),
                },
                "open /cart",
            ),
            (act(Gesture::Tap {}), r#"tap test id "pay""#),
            (
                act(Gesture::Fill {
                    value: FillValue::Plain {
                        text: "x".repeat(200),
                    },
                }),
                &format!("fill test id \"pay\" with \"{}…\"", "x".repeat(120)),
            ),
            (
                act(Gesture::Fill {
                    value: FillValue::Secret {
                        name: "pw".to_owned(),
                    },
                }),
                r#"fill test id "pay" with secret "pw""#,
            ),
            (
                Op::ExpectLocator {
                    locator: pay(),
                    matcher: LocatorMatcher::BeVisible {},
                    negated: true,
                    soft: false,
                    timeout_ms: None,
                },
                r#"expect test id "pay" not to be visible"#,
            ),
        ] {
            assert_eq!(title(&op, &Redactor::new(&BTreeMap::new())).1, expected);
        }
    }

    #[test]
    fn a_cut_leaves_no_half_of_a_secret() {
        let secrets = [("pw".to_owned(), Secret::new("correct-horse-battery"))].into();
        let op = Op::AppOpen {
            path: format!("/{}correct-horse-battery", "x".repeat(105)),
        };
        let title = title(&op, &Redactor::new(&secrets)).1;
        assert!(!title.contains("correct"), "{title}");
    }
}
