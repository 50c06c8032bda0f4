//! A goal's text as words, values and punctuation.

use std::ops::Range;

use serde_json::Value;

use super::goal::{Declined, Slot, below};
use super::words;
use crate::executor::decision::request::Offered;
use crate::executor::decision::values::closing;

/// A piece of a goal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// A word, lower-case, apostrophes dropped.
    Word {
        /// The word.
        text: String,
        /// It stands with a capital within a sentence.
        capitalized: bool,
        /// Where.
        span: Range<usize>,
    },
    /// `{key}` or quoted text.
    Slot {
        /// The value.
        slot: Slot,
        /// Where.
        span: Range<usize>,
    },
    /// A comma.
    Comma {
        /// Where.
        span: Range<usize>,
    },
    /// A full stop, semicolon, colon at a sentence's end, or exclamation mark.
    Stop {
        /// Where.
        span: Range<usize>,
    },
}

impl Piece {
    /// The values it may stand for.
    pub(super) fn values(&self) -> &[usize] {
        match self {
            Piece::Slot { slot, .. } => &slot.values,
            Piece::Word { .. } | Piece::Comma { .. } | Piece::Stop { .. } => &[],
        }
    }

    /// Where it stands.
    pub(super) fn span(&self) -> &Range<usize> {
        match self {
            Piece::Word { span, .. }
            | Piece::Slot { span, .. }
            | Piece::Comma { span }
            | Piece::Stop { span } => span,
        }
    }
}

/// Cuts a goal into pieces. A placeholder without a parameter and a question are declined.
pub(super) fn lex(goal: &str, params: &Value, values: &[Offered]) -> Result<Vec<Piece>, Declined> {
    let mut pieces = Vec::new();
    let mut quotes = values
        .iter()
        .enumerate()
        .filter(|(_, value)| matches!(value, Offered::Quoted { .. }));
    let mut at = 0;
    while let Some(c) = goal[at..].chars().next() {
        let next = at + c.len_utf8();
        let space_after = goal[next..].chars().next().is_none_or(char::is_whitespace);
        if let Some(inside) = closing(goal, at, c) {
            let end = next + inside;
            let end = end + goal[end..].chars().next().map_or(0, char::len_utf8);
            let Some((index, _)) = quotes.next() else {
                return Err(Declined(
                    "the goal quotes more texts than can be offered".to_owned(),
                ));
            };
            pieces.push(Piece::Slot {
                slot: Slot {
                    values: vec![index],
                    key: Vec::new(),
                    spoken: false,
                },
                span: at..end,
            });
            at = end;
        } else if c == '{' {
            let Some(length) = goal[at..].find('}') else {
                return Err(Declined(
                    "the goal has a `{` that is never closed".to_owned(),
                ));
            };
            let path = goal[next..at + length].trim();
            let pointer = format!("/{}", path.replace('.', "/"));
            let slot = below(&pointer, values, false);
            if slot.values.is_empty() {
                let known = params
                    .as_object()
                    .map(|fields| fields.keys().cloned().collect::<Vec<_>>().join(", "));
                let known = known
                    .filter(|keys| !keys.is_empty())
                    .unwrap_or_else(|| "none".to_owned());
                return Err(Declined(format!(
                    "the goal names {{{path}}}, which is no parameter (given: {known})"
                )));
            }
            at += length + 1;
            pieces.push(Piece::Slot {
                slot,
                span: at - length - 1..at,
            });
        } else if c.is_alphanumeric() {
            let end = word_end(goal, at);
            // "24.50" and "example.com" are one word each, as labels have them in pieces too.
            let first = pieces
                .last()
                .is_none_or(|piece| matches!(piece, Piece::Stop { .. }));
            for text in words::words(&goal[at..end]) {
                pieces.push(Piece::Word {
                    text,
                    capitalized: c.is_uppercase() && !first,
                    span: at..end,
                });
            }
            at = end;
        } else {
            match c {
                ',' if space_after => pieces.push(Piece::Comma { span: at..next }),
                '.' | ';' | '!' if space_after => pieces.push(Piece::Stop { span: at..next }),
                '?' => return Err(Declined("the goal is a question".to_owned())),
                _ => {}
            }
            at = next;
        }
    }
    Ok(pieces)
}

fn word_end(goal: &str, start: usize) -> usize {
    let mut end = start;
    let mut chars = goal[start..].char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let inner = matches!(c, '\'' | '’' | '.' | ',')
            && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if !c.is_alphanumeric() && !inner {
            break;
        }
        end = start + offset + c.len_utf8();
    }
    end
}
