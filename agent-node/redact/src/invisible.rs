//! Characters that nobody sees: they hide instructions from people and values from the redactor.

use std::borrow::Cow;

/// Zero-width, direction-changing and tag characters, and variation selectors beyond the emoji one.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text without its invisible characters; borrowed where there are none.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|char| !is_invisible(*char)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_goes_and_what_is_seen_stays() {
        assert_eq!(visible("p\u{200b}a\u{202e}y\u{e0041}"), "pay");
        for seen in ["plain", "naïve 日本 ❤\u{fe0f}", "a\u{a0}b"] {
            assert!(matches!(visible(seen), Cow::Borrowed(text) if text == seen));
        }
    }
}
