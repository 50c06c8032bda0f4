use muster_proto::action::{Action, Target, Typed};
use muster_proto::recording::{RecordedAction, RecordedBy, SCHEMA};
use proptest::prelude::*;

use super::super::fixture::screen;
use super::*;

/// The anchor of the first node of a screen of its own.
fn anchor(line: &str) -> Anchor {
    let observation = screen("/", line);
    anchor_of(&Screen::new(&observation), 0, &Wording::default()).unwrap()
}

fn recording(end_route: &str, appeared: &[&str], gone: &[&str]) -> Recording {
    let target = Target {
        role: "button".to_owned(),
        name: "Add".to_owned(),
        ..Target::default()
    };
    let typed = Action::Type {
        target: Target {
            role: "textbox".to_owned(),
            name: "Name".to_owned(),
            ..Target::default()
        },
        value: Typed::Literal {
            text: "Bob".to_owned(),
        },
        replace: true,
    };
    let action = |action| RecordedAction {
        action,
        summary: String::new(),
        quiet: false,
    };
    Recording {
        schema: SCHEMA,
        actions: vec![action(typed), action(Action::Tap { target })],
        summary: String::new(),
        start_route: "/".to_owned(),
        end_route: end_route.to_owned(),
        appeared: appeared.iter().map(|line| anchor(line)).collect(),
        gone: gone.iter().map(|line| anchor(line)).collect(),
        end_wait_ms: 0,
        recorded_by: RecordedBy {
            executor: "e".to_owned(),
            version: "1".to_owned(),
        },
        truncated: None,
    }
}

/// Judges a flow that stays on one screen.
fn stays(recording: &Recording, before: &str, after: &str) -> End {
    let (before, after) = (screen("/", before), screen("/", after));
    check_end(
        recording,
        &Seen {
            start: &before,
            baseline: &before,
            before_last: &before,
            end: &after,
        },
    )
}

fn why(end: End) -> String {
    match end {
        End::Holds => "holds".to_owned(),
        End::NotYet { why } => why,
    }
}

const BEFORE: &str = "heading Items\nbutton Add\nlistitem Milk\n";
const AFTER: &str = "heading Items\nbutton Add\nstatus ~Saved\nlistitem Bread\ncheckbox Bought +on\ntextbox Size =XL\n";
const APPEARED: [&str; 4] = [
    "status ~Saved",
    "listitem Bread",
    "checkbox Bought +on",
    "textbox Size =XL",
];

#[test]
fn the_recorded_end_holds() {
    let recording = recording("/", &APPEARED, &["listitem Milk"]);
    assert_eq!(stays(&recording, BEFORE, AFTER), End::Holds);
}

#[test]
fn no_recorded_effect_may_be_missing() {
    let recording = recording("/", &APPEARED, &["listitem Milk"]);
    for (from, to) in [
        ("status ~Saved\n", ""),
        ("status ~Saved\n", "status ~Not saved\n"),
        ("listitem Bread\n", ""),
        ("listitem Bread\n", "listitem Bread rolls\n"),
        ("listitem Bread\n", "link Bread\n"),
        ("+on", "-off"),
        ("=XL", "=L"),
        ("button Add\n", "button Add\nlistitem Milk\n"),
    ] {
        let mutated = AFTER.replace(from, to);
        assert_ne!(mutated, AFTER);
        assert_ne!(
            stays(&recording, BEFORE, &mutated),
            End::Holds,
            "{from} -> {to}"
        );
    }
}

#[test]
fn text_is_compared_by_shape_and_content() {
    let recording = recording("/", &["status ~Order ORD-4F7K2: 2 items, May 1, 2024"], &[]);
    for (text, holds) in [
        ("status ~Order ORD-9ZZZ9: 2 items, June 12, 2025", true),
        ("status ~Order ORD-9ZZZ9: 3 items, June 12, 2025", false),
        ("status ~Order : 2 items, June 12, 2025", false),
    ] {
        assert_eq!(
            stays(&recording, BEFORE, text) == End::Holds,
            holds,
            "{text}"
        );
    }
}

#[test]
fn another_route_is_another_end() {
    let recording = recording("/done/:id", &["heading Done"], &[]);
    let (start, end) = (screen("/", BEFORE), |at| screen(at, "heading Done"));
    let judged = |end: &Observation| {
        check_end(
            &recording,
            &Seen {
                start: &start,
                baseline: end,
                before_last: &start,
                end,
            },
        )
    };
    assert_eq!(
        judged(&end("/done/42")),
        End::Holds,
        "the last action moved there"
    );
    assert_ne!(judged(&end("/done")), End::Holds);
    assert_ne!(judged(&end("/")), End::Holds);
}

