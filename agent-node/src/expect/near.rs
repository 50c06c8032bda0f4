//! What comes close to a locator that matches nothing: the difference between a message and a help.

use muster_engine::Node;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::locator::{Locator, LocatorStep, TextMatch};

/// Most neighbours that are told.
const MOST: usize = 8;

/// How alike two texts must be, 0 to 1.
const ALIKE: f64 = 0.72;

/// LOCATOR_NOT_FOUND with what is on the screen instead.
pub fn not_found(locator: &Locator, screen: &[Node]) -> Problem {
    let mut problem = Problem::new(ErrorCode::LocatorNotFound, message(locator, screen));
    problem.near = near(locator, screen);
    problem
}

/// At most eight locators that come close, best first.
pub fn near(locator: &Locator, screen: &[Node]) -> Vec<String> {
    let Some(step) = asked(locator) else {
        return Vec::new();
    };
    let mut close: Vec<(f64, String)> = screen
        .iter()
        .filter_map(|node| closeness(step, node).map(|score| (score, spelled(step, node))))
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut near: Vec<String> = Vec::new();
    for (_, spelling) in close {
        if near.len() < MOST && !near.contains(&spelling) {
            near.push(spelling);
        }
    }
    near
}

fn message(locator: &Locator, screen: &[Node]) -> String {
    let described = described(locator);
    let Some(LocatorStep::Role { role, name, .. }) = asked(locator) else {
        return format!("no element matches {described}");
    };
    let same: Vec<&Node> = screen.iter().filter(|node| node.role == *role).collect();
    let tail = match name {
        Some(TextMatch::Exact { .. }) if !same.is_empty() => {
            "; names match whole, use exact: false"
        }
        _ => "",
    };
    let names: Vec<_> = same
        .iter()
        .take(MOST)
        .map(|node| format!("{:?}", node.name))
        .collect();
    let more = if same.len() > names.len() {
        ", …"
    } else {
        ""
    };
    match same.len() {
        0 => format!("no element matches {described} (there is no {role} on the screen)"),
        1 => format!(
            "no element matches {described} (1 {role}: {}){tail}",
            names.join(", ")
        ),
        count => format!(
            "no element matches {described} ({count} {role}s: {}{more}){tail}",
            names.join(", ")
        ),
    }
}

/// The locator in words: `role "button" named "Pay"` when that is all of it.
fn described(locator: &Locator) -> String {
    match locator.steps.as_slice() {
        [
            LocatorStep::Role {
                role,
                name: Some(name @ TextMatch::Exact { .. }),
                ..
            },
        ] => {
            format!("role {role:?} named {name}")
        }
        [
            LocatorStep::Role {
                role,
                name: Some(name),
                ..
            },
        ] => format!("role {role:?} with a name {name}"),
        [
            LocatorStep::Role {
                role, name: None, ..
            },
        ] => format!("role {role:?}"),
        _ => locator.to_string(),
    }
}

/// The last link that asks for an element.
fn asked(locator: &Locator) -> Option<&LocatorStep> {
    locator
        .steps
        .iter()
        .rev()
        .find(|step| !matches!(step, LocatorStep::Filter { .. } | LocatorStep::Nth { .. }))
}

/// How close a node is to what a step asks for; none = not at all.
fn closeness(step: &LocatorStep, node: &Node) -> Option<f64> {
    let alike_enough = |want: &TextMatch, seen: &str| {
        Some(alike(text_of(want), seen)).filter(|score| *score >= ALIKE)
    };
    match step {
        LocatorStep::Role { role, name, .. } => {
            let score = name
                .as_ref()
                .map_or(0.0, |want| alike(text_of(want), &node.name));
            if node.role == *role && !node.name.is_empty() {
                return Some(1.0 + score);
            }
            Some(score).filter(|score| *score >= ALIKE && !node.role.is_empty())
        }
        LocatorStep::Label { text, .. } => alike_enough(text, &node.name).filter(|_| node.editable),
        LocatorStep::Text { text, .. } => alike_enough(
            text,
            if node.text.is_empty() {
                &node.name
            } else {
                &node.text
            },
        ),
        LocatorStep::Placeholder { text, .. } => alike_enough(text, node.placeholder.as_deref()?),
        LocatorStep::TestId { id, .. } => {
            Some(alike(id, node.test_id.as_deref()?)).filter(|score| *score >= ALIKE)
        }
        LocatorStep::Filter { .. } | LocatorStep::Nth { .. } => None,
    }
}

