//! How text is stored so that it can be found again, and how stored text is compared.
//!
//! Stored: `unique()` values become slots, minted ids, dates and clocks become masks, unless the
//! instruction or a parameter spells them: then they belong to the goal and stay.

use serde_json::Value;

use super::template::{Collision, OPEN, Piece, Template, texts};
use super::volatile::{MASK, is_minted, stretches};

/// What a call knows of its texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Wording {
    template: Template,
    /// Instruction and parameters, folded, one a line.
    known: String,
}

impl Wording {
    /// The words of one call.
    ///
    /// # Errors
    /// As [`Template::new`].
    pub(super) fn new(
        instruction: &str,
        params: &Value,
        unique: &[String],
    ) -> Result<Self, Collision> {
        let mut leaves = Vec::new();
        texts(params, &mut String::new(), &mut leaves);
        let mut known = fold(instruction);
        for (_, text) in &leaves {
            known.push('\n');
            known.push_str(&fold(text));
        }
        Ok(Self {
            template: Template::new(params, unique)?,
            known,
        })
    }

    /// The slots.
    pub(super) fn template(&self) -> &Template {
        &self.template
    }

    /// Whether instruction or parameters spell `text`, as whole words.
    pub(super) fn spells(&self, text: &str) -> bool {
        let text = fold(text);
        let joins = |one: Option<char>, other: Option<char>| {
            one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
        };
        !text.is_empty()
            && self.known.match_indices(&text).any(|(at, _)| {
                let (before, after) = (&self.known[..at], &self.known[at + text.len()..]);
                !joins(before.chars().next_back(), text.chars().next())
                    && !joins(text.chars().next_back(), after.chars().next())
            })
    }

    /// `text` with slots; nothing masked. `None` = it holds `{{` of its own.
    pub(super) fn slotted(&self, text: &str) -> Option<String> {
        if text.contains(OPEN) {
            return None;
        }
        Some(
            self.template
                .pieces(text)
                .into_iter()
                .map(|piece| match piece {
                    Piece::Literal(literal) => literal.to_owned(),
                    Piece::Slot(slot) => slot,
                })
                .collect(),
        )
    }

    /// `text` with slots and masks. `None` = it holds `{{` of its own.
    pub(super) fn stored(&self, text: &str) -> Option<String> {
        if text.contains(OPEN) {
            return None;
        }
        let mut out = String::new();
        for piece in self.template.pieces(text) {
            match piece {
                Piece::Slot(slot) => out.push_str(&slot),
                Piece::Literal(literal) => {
                    let mut at = 0;
                    for range in stretches(literal) {
                        if self.spells(literal[range.clone()].trim_start_matches('#')) {
                            continue;
                        }
                        out.push_str(&literal[at..range.start]);
                        out.push_str(MASK);
                        at = range.end;
                    }
                    out.push_str(&literal[at..]);
                }
            }
        }
        Some(out)
    }
}

/// Whether stored text holds a mask.
pub(super) fn masked(stored: &str) -> bool {
    stored.contains(MASK)
}

/// Lower case, white space folded.
pub(super) fn fold(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Expanded stored text, ready to compare with many live texts.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// Equal, to the letter.
    Plain(String),
    /// Equal but for masks between these literals (two or more); each mask stands for one minted
    /// stretch.
    Masked(Vec<String>),
}

impl Pattern {
    pub(super) fn new(stored: &str) -> Self {
        if masked(stored) {
            Pattern::Masked(stored.split(MASK).map(str::to_owned).collect())
        } else {
            Pattern::Plain(stored.to_owned())
        }
    }

    pub(super) fn matches(&self, live: &str) -> bool {
        match self {
            Pattern::Plain(text) => text == live,
            Pattern::Masked(literals) => match &literals[..] {
                [first, middle @ .., last] => {
                    live.starts_with(first.as_str())
                        && live.ends_with(last.as_str())
                        && masks_fit(live, first.len(), middle, last)
                }
                _ => false,
            },
        }
    }
}

