use proptest::prelude::*;

use super::super::describe;
use super::super::fixture::{id, screen};
use super::super::screen::says_what;
use super::*;

fn described(text: &str, label: &str) -> Target {
    let observation = screen("/", text);
    describe(&observation, id(&observation, label)).unwrap()
}

fn undescribable(text: &str, label: &str) {
    let observation = screen("/", text);
    assert_eq!(
        describe(&observation, id(&observation, label)),
        None,
        "{label} on {text}"
    );
}

/// The label and the rung of what is found, or the kind of failure.
fn found(target: &Target, text: &str) -> (String, Option<Rung>) {
    let observation = screen("/", text);
    match locate(target, &observation) {
        Match::One { node, rung } => {
            let node = observation.node(node).unwrap();
            (
                if node.name.is_empty() {
                    node.text.clone()
                } else {
                    node.name.clone()
                },
                Some(rung),
            )
        }
        Match::NotFound { .. } => ("not found".to_owned(), None),
        Match::Ambiguous { .. } => ("ambiguous".to_owned(), None),
    }
}

const ROWS: &str = "
    row
     cell ~Blue mug
     button Add
    row
     cell ~Red mug
     button Add
";

#[test]
fn the_row_tells_twins_apart_and_is_never_loosened() {
    let target = described(ROWS, "Add");
    assert_eq!(target.within.as_deref(), Some("Blue mug"));
    assert_eq!(target.position, None);

    let swapped = ROWS
        .replace("Blue", "x")
        .replace("Red", "Blue")
        .replace('x', "Red");
    let observation = screen("/", &swapped);
    let Match::One { node, .. } = locate(&target, &observation) else {
        panic!()
    };
    assert_eq!(
        Screen::new(&observation).keys(node.0 as usize - 1),
        ["Blue mug"],
        "the row moved"
    );

    let without = ROWS.replace("Blue", "Green");
    assert_eq!(found(&target, &without).0, "not found");
    let no_rows = "button Add";
    assert_eq!(found(&target, no_rows).0, "not found");
    assert_eq!(
        found(
            &described(no_rows, "Add"),
            "row\n cell ~Blue mug\n button Add"
        )
        .0,
        "not found"
    );
}

#[test]
fn a_place_among_twins_needs_the_same_number_of_them() {
    let target = described("button Add\nbutton Add\nbutton Add", "Add");
    assert_eq!(
        target.position.map(|place| (place.index, place.of)),
        Some((0, 3))
    );
    assert_eq!(
        found(&target, "button Add\nheading x\nbutton Add\nbutton Add").1,
        Some(Rung::Exact)
    );
    assert_eq!(found(&target, "button Add\nbutton Add").0, "ambiguous");
    assert_eq!(
        found(&target, "button Add").0,
        "ambiguous",
        "the survivor of twins is no match"
    );
    assert_eq!(found(&target, "button Buy").0, "not found");
    let alone = described("button Add", "Add");
    assert_eq!(found(&alone, "button Add\nbutton Add").0, "ambiguous");
}

#[test]
fn a_toggle_is_found_only_in_the_state_it_was_in() {
    let target = described("checkbox Gift wrap -off", "Gift wrap");
    assert_eq!(
        found(&target, "checkbox Gift wrap -off").1,
        Some(Rung::Exact)
    );
    assert_eq!(found(&target, "checkbox Gift wrap +on").0, "not found");
    let with_id = described("checkbox Gift wrap @gift -off", "Gift wrap");
    assert_eq!(
        found(&with_id, "checkbox Wrap it @gift +on").0,
        "not found",
        "on no rung"
    );
}

#[test]
fn the_ladder_of_test_ids() {
    let target = described("button Add @add", "Add");
    for (screen, want, rung) in [
        ("button Add @add", "Add", Some(Rung::Exact)),
        // Nobody carries it any more.
        ("button Add", "Add", Some(Rung::WithoutTestId)),
        ("button Add @buy", "Add", Some(Rung::WithoutTestId)),
        ("button Add\nbutton Add", "ambiguous", None),
        // The name changed.
        ("button Buy @add", "Buy", Some(Rung::TestId)),
        ("button Buy @add\nbutton Get @add", "ambiguous", None),
        // The test id moved away from the name.
        ("button Buy @add\nbutton Add", "ambiguous", None),
        ("link Add @add", "not found", None),
        ("link Buy @add\nbutton Add", "not found", None),
        // An ambiguous exact match never falls back.
        ("button Add @add\nbutton Add @add", "ambiguous", None),
    ] {
        assert_eq!(found(&target, screen), (want.to_owned(), rung), "{screen}");
    }
    assert_eq!(Rung::TestId.relocated(), Some("test-id"));
    assert_eq!(
        Rung::Exact.relocated().or(Rung::WithoutTestId.relocated()),
        None
    );
}

#[test]
fn a_role_is_never_loosened() {
    let target = described("button Add", "Add");
    assert_eq!(found(&target, "link Add").0, "not found");
}

