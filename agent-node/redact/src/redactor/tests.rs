use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::*;
use crate::Stream;

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

#[test]
fn encodings_go_wherever_the_value_stands_in_them() {
    let value = "hunter22?>\u{fc}";
    let redactor = redactor(&[("pw", value)]);
    let hex = hex::encode(value);
    let mut written = vec![
        hex.to_uppercase(),
        format!("0x{hex}"),
        value.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        value
            .chars()
            .map(|char| format!("&#{};", u32::from(char)))
            .collect(),
        value.bytes().map(|byte| format!("{byte:02x} ")).collect(),
    ];
    for before in ["", "u", "us", "user:"] {
        written.push(STANDARD.encode(format!("{before}{value}!")));
        written.push(URL_SAFE.encode(format!("{before}{value}")));
    }
    for written in written {
        let clean = redactor.text(&format!("Basic {written}."));
        assert!(clean.contains("<secret:pw>"), "{written} became {clean}");
        assert!(clean.len() < "Basic <secret:pw>.".len() + 12, "{clean}");
    }
}

#[test]
fn other_normal_forms_cases_and_gaps_go() {
    let redactor = redactor(&[("pw", "Caf\u{e9} \u{fb01}lter 9")]);
    for written in [
        "Cafe\u{301} \u{fb01}lter 9".to_owned(),
        "Caf\u{e9} filter 9".to_owned(),
        "CAF\u{c9} \u{fb01}LTER 9".nfd().collect(),
        "Caf\u{e9}\u{fb01}lter9".to_owned(),
        "Caf\u{e9}  \n \u{fb01}lter\t9".to_owned(),
        "C a f \u{e9} \u{fb01} l t e r 9".to_owned(),
        "Caf\u{e9}\u{200b} \u{fb01}l\u{2060}ter 9".to_owned(),
    ] {
        let clean = redactor.text(&format!("({written})"));
        assert_eq!(clean, "(<secret:pw>)", "{written}");
    }
}

#[test]
fn a_value_spread_over_texts_leaves_each() {
    let redactor = redactor(&[("pw", "hunter22")]);
    let letters = || "hunter22".chars().map(String::from);
    let mut texts: Vec<String> = ["the ".to_owned()].into_iter().chain(letters()).collect();
    texts.push(" end".to_owned());
    redactor.spread(&mut texts);
    assert_eq!((texts[0].as_str(), texts[9].as_str()), ("the ", " end"));
    assert!(
        texts[1..9].iter().all(|text| text == "<secret:pw>"),
        "{texts:?}"
    );

    let mut halves = ["is hun".to_owned(), String::new(), "ter22, yes".to_owned()];
    redactor.spread(&mut halves);
    assert_eq!(halves, ["is <secret:pw>", "", "<secret:pw>, yes"]);

    let mut apart = [
        "hun".to_owned(),
        "<secret:pw>".to_owned(),
        "ter22".to_owned(),
    ];
    redactor.spread(&mut apart);
    assert_eq!(apart[1], "<secret:pw>");
    assert_eq!(apart[0], "hun");
}

#[test]
fn a_cut_tail_goes_from_eight_letters_or_half_a_value_on() {
    let redactor = redactor(&[("long", "correct horse battery"), ("pin", "123456")]);
    assert_eq!(redactor.cut("say correct ", 12), "say <secret:long>");
    assert_eq!(redactor.cut("say Correct H", 13), "say <secret:long>");
    assert_eq!(
        redactor.cut("say correct", 12),
        "say correct",
        "not at its limit"
    );
    assert_eq!(redactor.cut("say correc", 10), "say correc");
    assert_eq!(redactor.cut("is 123", 6), "is <secret:pin>");
    assert_eq!(redactor.cut("is 12", 5), "is 12");
}

#[test]
fn a_piece_is_seen() {
    let redactor = redactor(&[("long", "correct-horse-battery"), ("pin", "123456")]);
    assert!(redactor.pieces("the HORSE-BAT flew"));
    assert!(!redactor.pieces("the horse"));
    assert!(redactor.pieces("0123456") && !redactor.pieces("12345"));
}

/// What stays possible, so that nobody believes otherwise.
#[test]
fn a_value_that_is_computed_with_stays() {
    let redactor = redactor(&[("pw", "hunter22")]);
    for residue in [
        "22retnuh",
        "er22",
        "uhtnre22",
        "f52fbd32b2b3b86ff88ef6c490628285f482af15",
    ] {
        assert_eq!(redactor.text(residue), residue);
        assert!(!redactor.pieces(residue));
    }
}

#[test]
fn rotated_values_stay_known() {
    let redactor = redactor(&[("pw", "hunter22")]).with("pw", &Secret::new("hunter33"));
    assert_eq!(
        redactor.text("hunter22 hunter33"),
        "<secret:pw> <secret:pw>"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_form_survives(
        value in r#"[a-zA-Z0-9 "'<>&/%+\\äß€\n]{6,20}"#,
        other in "[a-z0-9]{6,12}",
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
    ) {
        let all = || {
            let of = |value: &str| forms::written(value).into_iter().chain(forms::encoded(value));
            of(&value).chain(of(&other)).collect::<Vec<_>>()
        };
        let redactor = redactor(&[("one", &value), ("two", &other)]);
        for written in all() {
            let clean = redactor.text(&format!("{before}{written}{after}"));
            // Markers are ours; what is between them must not hold a value.
            let between = clean.replace("<secret:one>", "\u{0}").replace("<secret:two>", "\u{0}");
            for form in [&written, &value, &other] {
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

    #[test]
    fn pieces_of_text_are_redacted_as_the_whole(
        texts in prop::collection::vec("(hunter22|aHVudGVyMjI|<secret:pw>|hunt|er22|[ -~é]{0,9})", 0..8),
        cuts in prop::collection::vec(0usize..80, 0..6),
    ) {
        let redactor = redactor(&[("pw", "hunter22"), ("other", "22hunter")]);
        let whole = texts.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| whole.floor_char_boundary(cut)).collect();
        cuts.sort_unstable();
        let mut stream = Stream::new(&redactor);
        let mut passed = String::new();
        let mut at = 0;
        for cut in cuts.into_iter().chain([whole.len()]) {
            passed.push_str(&stream.push(&whole[at..cut]));
            at = cut;
        }
        passed.push_str(&stream.finish());
        prop_assert_eq!(passed, redactor.text(&whole));
    }
}
