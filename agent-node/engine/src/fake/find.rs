//! Locators over a screen that is plain data: exact and substring text only.

use muster_suite::locator::{Locator, LocatorStep, States, TextMatch};

use crate::page::EngineError;
use crate::snapshot::{Found, Node, Snapshot};

/// Every match of `locator` on `screen`, in document order.
pub(super) fn find(screen: &Snapshot, locator: &Locator) -> Result<Vec<Found>, EngineError> {
    let roots = (0..screen.nodes.len()).filter(|&index| screen.nodes[index].depth == 0);
    let matches = resolve(screen, locator, &roots.collect::<Vec<_>>(), true)?;
    Ok(matches
        .into_iter()
        .map(|index| found(screen, index))
        .collect())
}

/// Applies the chain; `inclusive` lets the first step match a scope itself.
fn resolve(
    screen: &Snapshot,
    locator: &Locator,
    scopes: &[usize],
    inclusive: bool,
) -> Result<Vec<usize>, EngineError> {
    let mut current = scopes.to_vec();
    for (place, step) in locator.steps.iter().enumerate() {
        let from = if inclusive && place == 0 { 0 } else { 1 };
        let within = |current: &[usize]| {
            let mut nodes: Vec<usize> = current
                .iter()
                .flat_map(|&scope| subtree(screen, scope).skip(from))
                .collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        let mut keep = Vec::new();
        match step {
            LocatorStep::Role {
                role, name, states, ..
            } => {
                for index in within(&current) {
                    let node = &screen.nodes[index];
                    let named = name
                        .as_ref()
                        .map_or(Ok(true), |name| matches(name, &node.name))?;
                    if node.role == *role && named && agrees(states, node) {
                        keep.push(index);
                    }
                }
            }
            LocatorStep::Label { text, .. } => {
                for index in within(&current) {
                    let node = &screen.nodes[index];
                    if (node.value.is_some() || node.states.checked.is_some())
                        && matches(text, &node.name)?
                    {
                        keep.push(index);
                    }
                }
            }
            LocatorStep::Text { text, .. } => {
                for index in within(&current) {
                    if matches(text, &text_of(screen, index))? {
                        keep.push(index);
                    }
                }
                let all = keep.clone();
                keep.retain(|&index| {
                    !subtree(screen, index)
                        .skip(1)
                        .any(|inner| all.contains(&inner))
                });
            }
            LocatorStep::Placeholder { text, .. } => {
                for index in within(&current) {
                    if let Some(placeholder) = &screen.nodes[index].placeholder
                        && matches(text, placeholder)?
                    {
                        keep.push(index);
                    }
                }
            }
            LocatorStep::TestId { id, .. } => {
                keep = within(&current);
                keep.retain(|&index| screen.nodes[index].test_id.as_ref() == Some(id));
            }
            LocatorStep::Filter { has_text, has } => {
                for &index in &current {
                    let text = has_text
                        .as_ref()
                        .map_or(Ok(true), |text| matches(text, &text_of(screen, index)))?;
                    let inner = match has {
                        Some(has) => !resolve(screen, has, &[index], false)?.is_empty(),
                        None => true,
                    };
                    if text && inner {
                        keep.push(index);
                    }
                }
            }
            LocatorStep::Nth { index } => {
                let place = if *index < 0 {
                    current.len() as i64 + i64::from(*index)
                } else {
                    i64::from(*index)
                };
                keep.extend(
                    usize::try_from(place)
                        .ok()
                        .and_then(|place| current.get(place)),
                );
            }
        }
        current = keep;
    }
    Ok(current)
}

/// The node and its descendants.
fn subtree(screen: &Snapshot, index: usize) -> impl Iterator<Item = usize> + '_ {
    let depth = screen.nodes[index].depth;
    let below =
        (index + 1..screen.nodes.len()).take_while(move |&next| screen.nodes[next].depth > depth);
    std::iter::once(index).chain(below)
}

fn text_of(screen: &Snapshot, index: usize) -> String {
    let own = |node: &Node| {
        if node.text.is_empty() {
            node.name.clone()
        } else {
            node.text.clone()
        }
    };
    let texts = subtree(screen, index).map(|next| own(&screen.nodes[next]));
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn matches(want: &TextMatch, got: &str) -> Result<bool, EngineError> {
    let fold = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match want {
        TextMatch::Exact { text } => Ok(fold(text) == fold(got)),
        TextMatch::Substring { text } => Ok(fold(got)
            .to_lowercase()
            .contains(&fold(text).to_lowercase())),
        TextMatch::Pattern { .. } => Err(EngineError::Invalid(
            "a fake page has no regular expressions".into(),
        )),
    }
}

fn agrees(want: &States, node: &Node) -> bool {
    let has = &node.states;
    let same = |want: Option<bool>, got: bool| want.is_none_or(|want| want == got);
    same(want.checked, has.checked.unwrap_or(false))
        && same(want.disabled, has.disabled)
        && same(want.selected, has.selected.unwrap_or(false))
        && same(want.expanded, has.expanded.unwrap_or(false))
        && same(want.pressed, has.pressed.unwrap_or(false))
        && want.level.is_none_or(|level| node.level == Some(level))
}

fn found(screen: &Snapshot, index: usize) -> Found {
    let node = screen.nodes[index].clone();
    let text_content = node.value.clone().unwrap_or_else(|| text_of(screen, index));
    Found {
        visible: true,
        text_content,
        attribute: None,
        class: String::new(),
        node,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{node, screen};
    use super::*;

    fn list() -> Snapshot {
        let under = |node: Node| Node { depth: 1, ..node };
        screen(
            "http://shop/",
            "Shop",
            vec![
                node(1, "listitem", ""),
                under(Node {
                    text: "Tea".into(),
                    ..node(2, "", "")
                }),
                under(node(3, "button", "Add")),
                node(4, "listitem", ""),
                under(Node {
                    text: "Iced tea".into(),
                    ..node(5, "", "")
                }),
                under(node(6, "button", "Add")),
            ],
        )
    }

    fn ids(steps: Vec<LocatorStep>) -> Vec<u64> {
        find(&list(), &Locator { steps })
            .unwrap()
            .into_iter()
            .map(|found| found.node.id.0)
            .collect()
    }

    fn role(role: &str) -> LocatorStep {
        LocatorStep::Role {
            role: role.into(),
            name: None,
            states: States::default(),
            visible: false,
        }
    }

    #[test]
    fn chains_scope_filter_and_count() {
        let tea = || TextMatch::Substring { text: "TEA".into() };
        let iced = LocatorStep::Filter {
            has_text: Some(TextMatch::Substring {
                text: "iced".into(),
            }),
            has: None,
        };
        assert_eq!(ids(vec![role("listitem"), iced, role("button")]), [6]);
        assert_eq!(
            ids(vec![LocatorStep::Text {
                text: tea(),
                visible: false
            }]),
            [2, 5]
        );
        assert_eq!(
            ids(vec![role("button"), LocatorStep::Nth { index: -1 }]),
            [6]
        );
        assert!(ids(vec![role("button"), LocatorStep::Nth { index: 2 }]).is_empty());
        let has = Box::new(Locator {
            steps: vec![role("button"), LocatorStep::Nth { index: 0 }],
        });
        assert_eq!(
            ids(vec![
                role("listitem"),
                LocatorStep::Filter {
                    has_text: None,
                    has: Some(has)
                }
            ]),
            [1, 4]
        );
    }
}
