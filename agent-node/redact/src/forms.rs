//! The spellings of a value.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

/// Shortest value that can be protected, Unicode code points. Shorter ones would blank out common
/// words and are refused where they are used.
pub const MIN_LENGTH: usize = 6;

/// Every spelling of `value` that is looked for. ASCII letter case is ignored by the search; other
/// letters are here in both cases.
pub(crate) fn written(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    for base in bases(value) {
        escaped(&base, &mut forms);
        spelled_out(&base, &mut forms);
        spaced(&base, &mut forms);
        forms.insert(base);
    }
    forms.retain(|form| form.chars().count() >= MIN_LENGTH);
    forms
}

/// Whole-value encodings: base64 in both alphabets at each alignment, hex plain and separated.
pub(crate) fn encoded(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    for base in bases(value) {
        for offset in 0..3 {
            forms.extend(base64_at(base.as_bytes(), offset));
        }
        let digits: Vec<String> = base.bytes().map(|byte| format!("{byte:02x}")).collect();
        for separator in ["", " ", ":", "-", "\\x", ", 0x", ",0x", " 0x", "%"] {
            forms.insert(digits.join(separator));
        }
    }
    forms.retain(|form| form.len() >= MIN_LENGTH);
    forms
}

/// The value, its letter cases, its Unicode normal forms, and its whitespace otherwise.
fn bases(value: &str) -> BTreeSet<String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let mut spellings = vec![value.to_owned()];
    if words.len() > 1 || value.trim() != value {
        for gap in [" ", "", "\n", "\r\n", "\t", "\u{a0}", "&nbsp;"] {
            spellings.push(words.join(gap));
        }
    }
    let mut bases = BTreeSet::new();
    for spelling in spellings {
        for cased in [spelling.to_lowercase(), spelling.to_uppercase(), spelling] {
            if !cased.is_ascii() {
                bases.insert(cased.nfc().collect());
                bases.insert(cased.nfd().collect());
                bases.insert(cased.nfkc().collect());
                bases.insert(cased.nfkd().collect());
            }
            bases.insert(cased);
        }
    }
    bases.retain(|base: &String| base.chars().count() >= MIN_LENGTH);
    bases
}

/// As JSON, URLs, forms, HTML, CSV and our own messages write it.
fn escaped(base: &str, forms: &mut BTreeSet<String>) {
    let json = json_escaped(base);
    let ascii_json = ascii_only(&json);
    for escaped in [&json, &ascii_json] {
        forms.insert(escaped.replace('/', "\\/"));
        forms.insert(json_escaped(escaped));
    }
    let debug = format!("{base:?}");
    forms.insert(debug[1..debug.len() - 1].to_owned());
    forms.insert(json);
    forms.insert(ascii_json);
    for set in [NON_ALPHANUMERIC, COMPONENT, QUERY, PATH] {
        let once = utf8_percent_encode(base, set).to_string();
        forms.insert(once.replace('%', "%25"));
        forms.insert(once);
    }
    forms.insert(url::form_urlencoded::byte_serialize(base.as_bytes()).collect());
    for (double, single) in [
        ("&quot;", "&#39;"),
        ("&quot;", "&#x27;"),
        ("&quot;", "&apos;"),
        ("&#34;", "&#39;"),
        ("\"", "'"),
    ] {
        forms.insert(html_escaped(base, double, single));
    }
    forms.insert(base.replace('"', "\"\""));
}

/// Every character as an escape of its own.
fn spelled_out(base: &str, forms: &mut BTreeSet<String>) {
    let each = |spell: fn(char) -> String| base.chars().map(spell).collect::<String>();
    forms.insert(each(|char| format!("&#{};", u32::from(char))));
    forms.insert(each(|char| format!("&#x{:x};", u32::from(char))));
    let units: Vec<u16> = base.encode_utf16().collect();
    forms.insert(units.iter().map(|unit| format!("\\u{unit:04x}")).collect());
    forms.insert(base.bytes().map(|byte| format!("%{byte:02x}")).collect());
    forms.insert(base.bytes().map(|byte| format!("\\x{byte:02x}")).collect());
}

/// One separator between any two characters.
fn spaced(base: &str, forms: &mut BTreeSet<String>) {
    let tight: Vec<String> = base
        .chars()
        .filter(|char| !char.is_whitespace())
        .map(String::from)
        .collect();
    for separator in [
        " ", "  ", "\n", "\t", "\u{a0}", "-", ".", ",", ", ", "_", "|", "*",
    ] {
        forms.insert(tight.join(separator));
    }
}

/// What of the value's base64 is the same whatever stands before and after it, when the value starts
/// `offset` bytes into a group of three.
fn base64_at(value: &[u8], offset: usize) -> Vec<String> {
    let padded = [vec![0; offset], value.to_vec()].concat();
    // Six bits a letter: the first letters hold bits of what stands before, the last of what follows.
    let first = (offset * 8).div_ceil(6);
    let whole = padded.len() * 8 / 6;
    [
        STANDARD_NO_PAD.encode(&padded),
        URL_SAFE_NO_PAD.encode(&padded),
    ]
    .into_iter()
    .map(|text| text[first..whole].to_owned())
    .collect()
}

/// What `encodeURIComponent` leaves alone.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// What the URL standard escapes in a query.
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\'');

/// What the URL standard escapes in a path.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// JSON's spelling, without the quotes around it.
fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The same JSON with everything beyond ASCII as `\uXXXX`.
fn ascii_only(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for char in json.chars() {
        if char.is_ascii() {
            ascii.push(char);
        } else {
            for unit in char.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

fn html_escaped(text: &str, double: &str, single: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', double)
        .replace('\'', single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_any_alignment_in_longer_text() {
        let value = "hunter22";
        for before in ["", "a", "ab", "user:", "x: y="] {
            for after in ["", "!", "\n\n"] {
                let whole = STANDARD_NO_PAD.encode(format!("{before}{value}{after}"));
                let found = (0..3)
                    .flat_map(|offset| base64_at(value.as_bytes(), offset))
                    .any(|form| whole.contains(&form));
                assert!(found, "{before:?} {after:?} {whole}");
            }
        }
    }

    #[test]
    fn a_plain_value_has_few_forms() {
        let count = written("hunter22").len() + encoded("hunter22").len();
        assert!(count < 100, "{count}");
    }
}
