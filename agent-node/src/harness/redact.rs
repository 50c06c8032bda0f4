//! Takes secret values out of text: every known value, in every form that it may be written in,
//! becomes `<secret:name>`.
//!
//! Pure. Markers that stand in a text already are never rewritten, so redacting twice changes
//! nothing. Where values overlap, the whole stretch goes and the longest one names it.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use muster_engine::Snapshot;
use muster_proto::secret::{self, Secret};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// Shortest value that can be protected, Unicode code points. Shorter ones would blank out common
/// words and are refused where they are used.
pub(super) const MIN_LENGTH: usize = 6;

/// Whether a value is long enough to be protected.
pub(super) fn protectable(value: &Secret) -> bool {
    value.expose().chars().count() >= MIN_LENGTH
}

/// Knows an attempt's secret values.
pub struct Redactor {
    /// None where there is no value to look for.
    search: Option<AhoCorasick>,
    /// The marker of each pattern of `search`.
    markers: Vec<String>,
    /// Markers of every registered name: left as they are where they stand.
    known: Vec<String>,
    /// What is registered.
    values: Vec<(String, Secret)>,
}

impl Redactor {
    /// Registers every protectable value.
    pub fn new(secrets: &BTreeMap<String, Secret>) -> Self {
        let values = secrets.iter();
        Self::of(
            values
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// The same and one more; what is registered already stays so.
    pub fn with(&self, name: &str, value: &Secret) -> Self {
        let one = (name.to_owned(), value.clone());
        let known = self.values.iter().cloned();
        Self::of(
            known
                .filter(|each| *each != one)
                .chain([one.clone()])
                .collect(),
        )
    }

    fn of(values: Vec<(String, Secret)>) -> Self {
        let mut patterns = Vec::new();
        let mut markers = Vec::new();
        let mut known = Vec::new();
        for (name, value) in values.iter().filter(|(_, value)| protectable(value)) {
            let marker = secret::marker(name);
            for form in forms(value.expose()) {
                patterns.push(form);
                markers.push(marker.clone());
            }
            known.push(marker);
        }
        let search = (!patterns.is_empty()).then(|| {
            AhoCorasickBuilder::new()
                .match_kind(MatchKind::Standard)
                .ascii_case_insensitive(true)
                .build(&patterns)
                .expect("a few hundred short patterns are far below the automaton's limits")
        });
        Self {
            search,
            markers,
            known,
            values,
        }
    }

    /// The text without secret values.
    pub fn text(&self, text: &str) -> String {
        let Some(search) = &self.search else {
            return text.to_owned();
        };
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((start, marker)) = self.next_marker(rest) {
            scrub(search, &self.markers, &rest[..start], &mut clean);
            clean.push_str(marker);
            rest = &rest[start + marker.len()..];
        }
        scrub(search, &self.markers, rest, &mut clean);
        clean
    }

    /// Whether the text holds no secret value.
    pub fn clean(&self, text: &str) -> bool {
        self.text(text) == text
    }

    /// Whether any of these texts holds a secret value. For texts of our own making, without markers.
    pub fn finds<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        self.search
            .as_ref()
            .is_some_and(|search| texts.into_iter().any(|text| search.is_match(text)))
    }

    /// Redacts every string of a JSON value, keys included; a number that is a secret becomes text.
    pub fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, item)| (self.text(key), self.json(item)))
                .collect(),
            Value::Number(number) => {
                let (written, clean) = (number.to_string(), self.text(&number.to_string()));
                match clean == written {
                    true => value.clone(),
                    false => Value::String(clean),
                }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// Redacts every text of a screen.
    pub fn snapshot(&self, snapshot: &mut Snapshot) {
        if self.search.is_none() {
            return;
        }
        let one = |text: &mut String| {
            if !text.is_empty() {
                *text = self.text(text);
            }
        };
        let maybe = |text: &mut Option<String>| {
            if let Some(text) = text {
                one(text);
            }
        };
        one(&mut snapshot.url);
        one(&mut snapshot.title);
        for node in &mut snapshot.nodes {
            one(&mut node.role);
            one(&mut node.name);
            one(&mut node.description);
            one(&mut node.text);
            maybe(&mut node.value);
            maybe(&mut node.placeholder);
            maybe(&mut node.test_id);
            maybe(&mut node.href);
            one(&mut node.tag);
            one(&mut node.dom_id);
            node.options.iter_mut().for_each(one);
        }
    }

    fn next_marker(&self, text: &str) -> Option<(usize, &str)> {
        if !text.contains("<secret:") {
            return None;
        }
        self.known
            .iter()
            .filter_map(|marker| {
                text.find(marker.as_str())
                    .map(|start| (start, marker.as_str()))
            })
            .min_by_key(|(start, marker)| (*start, std::cmp::Reverse(marker.len())))
    }
}

