//! A described element on a live screen: exactly one, or none.

use muster_engine::{Node, NodeId};
use muster_proto::action::Target;

use super::line::target_line;
use super::screen::{Screen, clip, toggle};
use super::wording::Pattern;
use crate::harness::Observation;

/// By which rule an element was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// All that was recorded of it fits.
    Exact,
    /// All but its test id, which no element carries any more.
    WithoutTestId,
    /// Its test id and role; its name or text changed. Needs a second look.
    TestId,
}

impl Rung {
    /// How reports name a target that was not found as it was recorded; none = nothing to report.
    pub const fn relocated(self) -> Option<&'static str> {
        match self {
            Rung::Exact | Rung::WithoutTestId => None,
            Rung::TestId => Some("test-id"),
        }
    }
}

/// What a look for a target found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Exactly one.
    One {
        /// The element.
        node: NodeId,
        /// The rule.
        rung: Rung,
    },
    /// None.
    NotFound {
        /// What was looked for, and why what is there is not it.
        detail: String,
    },
    /// More than one, or another number of twins than was recorded.
    Ambiguous {
        /// What was looked for, and what there is.
        detail: String,
    },
}

/// Looks for `target`, with today's `unique()` values in it.
///
/// The row or group around it and a toggle's state are never loosened, twins need the recorded
/// number, and where something fits exactly but not alone nothing looser is tried.
pub fn locate(target: &Target, observation: &Observation) -> Match {
    let what = target_line(target);
    if observation.snapshot.truncated {
        return Match::NotFound {
            detail: format!("the screen was cut; {what} can't be told from twins"),
        };
    }
    let screen = Screen::new(observation);
    let wanted = Wanted::new(target);
    let id = |index: usize| screen.nodes()[index].id;

    let exact = wanted.exact(&screen);
    if let Some(position) = target.position {
        return match exact.get(position.index as usize) {
            Some(&index) if exact.len() == position.of as usize => Match::One {
                node: id(index),
                rung: Rung::Exact,
            },
            _ if exact.is_empty() => Match::NotFound {
                detail: format!("no element is {what}"),
            },
            _ => Match::Ambiguous {
                detail: format!(
                    "{} elements are {what}; there were {}",
                    exact.len(),
                    position.of
                ),
            },
        };
    }
    match exact[..] {
        [index] => {
            return Match::One {
                node: id(index),
                rung: Rung::Exact,
            };
        }
        [] => {}
        _ => {
            return Match::Ambiguous {
                detail: format!("{} elements are {what}", exact.len()),
            };
        }
    }
    let Some(test_id) = &wanted.test_id else {
        return Match::NotFound {
            detail: format!("no element is {what}"),
        };
    };

    let carriers: Vec<usize> = (0..screen.nodes().len())
        .filter(|&index| carries(&screen.nodes()[index], test_id))
        .collect();
    let named = !target.name.is_empty() || target.placeholder.is_some();
    let by_name = if named {
        wanted.without_test_id(&screen)
    } else {
        Vec::new()
    };
    if carriers.is_empty() {
        return match by_name[..] {
            [index] => Match::One {
                node: id(index),
                rung: Rung::WithoutTestId,
            },
            [] => Match::NotFound {
                detail: format!("no element is {what}"),
            },
            _ => Match::Ambiguous {
                detail: format!("{} elements are {what} but for the test id", by_name.len()),
            },
        };
    }
    let same: Vec<usize> = carriers
        .into_iter()
        .filter(|&index| wanted.fixed(&screen, index))
        .collect();
    match same[..] {
        // A test id that moved away from what it named is no proof of either.
        [_] if !by_name.is_empty() => Match::Ambiguous {
            detail: format!("the test id of {what} is now on another element than its name"),
        },
        [index] => Match::One {
            node: id(index),
            rung: Rung::TestId,
        },
        [] => Match::NotFound {
            detail: format!("no element is {what}; its test id is on another role, row or state"),
        },
        _ => Match::Ambiguous {
            detail: format!("{} elements carry the test id of {what}", same.len()),
        },
    }
}

/// A target ready to be compared with many nodes.
pub(super) struct Wanted<'t> {
    target: &'t Target,
    name: Pattern,
    text: Pattern,
    test_id: Option<Pattern>,
    placeholder: Option<Pattern>,
    within: Option<Pattern>,
}

impl<'t> Wanted<'t> {
    pub(super) fn new(target: &'t Target) -> Self {
        let pattern = |text: &Option<String>| text.as_deref().map(Pattern::new);
        Self {
            target,
            name: Pattern::new(&target.name),
            text: Pattern::new(&target.text),
            test_id: pattern(&target.test_id),
            placeholder: pattern(&target.placeholder),
            within: pattern(&target.within),
        }
    }

    /// Indices of the nodes that fit in all that was recorded.
    pub(super) fn exact(&self, screen: &Screen<'_>) -> Vec<usize> {
        self.filter(screen, |node| {
            self.test_id
                .as_ref()
                .is_none_or(|test_id| carries(node, test_id))
        })
    }

    /// The same, whatever their test id.
    fn without_test_id(&self, screen: &Screen<'_>) -> Vec<usize> {
        self.filter(screen, |_| true)
    }

    fn filter(&self, screen: &Screen<'_>, test_id: impl Fn(&Node) -> bool) -> Vec<usize> {
        (0..screen.nodes().len())
            .filter(|&index| {
                let node = &screen.nodes()[index];
                // Cheap comparisons first: most nodes fall at the role or the name.
                node.role == self.target.role
                    && self.name.matches(clip(&node.name))
                    && test_id(node)
                    && self.placeholder.as_ref().is_none_or(|wanted| {
                        node.placeholder
                            .as_deref()
                            .is_some_and(|live| wanted.matches(clip(live)))
                    })
                    && self.content(screen, index)
                    && self.fixed(screen, index)
            })
            .collect()
    }

    /// Own text tells only where neither name nor test id does.
    fn content(&self, screen: &Screen<'_>, index: usize) -> bool {
        !self.target.name.is_empty()
            || self.target.test_id.is_some()
            || self.text.matches(&screen.text(index))
    }

    /// What no rung loosens: role, row or group, a toggle's state.
    fn fixed(&self, screen: &Screen<'_>, index: usize) -> bool {
        let node = &screen.nodes()[index];
        node.role == self.target.role
            && toggle(node) == self.target.checked
            && screen.is_within(index, self.within.as_ref())
    }
}

fn carries(node: &Node, test_id: &Pattern) -> bool {
    node.test_id
        .as_deref()
        .is_some_and(|live| test_id.matches(clip(live)))
}

#[cfg(test)]
mod tests;
