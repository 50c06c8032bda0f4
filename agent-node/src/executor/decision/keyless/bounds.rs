//! What the keyless decider refuses before anything is done: goals that need a model.

use super::goal::Declined;
use super::lex::Piece;
use super::words::{self, Bag, stem};

/// Declines a goal that asks for more than a row of actions. `labels` are the words of everything
/// that can be acted on where the step starts: an ordinal or a quantity that stands on a label
/// ("First name", "Select all") is a name like any other.
pub(super) fn check(goal: &str, pieces: &[Piece], labels: &Bag) -> Result<(), Declined> {
    let mut before = "";
    for piece in pieces {
        let Piece::Word {
            text,
            capitalized,
            span,
        } = piece
        else {
            before = "";
            continue;
        };
        if let Some(what) = words::binding(text) {
            return Err(declined(&goal[span.clone()], what));
        }
        if text == "that" && matches!(before, "check" | "see") {
            return Err(declined(before, "a check"));
        }
        if let Some(what) =
            words::open_ended(text, *capitalized).filter(|_| !labels.has(&stem(text)))
        {
            return Err(declined(&goal[span.clone()], what));
        }
        before = text;
    }
    Ok(())
}

fn declined(word: &str, what: &str) -> Declined {
    Declined(format!(
        "{word:?} asks for {what}, which needs a model; quote the word if it stands on a label, or say each action"
    ))
}
