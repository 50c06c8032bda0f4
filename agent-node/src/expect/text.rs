//! Comparing text: exact, part or pattern.

use std::borrow::Cow;

use muster_suite::locator::TextMatch;
use regress::Regex;

/// How the seen text is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// Ends trimmed, runs of whitespace made one space; on both sides.
    Whitespace,
    /// As it stands.
    Raw,
}

/// A text to look for, ready to use.
pub(super) struct Wanted<'a> {
    want: &'a TextMatch,
    pattern: Option<Regex>,
    fold: Fold,
}

impl<'a> Wanted<'a> {
    /// Compiles a pattern; says what is wrong with it.
    pub(super) fn new(want: &'a TextMatch, fold: Fold) -> Result<Self, String> {
        let pattern = match want {
            TextMatch::Pattern { source, flags } => {
                // `g` and `y` only matter to repeated searches, `d` to indices.
                let flags: String = flags
                    .chars()
                    .filter(|flag| !matches!(flag, 'g' | 'y' | 'd'))
                    .collect();
                let regex = Regex::with_flags(source, flags.as_str())
                    .map_err(|error| format!("{want} is no regular expression: {error}"))?;
                Some(regex)
            }
            TextMatch::Exact { .. } | TextMatch::Substring { .. } => None,
        };
        Ok(Self {
            want,
            pattern,
            fold,
        })
    }

    /// Whether the whole text fits.
    pub(super) fn whole(&self, seen: &str) -> bool {
        let seen = self.prepare(seen);
        match (self.want, &self.pattern) {
            (TextMatch::Exact { text }, _) => self.prepare(text) == seen,
            (TextMatch::Substring { text }, _) => self
                .prepare(&seen)
                .to_lowercase()
                .contains(&self.prepare(text).to_lowercase()),
            (TextMatch::Pattern { .. }, pattern) => pattern
                .as_ref()
                .is_some_and(|regex| regex.find(&seen).is_some()),
        }
    }

    /// Whether a part of the text fits; letter case matters.
    pub(super) fn part(&self, seen: &str) -> bool {
        match self.want {
            TextMatch::Exact { text } => self.prepare(seen).contains(self.prepare(text).as_ref()),
            TextMatch::Substring { .. } | TextMatch::Pattern { .. } => self.whole(seen),
        }
    }

    fn prepare<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.fold {
            Fold::Whitespace => Cow::Owned(folded(text)),
            Fold::Raw => Cow::Borrowed(text),
        }
    }
}

/// Ends trimmed, runs of whitespace made one space.
pub(crate) fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> TextMatch {
        TextMatch::Exact {
            text: text.to_owned(),
        }
    }

    fn pattern(source: &str, flags: &str) -> TextMatch {
        TextMatch::Pattern {
            source: source.to_owned(),
            flags: flags.to_owned(),
        }
    }

    #[test]
    fn text_is_folded_and_values_are_not() {
        let want = exact(" Total\n 12 ");
        assert!(
            Wanted::new(&want, Fold::Whitespace)
                .unwrap()
                .whole("Total  12")
        );
        assert!(!Wanted::new(&want, Fold::Raw).unwrap().whole("Total 12"));
        assert!(
            !Wanted::new(&want, Fold::Whitespace)
                .unwrap()
                .whole("total 12")
        );
        assert!(
            Wanted::new(&want, Fold::Whitespace)
                .unwrap()
                .part("The Total 12 EUR")
        );
        assert!(
            !Wanted::new(&want, Fold::Whitespace)
                .unwrap()
                .part("the total 12 EUR")
        );
        let part = TextMatch::Substring {
            text: "TOTAL".to_owned(),
        };
        assert!(
            Wanted::new(&part, Fold::Whitespace)
                .unwrap()
                .whole("the total")
        );
    }

    #[test]
    fn patterns_are_javascript() {
        let fits = |source, flags, text| {
            Wanted::new(&pattern(source, flags), Fold::Whitespace)
                .unwrap()
                .whole(text)
        };
        assert!(fits(r"^Order #\d+$", "", "Order #12"));
        assert!(fits(r"(?<=€)\d+(?!\d)", "g", "€15"));
        assert!(fits("paid", "i", "PAID"));
        assert!(fits(r"\p{Lu}\u{e9}", "u", "Né"));
        assert!(!fits("^paid$", "", "unpaid"));
        let Err(why) = Wanted::new(&pattern("(", ""), Fold::Whitespace) else {
            panic!("it should not compile")
        };
        assert!(why.starts_with("/(/ is no regular expression"), "{why}");
    }
}