/// Whether `live`, from byte `start` on, is a minted stretch, then each of `middle` followed by
/// one, then `last`.
fn masks_fit(live: &str, start: usize, middle: &[String], last: &str) -> bool {
    let mut reached = vec![start];
    for literal in middle {
        let mut next: Vec<usize> = Vec::new();
        for &from in &reached {
            for (at, _) in live[from..].match_indices(literal.as_str()) {
                let end = from + at + literal.len();
                if !next.contains(&end) && is_minted(&live[from..from + at]) {
                    next.push(end);
                }
            }
        }
        reached = next;
    }
    let end = live.len() - last.len();
    reached
        .into_iter()
        .any(|from| from < end && is_minted(&live[from..end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn wording() -> Wording {
        let params =
            json!({ "name": "Alpha 81f3c2d9", "order": "ORD-7", "a|b}}": "Bob & Söhne 77" });
        let unique = ["/name".to_owned(), "/a|b}}".to_owned()];
        Wording::new("Cancel the order of May 1, 2024", &params, &unique).unwrap()
    }

    fn expand(stored: &str) -> String {
        wording().template().expand(stored).unwrap()
    }

    #[test]
    fn every_spelling_of_a_unique_value_is_a_slot_and_comes_back() {
        for text in [
            "Project Alpha 81f3c2d9 created",
            "/p/alpha-81f3c2d9/edit",
            "/p?q=Alpha%2081f3c2d9&x=1",
            "/p?q=Alpha+81f3c2d9",
            "Bob & Söhne 77",
            "bob-sohne-77",
        ] {
            let stored = wording().stored(text).unwrap();
            assert!(
                !stored.contains("81f3") && !stored.contains("77"),
                "{stored}"
            );
            assert_eq!(expand(&stored), text);
            assert!(Pattern::new(&expand(&stored)).matches(text));
        }
        assert_eq!(wording().stored("Alpha 81f3c2d9").unwrap(), "{{/name|raw}}");
        assert_eq!(
            wording().stored("/alpha-81f3c2d9").unwrap(),
            "/{{/name|slug}}"
        );
    }

    #[test]
    fn what_the_goal_spells_stays_and_what_the_app_mints_is_masked() {
        let wording = wording();
        assert_eq!(
            wording.stored("Order ORD-7 of May 1, 2024").unwrap(),
            "Order ORD-7 of May 1, 2024"
        );
        assert_eq!(
            wording.stored("Order ORD-8 of May 2, 2024").unwrap(),
            "Order {{id}} of {{id}}"
        );
        assert_eq!(wording.stored("{{ user.name }}"), None);

        let pattern = Pattern::new("Order {{id}} of {{id}}");
        assert!(pattern.matches("Order ORD-9XK of June 12, 2025"));
        assert!(!pattern.matches("Order of June 12, 2025"));
        assert!(!pattern.matches("Order Alice of June 12, 2025"));
        assert!(!pattern.matches("Order ORD-9XK of June 12, 2025 cancelled"));
    }

    #[test]
    fn values_that_text_cannot_tell_apart_are_refused() {
        for (params, unique) in [
            (json!({ "a": "Alpha", "b": "Alpha" }), vec!["/a"]),
            (json!({ "a": "Alpha", "b": "the Alpha list" }), vec!["/a"]),
            (json!({ "a": "My List", "b": ["x/my-list/y"] }), vec!["/a"]),
            (json!({ "a": "Alpha 1", "b": "Alpha 12" }), vec!["/a", "/b"]),
            (json!({ "a": "ab" }), vec!["/a"]),
            (json!({ "a": "x{{y" }), vec!["/a"]),
            (json!({ "a": 5 }), vec!["/a"]),
            (json!({ "a": "Alpha" }), vec!["/b"]),
        ] {
            let unique: Vec<String> = unique.into_iter().map(str::to_owned).collect();
            assert!(Wording::new("x", &params, &unique).is_err(), "{params}");
        }
    }

    #[test]
    fn an_unknown_slot_is_an_error() {
        for stored in [
            "{{/other|raw}}",
            "{{/name|upper}}",
            "{{/name}}",
            "{{/name|raw",
        ] {
            assert!(wording().template().expand(stored).is_err(), "{stored}");
        }
    }

    proptest! {
        /// A flow recorded with one value is the flow of any other.
        #[test]
        fn slots_carry_over_to_another_value(
            one in "[A-Z][a-z]{2,8} [0-9]{5,9}",
            two in "[A-Z][a-z]{2,8} [0-9]{5,9}",
            before in "[ -z]{0,12}",
            after in "[ -z]{0,12}",
        ) {
            let unique = ["/n".to_owned()];
            let first = Wording::new("", &json!({ "n": one }), &unique).unwrap();
            let second = Wording::new("", &json!({ "n": two }), &unique).unwrap();
            prop_assume!(!before.contains(&one) && !after.contains(&one));
            let stored = first.slotted(&format!("{before}{one}{after}")).unwrap();
            prop_assert_eq!(second.template().expand(&stored).unwrap(), format!("{before}{two}{after}"));
        }

        /// What is stored of a text matches that text.
        #[test]
        fn stored_text_matches_its_source(text in "[a-zA-Z0-9 #:/,.()$-]{0,60}") {
            let stored = Wording::default().stored(&text).unwrap();
            prop_assert!(Pattern::new(&stored).matches(&text), "{} from {}", stored, text);
        }
    }
}