/// Appends `text` to `clean`, each stretch of overlapping matches replaced by one marker.
fn scrub(search: &AhoCorasick, markers: &[String], text: &str, clean: &mut String) {
    let mut hits: Vec<_> = search
        .find_overlapping_iter(text)
        .map(|hit| (hit.start(), hit.end(), hit.pattern().as_usize()))
        .collect();
    hits.sort_by_key(|&(start, end, pattern)| (start, std::cmp::Reverse(end), pattern));
    let mut at = 0;
    let mut hits = hits.into_iter().peekable();
    while let Some((start, mut end, mut longest)) = hits.next() {
        let mut length = end - start;
        while let Some((next_start, next_end, pattern)) = hits.next_if(|next| next.0 < end) {
            end = end.max(next_end);
            if next_end - next_start > length {
                length = next_end - next_start;
                longest = pattern;
            }
        }
        clean.push_str(&text[at..start]);
        clean.push_str(&markers[longest]);
        at = end;
    }
    clean.push_str(&text[at..]);
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

/// Every spelling of `value` that is looked for. ASCII letter case is ignored by the search; other
/// letters are here in both cases.
fn forms(value: &str) -> BTreeSet<String> {
    let folded = value.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut forms = BTreeSet::new();
    for base in [
        value.to_owned(),
        folded,
        value.to_lowercase(),
        value.to_uppercase(),
    ] {
        if base.chars().count() < MIN_LENGTH {
            continue;
        }
        let json = json_escaped(&base);
        let ascii_json = ascii_only(&json);
        for escaped in [&json, &ascii_json] {
            forms.insert(escaped.replace('/', "\\/"));
            forms.insert(json_escaped(escaped));
        }
        // As our own messages quote it.
        let debug = format!("{base:?}");
        forms.insert(debug[1..debug.len() - 1].to_owned());
        forms.insert(json);
        forms.insert(ascii_json);
        for set in [NON_ALPHANUMERIC, COMPONENT, QUERY, PATH] {
            forms.insert(utf8_percent_encode(&base, set).to_string());
        }
        forms.insert(url::form_urlencoded::byte_serialize(base.as_bytes()).collect());
        for (double, single) in [
            ("&quot;", "&#39;"),
            ("&quot;", "&#x27;"),
            ("&quot;", "&apos;"),
            ("&#34;", "&#39;"),
            ("\"", "'"),
        ] {
            forms.insert(html_escaped(&base, double, single));
        }
        forms.insert(base);
    }
    forms
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

#[cfg(test)]
mod tests {
    use muster_engine::Node;
    use proptest::prelude::*;

    use super::*;

    fn redactor(secrets: &[(&str, &str)]) -> Redactor {
        Redactor::new(
            &secrets
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
                .collect(),
        )
    }

    #[test]
    fn every_named_form_goes() {
        let value = r#"p&ss "w/rd" <é>'1"#;
        let redactor = redactor(&[("shop", value)]);
        for written in [
            r#"p&ss "w/rd" <é>'1"#,
            r#"P&SS "W/RD" <É>'1"#,
            r#"p&ss \"w/rd\" <é>'1"#,
            r#"p&ss \"w\/rd\" <\u00e9>'1"#,
            r#"p&ss \\\"w/rd\\\" <é>'1"#,
            "p%26ss%20%22w%2Frd%22%20%3C%C3%A9%3E'1",
            "p%26ss%20%22w%2frd%22%20%3c%c3%a9%3e%271",
            "p%26ss+%22w%2Frd%22+%3C%C3%A9%3E%271",
            "p&amp;ss &quot;w/rd&quot; &lt;é&gt;&#39;1",
            "p&amp;ss \"w/rd\" &lt;é&gt;'1",
        ] {
            assert_eq!(
                redactor.text(&format!("a {written} b")),
                "a <secret:shop> b",
                "{written}"
            );
        }
    }

    #[test]
    fn the_longest_value_names_an_overlap_and_nothing_of_it_stays() {
        let redactor = redactor(&[
            ("long", "abcdef-ghijkl"),
            ("short", "abcdef"),
            ("tail", "ijklmnopqrst"),
        ]);
        assert_eq!(redactor.text("abcdef-ghijkl"), "<secret:long>");
        assert_eq!(
            redactor.text("abcdef abcdef-ghijklmnopqrst."),
            "<secret:short> <secret:long>."
        );
        assert_eq!(
            redactor.text("abcdefabcdef"),
            "<secret:short><secret:short>"
        );
    }

    #[test]
    fn a_marker_is_never_rewritten() {
        let redactor = redactor(&[("secret", "secret:secret"), ("pin", "123456")]);
        let once = redactor.text("pin 123456, secret:secret");
        assert_eq!(once, "pin <secret:pin>, <secret:secret>");
        assert_eq!(redactor.text(&once), once);
        assert!(redactor.clean(&once));
    }

    #[test]
    fn short_values_are_left_alone() {
        let redactor = redactor(&[("pin", "12345")]);
        assert_eq!(redactor.text("12345"), "12345");
        assert!(!protectable(&Secret::new("12345")));
        assert!(protectable(&Secret::new("äöüäöü")));
    }

    #[test]
    fn a_screen_keeps_no_value_anywhere() {
        let value = "hunter22 plus";
        let redactor = redactor(&[("pw", value)]);
        let text = || value.to_owned();
        let mut snapshot = Snapshot {
            url: "http://shop.test/?q=hunter22+plus".to_owned(),
            title: text(),
            nodes: vec![Node {
                role: text(),
                name: text(),
                description: text(),
                text: text(),
                value: Some(text()),
                placeholder: Some(text()),
                test_id: Some(text()),
                href: Some("/hunter22%20plus".to_owned()),
                tag: text(),
                dom_id: text(),
                options: vec![text()],
                ..Node::default()
            }],
            ..Snapshot::default()
        };
        redactor.snapshot(&mut snapshot);
        let told = serde_json::to_string(&snapshot).unwrap();
        assert!(!told.to_lowercase().contains("hunter22"), "{told}");
        assert_eq!(told.matches("<secret:pw>").count(), 13);
    }

    #[test]
    fn a_value_that_our_messages_quote_goes_too() {
        let value = "cafe\u{301}-passe\u{7f}";
        let quoted = format!("saw {:?}", format!("x {value}"));
        assert_eq!(
            redactor(&[("pw", value)]).text(&quoted),
            r#"saw "x <secret:pw>""#
        );
    }

    #[test]
    fn a_number_may_be_a_secret() {
        let redactor = redactor(&[("pin", "12345678")]);
        assert_eq!(
            redactor.json(&serde_json::json!([12_345_678, 1234])),
            serde_json::json!(["<secret:pin>", 1234])
        );
    }

    #[test]
    fn json_is_redacted_inside() {
        let redactor = redactor(&[("pw", "hunter22")]);
        let value = serde_json::json!({"a": ["x hunter22", 1], "hunter22": null});
        assert_eq!(
            redactor.json(&value),
            serde_json::json!({"a": ["x <secret:pw>", 1], "<secret:pw>": null})
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_form_survives(
            value in r#"[a-zA-Z0-9 "'<>&/%+\\äß€\n]{6,20}"#,
            other in "[a-z0-9]{6,12}",
            before in "[ -~]{0,12}",
            after in "[ -~]{0,12}",
        ) {
            let redactor = redactor(&[("one", &value), ("two", &other)]);
            for written in forms(&value).into_iter().chain(forms(&other)) {
                let clean = redactor.text(&format!("{before}{written}{after}"));
                // Markers are ours; what is between them must not hold a value.
                let between = clean.replace("<secret:one>", "\u{0}").replace("<secret:two>", "\u{0}");
                for form in forms(&value).into_iter().chain(forms(&other)) {
                    prop_assert!(
                        !between.to_ascii_lowercase().contains(&form.to_ascii_lowercase()),
                        "{form:?} survives in {clean:?}"
                    );
                }
                prop_assert_eq!(redactor.text(&clean), clean.clone());
            }
        }

        #[test]
        fn other_text_stays(text in "[a-f ]{0,40}") {
            prop_assert_eq!(redactor(&[("pw", "xyzxyz")]).text(&text), text);
        }
    }
}
