//! Ids of tests and units, and what a title may be.

use muster_proto::canonical;
use muster_proto::id::{TestId, UnitId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

/// Longest title, UTF-8 bytes after normalization.
pub const MAX_TITLE: usize = 512;

/// Everything but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// `<file>::<title>::…`: the titles in Unicode NFC, percent-encoded; the file as it stands.
pub fn test_id<S: AsRef<str>>(file: &str, title_path: &[S]) -> TestId {
    let mut id = file.to_owned();
    for title in title_path {
        let normal: String = title.as_ref().nfc().collect();
        id.push_str("::");
        id.extend(utf8_percent_encode(&normal, RESERVED));
    }
    TestId(id)
}

/// The id of one expected result. `repeat` counts from 0; the first one has the id of a unit that
/// isn't repeated, so that a repeated run finds earlier durations.
pub fn unit_id(test: &TestId, target: &str, agent: &str, repeat: u32) -> UnitId {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Identity<'a> {
        test_id: &'a str,
        target_id: &'a str,
        agent: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        repeat: Option<u32>,
    }
    UnitId(canonical::digest(&Identity {
        test_id: test.as_str(),
        target_id: target,
        agent,
        repeat: (repeat > 0).then_some(repeat),
    }))
}

/// A title in its normal form.
///
/// # Errors
/// Which rule it breaks: 1 to [`MAX_TITLE`] bytes, no NUL.
pub fn title(text: &str) -> Result<String, String> {
    let normal: String = text.nfc().collect();
    if normal.is_empty() {
        return Err("a title is empty".to_owned());
    }
    if normal.len() > MAX_TITLE {
        return Err(format!(
            "a title has {} bytes; the most is {MAX_TITLE}",
            normal.len()
        ));
    }
    if normal.contains('\0') {
        return Err("a title holds a NUL character".to_owned());
    }
    Ok(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreserved_bytes_stay_and_others_are_encoded() {
        let id = test_id("tests/cart.e2e.ts", &["cart: a/b", "pays 5 € ~ok"]);
        assert_eq!(
            id.as_str(),
            "tests/cart.e2e.ts::cart%3A%20a%2Fb::pays%205%20%E2%82%AC%20~ok"
        );
    }

    #[test]
    fn two_spellings_of_one_title_are_one_id() {
        assert_eq!(test_id("f", &["cafe\u{301}"]), test_id("f", &["caf\u{e9}"]));
        assert_eq!(title("cafe\u{301}").unwrap(), "caf\u{e9}");
    }

    #[test]
    fn a_unit_is_named_by_all_its_coordinates() {
        let test = test_id("f", &["t"]);
        let first = unit_id(&test, "web", "default", 0);
        // SHA-256 of {"agent":"default","targetId":"web","testId":"f::t"}
        assert_eq!(
            first.as_str(),
            "c00d8df226a75f7386160e7d84f5a8a092be6437d8b7c5d8125f94a9ac27e69f"
        );
        for other in [
            unit_id(&test, "web", "default", 1),
            unit_id(&test, "shop", "default", 0),
            unit_id(&test, "web", "fast", 0),
            unit_id(&test_id("f", &["u"]), "web", "default", 0),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn titles_have_limits() {
        assert!(title("").unwrap_err().contains("empty"));
        assert!(title(&"é".repeat(257)).unwrap_err().contains("514 bytes"));
        assert!(title(&"é".repeat(256)).is_ok());
        assert!(title("a\0b").unwrap_err().contains("NUL"));
    }
}