/// A locator of the same kind for this node, as a test would write it.
fn spelled(step: &LocatorStep, node: &Node) -> String {
    match step {
        LocatorStep::Role { .. } => {
            format!("getByRole({:?}, {{ name: {:?} }})", node.role, node.name)
        }
        LocatorStep::Label { .. } => format!("getByLabel({:?})", node.name),
        LocatorStep::Text { .. } => {
            format!(
                "getByText({:?})",
                if node.text.is_empty() {
                    &node.name
                } else {
                    &node.text
                }
            )
        }
        LocatorStep::Placeholder { .. } => {
            format!(
                "getByPlaceholder({:?})",
                node.placeholder.as_deref().unwrap_or_default()
            )
        }
        LocatorStep::TestId { .. } => format!(
            "getByTestId({:?})",
            node.test_id.as_deref().unwrap_or_default()
        ),
        LocatorStep::Filter { .. } | LocatorStep::Nth { .. } => String::new(),
    }
}

fn text_of(want: &TextMatch) -> &str {
    match want {
        TextMatch::Exact { text } | TextMatch::Substring { text } => text,
        TextMatch::Pattern { source, .. } => source,
    }
}

/// Likeness of two texts, 0 to 1; one that holds the other is alike.
fn alike(want: &str, seen: &str) -> f64 {
    let (want, seen) = (want.to_lowercase(), seen.to_lowercase());
    if want.is_empty() || seen.is_empty() {
        return 0.0;
    }
    if seen.contains(&want) || want.contains(&seen) {
        return 0.9;
    }
    strsim::jaro_winkler(&want, &seen)
}

#[cfg(test)]
mod tests {
    use muster_engine::fake::node;
    use muster_suite::locator::States;

    use super::*;

    fn role(role: &str, name: &str) -> Locator {
        let name = Some(TextMatch::Exact {
            text: name.to_owned(),
        });
        let step = LocatorStep::Role {
            role: role.to_owned(),
            name,
            states: States::default(),
            visible: false,
        };
        Locator { steps: vec![step] }
    }

    #[test]
    fn a_missing_button_names_its_neighbours() {
        let screen = [
            node(1, "button", "Back"),
            node(2, "button", "Help"),
            node(3, "button", "Pay now"),
            node(4, "link", "Pay"),
        ];
        let problem = not_found(&role("button", "Pay"), &screen);
        assert_eq!(
            problem.message,
            r#"no element matches role "button" named "Pay" (3 buttons: "Back", "Help", "Pay now"); names match whole, use exact: false"#
        );
        assert_eq!(
            problem.near[0],
            r#"getByRole("button", { name: "Pay now" })"#
        );
        assert!(
            problem
                .near
                .contains(&r#"getByRole("link", { name: "Pay" })"#.to_owned()),
            "{:?}",
            problem.near
        );
    }

    #[test]
    fn nothing_alike_is_said_too() {
        let problem = not_found(&role("button", "Pay"), &[node(1, "heading", "Welcome")]);
        assert_eq!(
            problem.message,
            r#"no element matches role "button" named "Pay" (there is no button on the screen)"#
        );
        assert!(problem.near.is_empty());
    }

    #[test]
    fn at_most_eight_and_each_once() {
        let screen: Vec<_> = (0..20)
            .map(|id| node(id, "button", &format!("Pay {}", id % 12)))
            .collect();
        let problem = not_found(&role("button", "Pay"), &screen);
        assert_eq!(problem.near.len(), 8);
        assert!(
            problem.message.contains("(20 buttons: ") && problem.message.contains(", …)"),
            "{problem}"
        );
    }

    #[test]
    fn test_ids_and_texts_have_neighbours() {
        let by_id = Locator {
            steps: vec![LocatorStep::TestId {
                id: "cart-total".to_owned(),
                visible: false,
            }],
        };
        let mut total = node(1, "", "");
        total.test_id = Some("cart_total".to_owned());
        assert_eq!(near(&by_id, &[total]), [r#"getByTestId("cart_total")"#]);
        let text = TextMatch::Exact {
            text: "Order placed".to_owned(),
        };
        let by_text = Locator {
            steps: vec![
                LocatorStep::Text {
                    text,
                    visible: false,
                },
                LocatorStep::Nth { index: 0 },
            ],
        };
        let mut shown = node(2, "", "");
        shown.text = "Order placed!".to_owned();
        assert_eq!(near(&by_text, &[shown]), [r#"getByText("Order placed!")"#]);
    }
}
