//! Text that differs from run to run though nothing changed: minted ids, dates, clocks.
//!
//! Such a stretch is stored as [`MASK`]; at replay a mask stands for exactly one stretch that
//! looks minted too. Text around it stays as it is.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What stands in stored text where a minted id, a date or a clock stood. Text that holds `{{` of
/// its own is never recorded, so a mask can't be mistaken.
pub(super) const MASK: &str = "{{id}}";

const MONTH: &str = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|January|February|March|\
    April|June|July|August|September|October|November|December)";

/// Candidates, longest forms first. Digits and mixed words are judged in [`minted_word`].
static STRETCH: LazyLock<Regex> = LazyLock::new(|| {
    let day = r"(?:(?:Mon|Tues?|Wed|Thu|Thurs|Fri|Sat|Sun)[a-z]*,?\s)?";
    let alternatives = [
        // 2024-05-01, 2024-05-01T10:42:07.123Z
        r"\b\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?\b".to_owned(),
        // 01.05.2024, 5/1/24
        r"\b\d{1,2}[./-]\d{1,2}[./-]\d{2}(?:\d{2})?\b".to_owned(),
        // May 1, 2024; Wed, May 1; 1 May 2024; May 2024
        format!(r"\b{day}{MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b"),
        format!(r"\b{day}\d{{1,2}}(?:st|nd|rd|th)?\.?\s{MONTH}\.?(?:,?\s\d{{4}})?\b"),
        format!(r"\b{MONTH}\.?\s\d{{4}}\b"),
        // 10:42, 10:42:07 pm
        r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?(?:[AaPp][Mm]\b|[ap]\.m\.))?".to_owned(),
        // 3 minutes ago, just now, 12 s
        r"\b(?:\d+|an?|one|a few)\s(?:second|sec|minute|min|hour|day|week|month|year)s?\sago\b".to_owned(),
        r"\b[Jj]ust now\b".to_owned(),
        r"\b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?)\b".to_owned(),
        // #1042
        r"#\d+\b".to_owned(),
        // Words that may be minted.
        r"[A-Za-z0-9][A-Za-z0-9_-]*".to_owned(),
    ];
    Regex::new(&alternatives.join("|")).expect("the pattern is constant")
});

static UUID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
        .expect("the pattern is constant")
});

/// `ORD-4F7K2`, `INV-2024-0001`: an upper-case prefix, then parts of upper-case letters and digits.
static KEYED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Z]{2,10}(?:-[A-Z0-9]+)+$").expect("the pattern is constant"));

/// The stretches of `text` that look minted, in order, without overlap.
pub(super) fn stretches(text: &str) -> Vec<Range<usize>> {
    STRETCH
        .find_iter(text)
        .filter(|found| {
            let word = found.as_str();
            // Everything but the last alternative is volatile as it stands.
            let plain = word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            !plain || dated(word) || (minted_word(word) && !amount(text, found.range()))
        })
        .map(|found| found.range())
        .collect()
}

/// Whether all of `text` is one minted stretch, as a mask stands for.
pub(super) fn is_minted(text: &str) -> bool {
    let found = stretches(text);
    (found.len() == 1 && found[0] == (0..text.len()))
        // An id of random letters and digits may come out without a digit.
        || (KEYED.is_match(text) && text.rsplit('-').next().is_some_and(|last| last.len() >= 4))
}

/// Whether one word of letters, digits, `-` and `_` looks minted: a UUID, eight or more hex digits,
/// four or more digits, twelve or more characters of which two are digits, or `ABC-12`.
pub(super) fn minted_word(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return false;
    }
    let len = word.len();
    let hex = word.bytes().all(|b| b.is_ascii_hexdigit());
    (hex && len >= 8)
        || (digits == len && len >= 4)
        || (len >= 12 && digits >= 2)
        || KEYED.is_match(word)
        || UUID.is_match(word)
}

/// Whether a stretch is a date, a time or a duration rather than an id.
pub(super) fn is_date(stretch: &str) -> bool {
    dated(stretch) || stretch.contains([':', '/', '.', ' '])
}

/// Whether a stretch made of plain word characters came from one of the date forms.
fn dated(word: &str) -> bool {
    static DATED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(?:\d{4}-\d{2}-\d{2}|\d{1,2}-\d{1,2}-\d{2}(?:\d{2})?|\d+(?:ms|s|secs?|seconds?))$",
        )
        .expect("the pattern is constant")
    });
    DATED.is_match(word)
}

/// Whether the digits at `range` are part of an amount: `$1299`, `1,2990.00`, `1299.00`, `4000 €`.
fn amount(text: &str, range: Range<usize>) -> bool {
    if !text[range.clone()].bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let before = text[..range.start].trim_end().chars().next_back();
    let mut after = text[range.end..].chars();
    let (next, second) = (after.next(), after.next());
    before.is_some_and(|c| {
        "$€£¥₹".contains(c) || (",.".contains(c) && text[..range.start].ends_with(c))
    }) || (matches!(next, Some('.' | ',')) && second.is_some_and(|c| c.is_ascii_digit()))
        || text[range.end..]
            .trim_start()
            .starts_with(['€', '$', '£', '¥', '₹', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let mut out = text.to_owned();
        for range in stretches(text).into_iter().rev() {
            out.replace_range(range, "#");
        }
        out
    }

    #[test]
    fn ids_dates_and_clocks_are_masked_and_content_stays() {
        for (text, want) in [
            ("Order ORD-4F7K2 placed", "Order # placed"),
            ("INV-2024-0001", "#"),
            ("Order #12 placed", "Order # placed"),
            ("Order 104233 placed", "Order # placed"),
            ("3f2c1a9e-0d4b-4c55-9a77-1f2e3d4c5b6a", "#"),
            ("Ref deadbeef01", "Ref #"),
            ("Token a8Fk29xQpL0z", "Token #"),
            ("Saved at 10:42", "Saved at #"),
            ("Saved at 10:42:07 PM.", "Saved at #."),
            ("Saved 12 s ago", "Saved # ago"),
            ("Saved just now", "Saved #"),
            ("Edited 3 minutes ago by Bob", "Edited # by Bob"),
            ("Created 2024-05-01T10:42:07Z", "Created #"),
            ("Due 5/1/24", "Due #"),
            ("Due May 1, 2024", "Due #"),
            ("Wed, 1 May 2024", "#"),
            // Content.
            ("2 items in your cart", "2 items in your cart"),
            ("Cart (2)", "Cart (2)"),
            ("Total: $1299.00", "Total: $1299.00"),
            ("Total: $42.50", "Total: $42.50"),
            ("1299 €", "1299 €"),
            ("iPhone 15", "iPhone 15"),
            ("Sign in to continue", "Sign in to continue"),
            ("SIGN-OUT", "SIGN-OUT"),
            ("self-service-dashboard", "self-service-dashboard"),
            ("May the force", "May the force"),
        ] {
            assert_eq!(masked(text), want, "{text}");
        }
    }

    #[test]
    fn a_mask_stands_for_one_whole_stretch() {
        assert!(is_minted("ORD-4F7K2"));
        assert!(is_minted("ORD-KXQZP"), "random letters");
        assert!(is_minted("May 1, 2024"));
        assert!(!is_minted("ORD-4F7K2 and ORD-4F7K3"));
        assert!(!is_minted("SIGN-IN"));
        assert!(!is_minted("Alice"));
        assert!(!is_minted(""));
    }
}