#[test]
fn a_screen_reached_earlier_needs_an_effect_of_its_own() {
    let recording = recording("/cart", &["heading Cart", "status ~Coupon applied"], &[]);
    let (start, cart) = (screen("/", BEFORE), screen("/cart", "heading Cart"));
    let applied = screen("/cart", "heading Cart\nstatus ~Coupon applied");
    let judged = |baseline, end| {
        check_end(
            &recording,
            &Seen {
                start: &start,
                baseline,
                before_last: baseline,
                end,
            },
        )
    };
    assert_eq!(judged(&cart, &applied), End::Holds);
    assert_eq!(
        why(judged(&applied, &applied)),
        "no recorded effect happened during the replay"
    );
}

#[test]
fn echoes_count_only_alone() {
    let form = "textbox Name =\nbutton Add";
    let filled = "textbox Name =Bob\nbutton Add";
    let alone = recording("/", &["textbox Name =Bob"], &[]);
    assert_eq!(stays(&alone, form, filled), End::Holds);

    let saved = recording("/", &["status ~Saved", "textbox Name =Bob"], &[]);
    assert_eq!(
        stays(&saved, form, &format!("{filled}\nstatus ~Saved")),
        End::Holds
    );
    let already = format!("{form}\nstatus ~Saved");
    assert_eq!(
        why(stays(&saved, &already, &format!("{filled}\nstatus ~Saved"))),
        "no recorded effect happened during the replay"
    );
}

#[test]
fn a_new_alert_stops_it_and_an_old_or_recorded_one_does_not() {
    let recording_of = recording("/", &["status ~Saved"], &[]);
    let after = "status ~Saved\nalert ~Payment failed";
    assert!(why(stays(&recording_of, BEFORE, after)).contains("Payment failed"));
    assert!(
        why(stays(
            &recording_of,
            BEFORE,
            "status ~Saved\nalertdialog Session over"
        ))
        .contains("Session over")
    );
    assert!(
        why(stays(
            &recording_of,
            BEFORE,
            "status ~Saved\nalert\n . ~Payment failed"
        ))
        .contains("Payment failed")
    );
    assert_eq!(
        stays(&recording_of, "alert ~Payment failed", after),
        End::Holds
    );
    let known = recording("/", &["status ~Saved", "alert ~Payment failed"], &[]);
    assert_eq!(stays(&known, BEFORE, after), End::Holds);
    assert_eq!(
        stays(&recording_of, BEFORE, "status ~Saved\nalert"),
        End::Holds,
        "an empty one says nothing"
    );
}

#[test]
fn a_cut_screen_never_holds() {
    let recording = recording("/", &["status ~Saved"], &[]);
    let (before, mut after) = (screen("/", BEFORE), screen("/", "status ~Saved"));
    after.snapshot.truncated = true;
    let seen = Seen {
        start: &before,
        baseline: &before,
        before_last: &before,
        end: &after,
    };
    assert_ne!(check_end(&recording, &seen), End::Holds);
}

const LINES: [&str; 8] = [
    "status ~Saved",
    "listitem Bread",
    "listitem Milk",
    "checkbox Bought +on",
    "textbox Name =Bob",
    "heading Cart",
    "dialog Add an item",
    ". ~Order ORD-4F7K2",
];

fn some_lines() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(LINES.to_vec(), 0..LINES.len())
}

proptest! {
    /// Where the start looks like the end, no course of events makes a pass.
    #[test]
    fn an_effect_that_was_there_before_never_passes(
        appeared in some_lines(),
        extra in some_lines(),
        baseline in some_lines(),
        moved in any::<bool>(),
    ) {
        prop_assume!(!appeared.is_empty());
        let gone: Vec<&str> = LINES.into_iter().filter(|line| !appeared.contains(line) && !extra.contains(line)).collect();
        let recording = recording("/end", &appeared, &gone);
        let all: Vec<&str> = appeared.iter().chain(&extra).copied().collect();
        let (start, end) = (screen("/end", &all.join("\n")), screen("/end", &all.join("\n")));
        let baseline = screen("/end", &baseline.join("\n"));
        let before_last = screen(if moved { "/other" } else { "/end" }, "heading Other");
        let seen = Seen { start: &start, baseline: &baseline, before_last: &before_last, end: &end };
        prop_assert_ne!(check_end(&recording, &seen), End::Holds);
    }

    /// Taking one recorded effect from an end that holds breaks it.
    #[test]
    fn every_effect_is_needed(appeared in some_lines(), gone in some_lines()) {
        let gone: Vec<&str> = gone.into_iter().filter(|line| !appeared.contains(line)).collect();
        prop_assume!(!appeared.is_empty());
        let recording = recording("/", &appeared, &gone);
        let before = format!("button Add\n{}", gone.join("\n"));
        prop_assert_eq!(stays(&recording, &before, &appeared.join("\n")), End::Holds);
        for index in 0..appeared.len() {
            let mut left = appeared.clone();
            left.remove(index);
            left.push("button Add");
            prop_assert_ne!(stays(&recording, &before, &left.join("\n")), End::Holds);
        }
        for line in &gone {
            let after = format!("{}\n{line}", appeared.join("\n"));
            prop_assert_ne!(stays(&recording, &before, &after), End::Holds);
        }
    }
}
