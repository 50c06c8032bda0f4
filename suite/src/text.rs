//! Small things about text that several doors need: where an offset is, which word was meant.

use muster_proto::outcome::Place;

/// The place of byte `offset` in `text`; past the end means the end.
pub fn place(file: &str, text: &str, offset: usize) -> Place {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[line_start..].encode_utf16().count() + 1;
    Place {
        file: file.to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    }
}

/// The candidate that `word` was probably meant to be: at most one edit in three characters, case
/// aside.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::osa_distance(&word, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(edits, candidate)| edits * 3 <= candidate.len().max(word.len()))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// `` `a`, `b` or `c` ``; empty for no word.
pub fn alternatives<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units_from_one() {
        let text = "a\n💡é x";
        assert_eq!(
            place("f", text, 0),
            Place {
                file: "f".into(),
                line: 1,
                column: 1
            }
        );
        let offset = text.find('x').unwrap();
        assert_eq!(
            place("f", text, offset),
            Place {
                file: "f".into(),
                line: 2,
                column: 5
            }
        );
        assert_eq!(place("f", text, 999).line, 2);
    }

    #[test]
    fn a_far_word_is_no_suggestion() {
        assert_eq!(nearest("retires", ["retries", "timeout"]), Some("retries"));
        assert_eq!(nearest("wbe", ["mobile", "web"]), Some("web"));
        assert_eq!(nearest("zebra", ["retries", "timeout"]), None);
        assert_eq!(alternatives(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
