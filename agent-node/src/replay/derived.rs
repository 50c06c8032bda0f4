//! Values that an executor read off the screen or made for today: they must not be replayed, for
//! the next run has others.

use super::route::stored_route;
use super::template::Piece;
use super::volatile::{is_date, stretches};
use super::wording::{Wording, fold, masked};
use crate::harness::{Observation, Performed};
use muster_proto::action::{Action, Typed};

/// Shortest word with a digit that is taken for a token read off the screen, characters.
const MIN_TOKEN: usize = 3;

/// The rule by which a value is known not to come from the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derived {
    /// It is the whole text of an element.
    WholeNode,
    /// A word with a digit in it was on the screen.
    MintedToken,
    /// It looks like a date or a time.
    Date,
}

impl Derived {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Derived::WholeNode => "whole-node",
            Derived::MintedToken => "minted-token",
            Derived::Date => "date",
        }
    }
}

/// Whether typed text was derived. What instruction or params spell never is; neither is what was
/// typed before: a confirmation field shows it.
pub(super) fn derived_text(text: &str, so_far: &[Performed], wording: &Wording) -> Option<Derived> {
    if text.trim().is_empty() || wording.spells(text) {
        return None;
    }
    let (_, earlier) = so_far.split_last()?;
    let repeated = earlier.iter().any(|each| {
        matches!(
            &each.action,
            Action::Type { value: Typed::Literal { text: typed }, .. } | Action::TypeText { text: typed }
                if typed == text
        )
    });
    if repeated {
        return None;
    }
    let pieces = wording.template().pieces(text);
    let literals: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Literal(literal) => Some(*literal),
            Piece::Slot(_) => None,
        })
        .collect();
    let screens = || so_far.iter().map(|each| &*each.before);
    let whole = fold(text);
    if literals.len() == pieces.len()
        && screens().any(|screen| shows(screen, |shown| fold(shown) == whole))
    {
        return Some(Derived::WholeNode);
    }
    for literal in literals {
        for word in words(literal) {
            let token =
                word.chars().count() >= MIN_TOKEN && word.contains(|c: char| c.is_ascii_digit());
            if token
                && !wording.spells(word)
                && screens()
                    .any(|screen| shows(screen, |shown| words(shown).any(|each| each == word)))
            {
                return Some(Derived::MintedToken);
            }
        }
        let date = stretches(literal).into_iter().any(|range| {
            let stretch = &literal[range];
            is_date(stretch) && !wording.spells(stretch)
        });
        if date {
            return Some(Derived::Date);
        }
    }
    None
}

/// Whether a chosen label holds an id or a date that the goal does not spell.
pub(super) fn derived_label(label: &str, wording: &Wording) -> Option<Derived> {
    wording
        .stored(label)
        .is_some_and(|stored| masked(&stored))
        .then_some(Derived::MintedToken)
}

/// Whether an address holds a minted part that the goal does not spell.
pub(super) fn derived_address(path: &str, wording: &Wording) -> Option<Derived> {
    let minted = stored_route(path, wording)
        .split(['/', '=', '?', '&', '#'])
        .any(|part| part == ":id");
    (minted && !wording.spells(path)).then_some(Derived::MintedToken)
}

fn shows(screen: &Observation, found: impl Fn(&str) -> bool) -> bool {
    screen.nodes().iter().any(|node| {
        [
            Some(&node.name),
            Some(&node.text),
            Some(&node.description),
            node.value.as_ref(),
        ]
        .into_iter()
        .flatten()
        .any(|text| !text.is_empty() && found(text))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
        .map(|word| word.trim_matches(['-', '_']))
        .filter(|word| !word.is_empty())
}
