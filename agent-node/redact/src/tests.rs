use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    Redactor::new(
        &secrets
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
            .collect(),
    )
}

/// A text in which each run of one marker is one: a value over several lines leaves its marker in
/// each of them.
fn once(text: &str) -> String {
    let mut once = text.to_owned();
    for name in ["pw", "0", "1", "2", "3"] {
        let marker = secret::marker(name);
        while once.contains(&marker.repeat(2)) {
            once = once.replace(&marker.repeat(2), &marker);
        }
    }
    once
}

/// Fails unless every one of these ways of writing `value` goes, and nothing else.
fn check(value: &str, written: &[&str]) {
    let redactor = redactor(&[("pw", value)]);
    for written in written {
        assert_eq!(
            redactor.text(&format!("a <{written}> b")),
            "a <<secret:pw>> b",
            "{written}"
        );
    }
}

#[test]
fn every_escaped_form_goes() {
    check(
        r#"p&ss "w/rd" <é>'1"#,
        &[
            r#"p&ss "w/rd" <é>'1"#,
            r#"P&SS "W/RD" <É>'1"#,
            r#"p&ss \"w/rd\" <é>'1"#,
            r#"p&ss \"w\/rd\" <\u00e9>'1"#,
            r#"p&ss \\\"w/rd\\\" <é>'1"#,
            r#"p&ss ""w/rd"" <é>'1"#,
            "p%26ss%20%22w%2Frd%22%20%3C%C3%A9%3E'1",
            "p%26ss%20%22w%2frd%22%20%3c%c3%a9%3e%271",
            "p%2526ss%2520%2522w%252Frd%2522%2520%253C%25C3%25A9%253E%25271",
            "p%26ss+%22w%2Frd%22+%3C%C3%A9%3E%271",
            "p&amp;ss &quot;w/rd&quot; &lt;é&gt;&#39;1",
            "p&amp;ss &quot;w/rd&quot; &lt;&#233;&gt;&#39;1",
            "p&amp;ss \"w/rd\" &lt;é&gt;'1",
        ],
    );
}

#[test]
fn white_space_and_letter_case_do_not_hide_a_value() {
    check(
        "blue Horse 42",
        &[
            "blue Horse 42",
            "BLUE HORSE 42",
            "blue\u{a0}\u{a0}horse\n\t42",
            "blueHorse42",
            "b l u e h o r s e 4 2",
            "b\u{200b}lue ho\u{e0041}rse 42",
        ],
    );
}

#[test]
fn every_encoded_form_goes() {
    check(
        "hunter22",
        &[
            "68756e7465723232",
            "68756E7465723232",
            "68:75:6e:74:65:72:32:32",
            "68 75 6e 74 65 72 32 32",
            r"68\x75\x6e\x74\x65\x72\x32\x32",
            "68, 0x75, 0x6e, 0x74, 0x65, 0x72, 0x32, 0x32",
            "&#104;&#117;&#110;&#116;&#101;&#114;&#50;&#50;",
            "&#x68;&#x75;&#x6E;&#x74;&#x65;&#x72;&#x32;&#x32;",
        ],
    );
    let redactor = redactor(&[("pw", "hunter22"), ("tick", "a?>~ ~<?b")]);
    // `hunter22` and `user:hunter22`, `me:hunter22`, `it:hunter22!` in base64; cut, padded or not.
    for (written, told) in [
        ("aHVudGVyMjI=", "<secret:pw>I="),
        ("aHVudGVyMjI", "<secret:pw>I"),
        ("dXNlcjpodW50ZXIyMg==", "dXNlcjp<secret:pw>g=="),
        ("bWU6aHVudGVyMjI", "bWU6<secret:pw>I"),
        ("aXRzOmh1bnRlcjIyIQ==", "aXRzOm<secret:pw>IQ=="),
        ("aHVu\r\ndGVyMjI=", "<secret:pw>I="),
        ("SFVOVEVSMjI=", "<secret:pw>I="),
    ] {
        assert_eq!(redactor.text(written), told, "{written}");
    }
    for written in ["YT8+fiB+PD9i", "YT8-fiB-PD9i", "YT8%2BfiB%2BPD9i"] {
        assert_eq!(redactor.text(written), "<secret:tick>", "{written}");
    }
}

