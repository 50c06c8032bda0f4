//! Text as the search sees it: without white space, quotes, backslashes and invisible characters,
//! letters in lower case.
//!
//! Each character is folded by itself, whatever stands around it. So a form that stands in a text
//! stands in the text's skeleton too, however its white space was widened, its quotes doubled or its
//! escapes escaped again.

use std::sync::LazyLock;

use super::invisible::is_invisible;

/// A byte that leaves nothing. Control characters never stay, so 0 and 1 are free.
const DROP: u8 = 0;

/// The first byte of a character that has to be looked at.
const LOOK: u8 = 1;

/// What each byte becomes.
const FOLD: [u8; 256] = {
    let mut fold = [DROP; 256];
    let mut byte = 0x21;
    while byte < 256 {
        fold[byte] = match byte as u8 {
            b'"' | b'\'' | b'\\' | 0x7f => DROP,
            // Letters with two cases, and what may be white space or invisible.
            0xc2..=0xd8 | 0xe1..=0xe3 | 0xef | 0xf3 => LOOK,
            upper @ b'A'..=b'Z' => upper.to_ascii_lowercase(),
            other => other,
        };
        byte += 1;
    }
    fold
};

/// What the characters of two bytes become: lower case, or zeros where they leave nothing.
static PAIRS: LazyLock<Vec<[u8; 2]>> = LazyLock::new(|| {
    (0x80..0x800u32)
        .map(|code| {
            let char = char::from_u32(code).expect("there are no surrogates below 0x800");
            let mut bytes = [0; 2];
            if !leaves_nothing(char) {
                let mut lower = char.to_lowercase();
                let one = match (lower.next(), lower.next()) {
                    (Some(one), None) if one.len_utf8() == 2 => one,
                    _ => char,
                };
                one.encode_utf8(&mut bytes);
            }
            bytes
        })
        .collect()
});

fn leaves_nothing(char: char) -> bool {
    char.is_whitespace() || char.is_control() || is_invisible(char)
}

/// A character that has to be looked at: its length, and what it becomes.
#[inline]
fn look(text: &str, pairs: &[[u8; 2]], at: usize) -> (usize, Option<[u8; 4]>) {
    let bytes = text.as_bytes();
    let [first, second] = [bytes[at], bytes[at + 1]];
    if first < 0xe0 {
        let code = usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f);
        let [one, two] = pairs[code - 0x80];
        return (2, (one != 0).then_some([one, two, 0, 0]));
    }
    look_closer(text, at)
}

fn look_closer(text: &str, at: usize) -> (usize, Option<[u8; 4]>) {
    let char = text[at..].chars().next().expect("a character starts here");
    let mut bytes = [0; 4];
    char.encode_utf8(&mut bytes);
    (char.len_utf8(), (!leaves_nothing(char)).then_some(bytes))
}

/// Appends the skeleton of `text` to `skeleton`.
pub(crate) fn squeeze(text: &str, skeleton: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let first = skeleton.len();
    skeleton.resize(first + bytes.len(), 0);
    let room = &mut skeleton[first..];
    let pairs = PAIRS.as_slice();
    let (mut at, mut kept) = (0, 0);
    while at < bytes.len() {
        // Eight plain characters at once, without a branch for each.
        if let Some(&eight) = bytes[at..].first_chunk::<8>()
            && u64::from_le_bytes(eight) & 0x8080_8080_8080_8080 == 0
            && let Some(to) = room[kept..].first_chunk_mut::<8>()
        {
            let mut more = 0;
            for byte in eight {
                let folded = FOLD[byte as usize];
                to[more & 7] = folded;
                more += usize::from(folded != DROP);
            }
            at += 8;
            kept += more;
            continue;
        }
        let folded = FOLD[bytes[at] as usize];
        if folded == LOOK {
            let (length, becomes) = look(text, pairs, at);
            if let Some(becomes) = becomes {
                room[kept..kept + length].copy_from_slice(&becomes[..length]);
                kept += length;
            }
            at += length;
        } else {
            room[kept] = folded;
            kept += usize::from(folded != DROP);
            at += 1;
        }
    }
    skeleton.truncate(first + kept);
}

/// The skeleton of a short text.
pub(crate) fn of(text: &str) -> Vec<u8> {
    let mut skeleton = Vec::new();
    squeeze(text, &mut skeleton);
    skeleton
}

/// How many characters a skeleton has.
pub(crate) fn chars(skeleton: &[u8]) -> usize {
    skeleton.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Length of the first `count` characters of a skeleton, bytes.
pub(crate) fn head(skeleton: &[u8], count: usize) -> usize {
    (0..skeleton.len())
        .filter(|at| skeleton[*at] & 0xc0 != 0x80)
        .nth(count)
        .unwrap_or(skeleton.len())
}

/// Turns stretches of the skeleton of `text`, in order and apart, into stretches of the text.
pub(crate) fn locate(text: &str, stretches: &mut [(usize, usize)]) {
    let (bytes, pairs) = (text.as_bytes(), PAIRS.as_slice());
    let (mut at, mut kept) = (0, 0);
    // Goes to the character that holds the skeleton's byte `goal`; tells where it starts and ends.
    let mut reach = |goal: usize| loop {
        let folded = FOLD[bytes[at] as usize];
        let (length, stays) = match folded {
            LOOK => {
                let (length, becomes) = look(text, pairs, at);
                (length, if becomes.is_some() { length } else { 0 })
            }
            DROP => (1, 0),
            _ => (1, 1),
        };
        if kept + stays > goal {
            let mut end = at + length;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            return (at, end);
        }
        at += length;
        kept += stays;
    };
    for (start, end) in stretches {
        *start = reach(*start).0;
        *end = reach(*end - 1).1;
    }
}

/// Where the last `count` bytes of the skeleton of `text` start in the text.
pub(crate) fn back(text: &str, count: usize) -> usize {
    let (mut end, mut kept) = (text.len(), 0);
    for (at, char) in text.char_indices().rev() {
        if kept >= count {
            break;
        }
        end = at;
        kept += match FOLD[text.as_bytes()[at] as usize] {
            DROP => 0,
            LOOK if leaves_nothing(char) => 0,
            _ => char.len_utf8(),
        };
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tells_values_apart_stays() {
        let text = "A \\\"b\\\"\u{a0}É\u{200b}ж\u{e0041}漢";
        assert_eq!(of(text), "abéж漢".as_bytes());
        let mut all = [(0, 2), (2, 4), (6, 9)];
        locate(text, &mut all);
        let told: Vec<_> = all.iter().map(|(start, end)| &text[*start..*end]).collect();
        assert_eq!(told, ["A \\\"b", "É", "漢"]);
        assert_eq!(&text[back(text, 5)..], "ж\u{e0041}漢");
    }
}