#[test]
fn minted_names_are_found_by_shape_only_where_there_is_one() {
    let target = described("link Order ORD-4F7K2", "Order ORD-4F7K2");
    assert_eq!(target.name, "Order {{id}}");
    assert_eq!(found(&target, "link Order ORD-99ZZ9").0, "Order ORD-99ZZ9");
    assert_eq!(found(&target, "link Order history").0, "not found");
    // Which of two is a guess.
    assert_eq!(
        found(&target, "link Order ORD-99ZZ9\nlink Order ORD-4F7K2").0,
        "ambiguous"
    );
    undescribable(
        "link Order ORD-4F7K2\nlink Order ORD-99ZZ9",
        "Order ORD-4F7K2",
    );
    // Rows that only an id tells apart, too.
    undescribable(
        "row\n cell ~ORD-4F7K2\n button Cancel\nrow\n cell ~ORD-99ZZ9\n button Cancel",
        "Cancel",
    );
    // A stable text in the row does.
    let rows = "row\n cell ~ORD-1A\n cell ~Alice\n button Cancel\nrow\n cell ~ORD-2B\n cell ~Bob\n button Cancel";
    let target = described(rows, "Cancel");
    assert_eq!(target.within.as_deref(), Some("Alice"));
    let next = "row\n cell ~ORD-7X\n cell ~Bob\n button Cancel\nrow\n cell ~ORD-8Y\n cell ~Alice\n button Cancel";
    let observation = screen("/", next);
    let Match::One { node, .. } = locate(&target, &observation) else {
        panic!()
    };
    assert_eq!(
        Screen::new(&observation).keys(node.0 as usize - 1)[1],
        "Alice"
    );
}

#[test]
fn what_has_only_its_role_needs_a_named_row_or_to_be_the_only_one() {
    let observation = screen("/", "button\nbutton");
    assert_eq!(describe(&observation, NodeId(1)), None);
    let observation = screen("/", "button\nheading x");
    let target = describe(&observation, NodeId(1)).unwrap();
    assert!(matches!(
        locate(&target, &observation),
        Match::One {
            node: NodeId(1),
            ..
        }
    ));
    let observation = screen(
        "/",
        "listitem\n . ~Milk\n button\n button\nlistitem\n . ~Tea\n button\n button",
    );
    let target = describe(&observation, NodeId(4)).unwrap();
    assert_eq!(
        (
            target.within.as_deref(),
            target.position.map(|p| (p.index, p.of))
        ),
        (Some("Milk"), Some((1, 2)))
    );
    assert!(matches!(
        locate(&target, &observation),
        Match::One {
            node: NodeId(4),
            ..
        }
    ));
}

#[test]
fn a_cut_screen_proves_nothing() {
    let mut observation = screen("/", "button Add");
    let target = describe(&observation, NodeId(1)).unwrap();
    observation.snapshot.truncated = true;
    assert_eq!(describe(&observation, NodeId(1)), None);
    assert!(matches!(
        locate(&target, &observation),
        Match::NotFound { .. }
    ));
}

#[test]
fn targets_read_as_a_person_would_say_them() {
    assert_eq!(
        target_line(&described(ROWS, "Add")),
        r#"button "Add" in "Blue mug""#
    );
    assert_eq!(
        target_line(&described("checkbox Wrap +on\ncheckbox Wrap +on", "Wrap")),
        r#"checkbox "Wrap" (on) (1 of 2)"#
    );
}

/// Lines of screens on which much is alike.
fn lines() -> impl Strategy<Value = Vec<(usize, String)>> {
    let role = prop::sample::select(vec![
        "row", "listitem", "group", "dialog", "button", "link", "checkbox", "textbox", "cell", ".",
    ]);
    let name = prop::sample::select(vec![
        "",
        "",
        "Add",
        "Delete",
        "Blue mug",
        "Order ORD-4F7K2",
        "Saved at 10:42",
    ]);
    let rest = prop::sample::select(vec![
        "",
        "",
        "",
        " @a",
        " @b",
        " +on",
        " -off",
        " ~Blue mug",
        " ~ORD-9Z",
    ]);
    let line = (0usize..4, role, name, rest)
        .prop_map(|(depth, role, name, rest)| (depth, format!("{role} {name}{rest}")));
    prop::collection::vec(line, 1..14)
}

fn built(lines: &[(usize, String)]) -> Observation {
    let mut text = String::new();
    let mut depth = 0;
    for (index, (wanted, line)) in lines.iter().enumerate() {
        depth = if index == 0 {
            0
        } else {
            (*wanted).min(depth + 1)
        };
        text.push_str(&format!("{}{line}\n", " ".repeat(depth)));
    }
    screen("/", &text)
}

proptest! {
    /// What can be described is found again, and it is the same element.
    #[test]
    fn described_elements_are_found_on_their_own_screen(lines in lines()) {
        let observation = built(&lines);
        for node in observation.nodes() {
            if let Some(target) = describe(&observation, node.id) {
                prop_assert_eq!(
                    locate(&target, &observation),
                    Match::One { node: node.id, rung: Rung::Exact },
                    "{:?}", target
                );
            }
        }
    }

    /// On any other screen it is found in its role, row and state, or not at all; and by its name
    /// unless by its test id.
    #[test]
    fn what_is_found_elsewhere_is_no_neighbour(one in lines(), two in lines()) {
        let (here, there) = (built(&one), built(&two));
        let screen = Screen::new(&there);
        for node in here.nodes() {
            let Some(target) = describe(&here, node.id) else { continue };
            let Match::One { node, rung } = locate(&target, &there) else { continue };
            let index = there.nodes().iter().position(|each| each.id == node).unwrap();
            let live = &there.nodes()[index];
            prop_assert_eq!(&live.role, &target.role);
            prop_assert_eq!(toggle(live), target.checked);
            let keys = screen.keys(index);
            match &target.within {
                Some(within) if says_what(live) => {
                    let groups = there.nodes()[..index].iter().map(|node| node.name.clone());
                    prop_assert!(keys.into_iter().chain(groups).any(|key| Pattern::new(within).matches(&key)));
                }
                Some(within) => prop_assert!(keys.iter().any(|key| Pattern::new(within).matches(key))),
                None => prop_assert!(keys.is_empty() || says_what(live)),
            }
            match rung {
                Rung::Exact | Rung::WithoutTestId => prop_assert!(Pattern::new(&target.name).matches(&live.name)),
                Rung::TestId => prop_assert_eq!(&live.test_id, &target.test_id),
            }
        }
    }
}
