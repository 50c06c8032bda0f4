//! The spellings of a secret that are searched for: made here, without the product's own code.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use unicode_normalization::UnicodeNormalization as _;

/// A spelling and its name.
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Every form of a value, without those that another one equals.
pub(crate) fn forms(value: &str) -> Vec<Form> {
    let percent = |value: &str, upper: bool| -> String {
        let bytes = value.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        });
        bytes.collect()
    };
    let html = |value: &str| {
        let value = value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        (
            value.clone(),
            value.replace('"', "&quot;"),
            value.replace('"', "&#34;"),
        )
    };
    let json: String = value.replace('\\', "\\\\").replace('"', "\\\"");
    let ascii: String = json
        .chars()
        .map(|char| match char.is_ascii() {
            true => char.to_string(),
            false => format!("\\u{:04x}", u32::from(char)),
        })
        .collect();
    let (text, quot, number) = html(value);
    let hex = hex::encode(value);
    let mut named = vec![
        ("plain", value.to_owned()),
        ("lower case", value.to_lowercase()),
        ("upper case", value.to_uppercase()),
        ("NFD", value.nfd().collect()),
        ("percent", percent(value, true)),
        ("percent in lower case", percent(value, false)),
        ("form", percent(value, true).replace("%20", "+")),
        ("HTML text", text),
        ("HTML attribute", quot),
        ("HTML by number", number),
        (
            "JSON in JSON",
            json.replace('\\', "\\\\").replace('"', "\\\""),
        ),
        ("JSON", json),
        ("ASCII JSON", ascii),
        ("CSV", value.replace('"', "\"\"")),
        (
            "spaced",
            value
                .chars()
                .map(|char| format!("{char} "))
                .collect::<String>()
                .trim()
                .to_owned(),
        ),
        ("hex", hex.clone()),
        ("upper hex", hex.to_uppercase()),
    ];
    for offset in 0..3 {
        for (alphabet, engine) in [
            ("base64", &STANDARD_NO_PAD),
            ("base64url", &URL_SAFE_NO_PAD),
        ] {
            let name = ["", ", shifted by one", ", shifted by two"][offset];
            let shifted = [&b"\0\0\0"[..offset], value.as_bytes()].concat();
            let whole = engine.encode(&shifted);
            // Characters that neighbours have a part in say nothing.
            let (start, end) = ([0, 2, 3][offset], shifted.len() * 8 / 6);
            named.push((
                Box::leak(format!("{alphabet}{name}").into_boxed_str()),
                whole[start..end].to_owned(),
            ));
        }
    }
    let mut forms: Vec<Form> = Vec::new();
    for (name, text) in named {
        if !forms.iter().any(|form| form.bytes == text.as_bytes()) {
            forms.push(Form {
                name: name.to_owned(),
                bytes: text.into_bytes(),
            });
        }
    }
    forms
}

/// Where a form stands, each place once.
pub(crate) fn places(form: &[u8], bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(next) = bytes[from..].iter().position(|byte| *byte == form[0]) {
        let at = from + next;
        if bytes[at..].starts_with(form) {
            found.push(at);
        }
        from = at + 1;
    }
    found
}
