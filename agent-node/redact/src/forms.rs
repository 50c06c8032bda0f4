//! Every way of writing a value that is looked for.
//!
//! White space, quotes, backslashes and letter case are the skeleton's business (see
//! [`skeleton`](super::skeleton)); here is what changes the letters themselves.

use std::collections::BTreeSet;

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use muster_proto::guard::Guard;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::MIN_LENGTH;

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

/// All forms that the guards in force ask for.
pub(crate) fn all(value: &str) -> BTreeSet<String> {
    let mut forms = written(value);
    if Guard::RedactEncoded.holds() {
        for base in bases(value) {
            escaped(&base, &mut forms);
            encoded(&base, &mut forms);
        }
    }
    forms
}

/// The value itself: as it is, with white space folded, in either case.
pub(crate) fn written(value: &str) -> BTreeSet<String> {
    [value.to_owned(), folded(value)]
        .into_iter()
        .flat_map(|one| [one.to_lowercase(), one.to_uppercase(), one])
        .filter(|one| one.chars().count() >= MIN_LENGTH)
        .collect()
}

fn folded(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is encoded: the value as written or without white space, in every Unicode form.
fn bases(value: &str) -> BTreeSet<String> {
    let mut bases = written(value);
    let dropped: String = value.split_whitespace().collect();
    if dropped.chars().count() >= MIN_LENGTH {
        bases.insert(dropped);
    }
    if value.is_ascii() {
        return bases;
    }
    bases
        .into_iter()
        .flat_map(|base| {
            [
                base.nfc().collect(),
                base.nfd().collect(),
                base.nfkc().collect(),
                base.nfkd().collect(),
                base,
            ]
        })
        .collect()
}

/// As texts inside other texts: JSON, messages, HTML, addresses, forms.
pub(crate) fn escaped(base: &str, forms: &mut BTreeSet<String>) {
    forms.insert(base.to_owned());
    let json = json_escaped(base);
    let ascii_json = ascii_only(&json);
    for once in [&json, &ascii_json] {
        forms.insert(once.replace('/', "\\/"));
        forms.insert(json_escaped(once));
    }
    forms.extend([json, ascii_json]);
    // As our own messages quote it.
    let debug = format!("{base:?}");
    forms.insert(debug[1..debug.len() - 1].to_owned());
    let mut percent = BTreeSet::new();
    for set in [NON_ALPHANUMERIC, COMPONENT, QUERY, PATH] {
        percent.insert(utf8_percent_encode(base, set).to_string());
    }
    percent.insert(url::form_urlencoded::byte_serialize(base.as_bytes()).collect());
    // Escaped twice, as an address within an address is.
    forms.extend(percent.iter().map(|once| once.replace('%', "%25")));
    forms.extend(percent);
    for (double, single) in [
        ("&quot;", "&#39;"),
        ("&quot;", "&#x27;"),
        ("&quot;", "&apos;"),
        ("&#34;", "&#39;"),
        ("\"", "'"),
    ] {
        let html = html_escaped(base, double, single);
        forms.insert(html.replace('&', "&amp;"));
        forms.insert(html.replace([' ', '\u{a0}'], "&nbsp;"));
        forms.insert(numeric(&html, |char| !char.is_ascii()));
        forms.insert(html);
    }
    // Every character that is no letter or digit by number.
    forms.insert(numeric(base, |char| !char.is_ascii_alphanumeric()));
}

/// As something else altogether: base64, hex, every character by its number.
fn encoded(base: &str, forms: &mut BTreeSet<String>) {
    let bytes = base.as_bytes();
    for shift in 0..3 {
        for engine in [&STANDARD, &URL_SAFE] {
            let inside = base64_inside(engine, bytes, shift);
            if inside.contains(['+', '/']) {
                forms.insert(utf8_percent_encode(&inside, NON_ALPHANUMERIC).to_string());
            }
            forms.insert(inside);
        }
    }
    let hex: Vec<_> = bytes.iter().map(|byte| hex::encode([*byte])).collect();
    for between in ["", ":", "-", ",", ".", "_", "=", "x", "0x", ",0x", "%"] {
        forms.insert(hex.join(between));
    }
    let chars: Vec<_> = base.chars().map(String::from).collect();
    for between in ["-", ".", ",", "_", "|", "*"] {
        forms.insert(chars.join(between));
    }
    let each =
        |write: &dyn Fn(u32) -> String| base.chars().map(|char| write(char as u32)).collect();
    forms.insert(each(&|code| format!("&#{code};")));
    forms.insert(each(&|code| format!("&#x{code:x};")));
    forms.insert(each(&|code| format!("u{{{code:x}}}")));
    forms.insert(
        base.encode_utf16()
            .map(|unit| format!("u{unit:04x}"))
            .collect(),
    );
}

/// The part of a base64 text that these bytes alone decide, where `shift` bytes stand before them.
fn base64_inside(engine: &impl base64::Engine, bytes: &[u8], shift: usize) -> String {
    let mut all = vec![0; shift];
    all.extend_from_slice(bytes);
    let text = engine.encode(&all);
    // A character holds six bits.
    let (first, last) = ((shift * 8).div_ceil(6), all.len() * 8 / 6);
    text[first..last].to_owned()
}

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

/// Some characters as decimal references.
fn numeric(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for char in text.chars() {
        if which(char) {
            written.push_str(&format!("&#{};", char as u32));
        } else {
            written.push(char);
        }
    }
    written
}