#[test]
fn every_unicode_form_goes() {
    let value = "Ünï-ﬁlé";
    for written in [
        "Ünï-ﬁlé",
        "U\u{308}ni\u{308}-ﬁle\u{301}",
        "Ünï-filé",
        "U\u{308}ni\u{308}-file\u{301}",
        "üNï-ﬁLé",
        "%C3%9Cn%C3%AF-fil%C3%A9",
    ] {
        check(value, &[written]);
    }
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
    assert_eq!(redactor.text("<secret:123456>"), "<secret:<secret:pin>>");
}

#[test]
fn short_values_are_left_alone() {
    let redactor = redactor(&[("pin", "12345")]);
    assert_eq!(redactor.text("12345"), "12345");
    assert!(!protectable(&Secret::new("12345")));
    assert!(protectable(&Secret::new("äöüäöü")));
}

#[test]
fn a_value_of_little_but_quotes_and_space_goes_as_it_is_written() {
    check(
        "a b \"c\"",
        &["a b \"c\"", "A B \"C\"", "a b &quot;c&quot;"],
    );
    assert_eq!(
        redactor(&[("pw", "a b \"c\"")]).text("abc, a b c"),
        "abc, a b c"
    );
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
fn a_rotated_value_stays_known() {
    let before = redactor(&[("pw", "hunter22")]);
    let after = before.with("pw", &Secret::new("winter33"));
    assert_eq!(after.text("hunter22 winter33"), "<secret:pw> <secret:pw>");
    assert_eq!(before.text("winter33"), "winter33");
}

#[test]
fn a_value_that_is_spread_goes_from_each_part() {
    let redactor = redactor(&[("pw", "hunter22")]);
    let mut texts = ["Password", "hun", "t", " ", "er22 is it", "hunt"].map(str::to_owned);
    redactor.spread(&mut texts);
    let pw = "<secret:pw>";
    assert_eq!(texts, ["Password", pw, pw, pw, "<secret:pw> is it", "hunt"]);
    let mut apart = ["hun", pw, "ter22"].map(str::to_owned);
    redactor.spread(&mut apart);
    assert_eq!(apart, ["hun", pw, "ter22"]);
}

#[test]
fn a_value_that_is_cut_goes() {
    let redactor = redactor(&[("long", "correct-horse-battery"), ("short", "hunter22")]);
    for (cut, told) in [
        ("it is correct-", "it is <secret:long>"),
        ("it is correct", "it is correct"),
        ("it is h u N t", "it is <secret:short>"),
        ("it is hun", "it is hun"),
        ("<secret:short> hunte", "<secret:short> <secret:short>"),
    ] {
        assert_eq!(redactor.cut(cut, cut.len()), told);
    }
    assert_eq!(
        redactor.cut("it is correct-", 16),
        "it is correct-",
        "not at its limit"
    );
}

#[test]
fn a_piece_gives_a_value_away() {
    let redactor = redactor(&[("long", "correct-horse-battery"), ("short", "hunter22")]);
    for piece in ["see t-horse-!", "ORSE-BAT", "hunter", "nter22"] {
        assert!(redactor.pieces(piece), "{piece}");
        assert!(!redactor.pieces(&redactor.without_pieces(piece)), "{piece}");
    }
    for none in ["correct", "horse ba", "hunte", "<secret:short>"] {
        assert!(!redactor.pieces(none), "{none}");
    }
    assert_eq!(
        redactor.without_pieces("it: -HORSE-batt"),
        "it: <secret:long>"
    );
}

/// What the redactor does not see, so that nobody believes it does.
#[test]
fn what_stays_possible() {
    let redactor = redactor(&[("card", "4012-8888-8888-1881")]);
    for stays in [
        // Reversed.
        "1881-8888-8888-2104",
        // The last four.
        "ends in 1881",
        // Only some characters by their number, where none needed it.
        "4&#48;12-8888-8888-1&#56;81",
        // Base32, and any digest.
        "GQYDCMRNHA4DQOBNHA4DQOBNGE4DQMI=",
    ] {
        assert_eq!(redactor.text(stays), stays);
    }
}

#[test]
fn long_text_is_searched_to_its_end() {
    let redactor = redactor(&[("pw", "hunter22")]);
    for gap in [BLOCK - 5, BLOCK, 3 * BLOCK - 2] {
        for filler in ["x", " ", "é"] {
            let text = format!(
                "{}hunt{}er22",
                filler.repeat(gap / filler.len()),
                " ".repeat(gap)
            );
            assert!(
                redactor.text(&text).ends_with("<secret:pw>"),
                "{gap} {filler}"
            );
        }
    }
}

#[test]
fn lines_hold_back_what_may_be_a_value() {
    let redactor = redactor(&[("pw", "hunter22")]);
    let mut lines = Lines::default();
    let mut push = |line: &str| {
        let told = lines.push(&redactor, (), line.to_owned());
        told.into_iter().map(|(_, line)| line).collect::<Vec<_>>()
    };
    assert_eq!(push("it begins."), ["it begins."]);
    assert_eq!(push("pw hun"), Vec::<String>::new());
    assert_eq!(push("ter"), Vec::<String>::new());
    assert_eq!(
        push("22 is it"),
        ["pw <secret:pw>", "<secret:pw>", "<secret:pw> is it"]
    );
    assert_eq!(push("x hun"), Vec::<String>::new());
    assert_eq!(push("dred"), ["x hun", "dred"]);
    assert_eq!(push("huh"), Vec::<String>::new());
    assert_eq!(lines.finish(&redactor), [((), "huh".to_owned())]);
}

/// Values with all that is awkward in them.
const VALUE: &str = r#"[a-zA-Z0-9 "'<>&/%+\\äß€ﬁ\n]{6,20}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_form_survives(
        value in VALUE,
        other in "[a-z0-9]{6,12}",
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
    ) {
        let redactor = redactor(&[("one", &value), ("two", &other)]);
        let forms = || forms::all(&value).into_iter().chain(forms::all(&other));
        for written in forms() {
            let clean = redactor.text(&format!("{before}{written}{after}"));
            // Markers are ours; what is between them must not hold a value.
            let between = clean.replace("<secret:one>", "\u{0}").replace("<secret:two>", "\u{0}");
            for form in forms() {
                prop_assert!(
                    !between.to_ascii_lowercase().contains(&form.to_ascii_lowercase()),
                    "{form:?} survives in {clean:?}"
                );
            }
            prop_assert_eq!(redactor.text(&clean), clean.clone());
            prop_assert!(redactor.clean(&clean));
        }
    }

    #[test]
    fn other_text_stays(text in "[a-f ]{0,40}") {
        prop_assert_eq!(redactor(&[("pw", "xyzxyz")]).text(&text), text);
    }

    #[test]
    fn text_in_pieces_reads_as_the_whole(
        values in proptest::collection::vec("[ab\"]{6,9}|[ab]{2}<secret:[ab]>", 1..4),
        text in r#"([ab]|[ab "]{1,4}|<secret:[0-3]>|é){0,40}"#,
        cuts in proptest::collection::vec(0usize..200, 0..12),
    ) {
        let named: Vec<_> = values.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect();
        let redactor = redactor(&named.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>());
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut lines = Lines::default();
        let mut told: Vec<((), String)> = Vec::new();
        for ends in cuts.windows(2) {
            told.extend(lines.push(&redactor, (), text[ends[0]..ends[1]].to_owned()));
        }
        told.extend(lines.finish(&redactor));
        prop_assert_eq!(told.len(), cuts.len() - 1, "each line is told once");
        let told: String = told.into_iter().map(|(_, line)| line).collect();
        prop_assert_eq!(once(&told), once(&redactor.text(&text)));
    }

    #[test]
    fn a_form_in_pieces_does_not_survive(value in VALUE, cut in 0usize..60) {
        let redactor = redactor(&[("pw", &value)]);
        for form in forms::all(&value) {
            let cut = form.floor_char_boundary(cut);
            let mut lines = Lines::default();
            let mut told = lines.push(&redactor, (), form[..cut].to_owned());
            told.extend(lines.push(&redactor, (), form[cut..].to_owned()));
            told.extend(lines.finish(&redactor));
            let told: String = told.into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(once(&told), once(&redactor.text(&form)));
        }
    }
}
