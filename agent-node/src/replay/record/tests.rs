use std::sync::Arc;

use muster_proto::action::Direction;
use muster_proto::recording::Anchor;
use serde_json::json;

use super::super::fixture::{id, screen};
use super::super::{POLICY, same_flow};
use super::*;

/// One screen after another, with the action that leads from each to the next.
fn trace(screens: &[Observation], actions: &[Action<&str>]) -> Vec<Performed> {
    let shared: Vec<Arc<Observation>> = screens.iter().cloned().map(Arc::new).collect();
    actions
        .iter()
        .zip(shared.windows(2))
        .map(|(action, pair)| Performed {
            action: action.clone().map(|label| id(&pair[0], label)),
            before: pair[0].clone(),
            after: pair[1].clone(),
            changed: pair[0].snapshot.nodes != pair[1].snapshot.nodes
                || pair[0].location != pair[1].location,
            settled_in: Duration::ZERO,
        })
        .collect()
}

fn try_record(
    screens: &[Observation],
    actions: &[Action<&str>],
    instruction: &str,
    params: &Value,
) -> Result<Recording, String> {
    record(&RecordInput {
        trace: &trace(screens, actions),
        start: screens.first().unwrap(),
        end: screens.last().unwrap(),
        instruction,
        params,
        unique: &[],
        executor_name: "scripted",
        executor_version: "1",
        summary: "Done.",
        end_wait: Duration::from_millis(40),
    })
    .map_err(|not| not.reason)
}

fn tap(label: &str) -> Action<&str> {
    Action::Tap { target: label }
}

fn typed<'a>(label: &'a str, text: &str) -> Action<&'a str> {
    Action::Type {
        target: label,
        value: Typed::Literal {
            text: text.to_owned(),
        },
        replace: true,
    }
}

fn labels(anchors: &[Anchor]) -> Vec<&str> {
    anchors
        .iter()
        .map(|each| {
            if each.target.name.is_empty() {
                each.target.text.as_str()
            } else {
                each.target.name.as_str()
            }
        })
        .collect()
}

/// Records a tap on `Add` that leads from one screen to the other.
fn tapped(before: (&str, &str), after: (&str, &str)) -> Result<Recording, String> {
    try_record(
        &[screen(before.0, before.1), screen(after.0, after.1)],
        &[tap("Add")],
        "Add it",
        &Value::Null,
    )
}

#[test]
fn announcements_come_first_then_leaves_then_containers_and_each_label_once() {
    let after = "
        button Add
        list Basket
         listitem Blue mug
          link Blue mug
        heading Your basket
        status ~Blue mug added
    ";
    let recording = tapped(("/", "button Add"), ("/", after)).unwrap();
    assert_eq!(
        labels(&recording.appeared),
        ["Blue mug added", "Your basket", "Blue mug", "Basket"]
    );
    assert!(recording.gone.is_empty());
    assert_eq!(
        (recording.start_route.as_str(), recording.end_route.as_str()),
        ("/", "/")
    );
    assert_eq!(recording.end_wait_ms, 40);
    assert!(!recording.actions[0].quiet);
}

#[test]
fn at_most_eight_of_a_kind() {
    let many: String = (b'A'..=b'Z')
        .map(|c| format!("listitem Item {}\n", char::from(c)))
        .collect();
    let recording = tapped(
        ("/", &format!("button Add\n{many}")),
        ("/", "button Add\nheading Empty"),
    )
    .unwrap();
    assert_eq!((recording.appeared.len(), recording.gone.len()), (1, 8));
    let recording = tapped(("/", "button Add"), ("/", &format!("button Add\n{many}"))).unwrap();
    assert_eq!(recording.appeared.len(), 8);
}

#[test]
fn volatile_text_is_an_anchor_only_where_nothing_stable_changed() {
    let clock = "button Add\n. ~Saved at 10:42";
    let recording = tapped(("/", "button Add"), ("/", clock)).unwrap();
    assert_eq!(labels(&recording.appeared), ["Saved at {{id}}"]);
    assert!(recording.appeared[0].shape);

    let both = format!("{clock}\nlistitem Blue mug");
    let recording = tapped(("/", "button Add"), ("/", &both)).unwrap();
    assert_eq!(labels(&recording.appeared), ["Blue mug"]);

    let alert = format!("{both}\nalert ~Order ORD-4F7K2 is late");
    let recording = tapped(("/", "button Add"), ("/", &alert)).unwrap();
    assert_eq!(
        labels(&recording.appeared),
        ["Order {{id}} is late", "Blue mug"],
        "alerts are always kept"
    );
}

#[test]
fn counts_tell_on_their_own_screen_and_bare_numbers_nowhere() {
    let recording = tapped(
        ("/", "button Add\nlink Cart (0)"),
        ("/", "button Add\nlink Cart (1)\n. ~17"),
    )
    .unwrap();
    assert_eq!(labels(&recording.appeared), ["Cart (1)"]);
    let recording = tapped(("/", "button Add"), ("/list", "heading List\n. ~3 items")).unwrap();
    assert_eq!(labels(&recording.appeared), ["List"]);
    let none = tapped(("/", "button Add"), ("/", "button Add\n. ~17")).unwrap_err();
    assert!(none.starts_with("no-effect: "), "{none}");
}

#[test]
fn what_changes_nothing_is_not_recorded() {
    let same = "button Add\nheading Shop";
    assert!(
        tapped(("/", same), ("/", same))
            .unwrap_err()
            .starts_with("no-effect: ")
    );
    assert!(
        tapped(("/", same), ("/", "button Add\nheading Shop\nalert ~404")).is_err(),
        "an alert that no anchor can hold"
    );
    let nothing = try_record(&[screen("/", same)], &[], "Look", &Value::Null).unwrap_err();
    assert!(nothing.starts_with("no-action: "), "{nothing}");
}

#[test]
fn a_field_alone_is_an_effect_and_beside_others_an_echo() {
    let form = screen("/", "textbox Name =\nbutton Add");
    let filled = screen("/", "textbox Name =Bob\nbutton Add");
    let recording = try_record(
        &[form.clone(), filled.clone()],
        &[typed("Name", "Bob")],
        "Call it Bob",
        &Value::Null,
    )
    .unwrap();
    assert_eq!(recording.appeared[0].value.as_deref(), Some("Bob"));

    // The form's own texts are no effect of filling it.
    let list = screen("/list", "heading List\nlink Add");
    let at = |page: Observation| Observation {
        location: "/new".to_owned(),
        ..page
    };
    let screens = [list, at(form), at(filled)];
    let recording = try_record(
        &screens,
        &[tap("Add"), typed("Name", "Bob")],
        "Call it Bob",
        &Value::Null,
    )
    .unwrap();
    assert_eq!(labels(&recording.appeared), ["Name"]);
}

#[test]
fn values_that_the_goal_does_not_hold_are_not_recorded() {
    let page = "
        . ~Your code is 8841-K2
        link Blue mug
        textbox Code =
        combobox Day =
    ";
    let after = format!("{page}    status ~Accepted");
    let with = |action: Action<&str>, instruction: &str, params: Value| {
        try_record(
            &[screen("/", page), screen("/", &after)],
            &[action],
            instruction,
            &params,
        )
    };
    let select = |label: &str| Action::Select {
        target: "Day",
        label: label.to_owned(),
    };
    let go = |path: &str| Action::Navigate {
        path: path.to_owned(),
    };
    for (action, rule) in [
        (typed("Code", "8841-K2"), "derived (minted-token)"),
        (
            typed("Code", "code 8841-K2 please"),
            "derived (minted-token)",
        ),
        (typed("Code", "blue  MUG"), "derived (whole-node)"),
        (typed("Code", "2024-05-01"), "derived (date)"),
        (typed("Code", "at 10:42"), "derived (date)"),
        (select("May 1, 2024"), "derived (minted-token)"),
        (go("/orders/42"), "derived (minted-token)"),
        (typed("Code", "my <secret:pin>"), "redacted"),
        (typed("Code", "{{x}}"), "placeholder"),
        (typed("Code", &"x".repeat(4097)), "too-long"),
    ] {
        let reason = with(action, "Enter the code", Value::Null).unwrap_err();
        assert!(reason.starts_with(rule), "{rule}: {reason}");
    }
    for (action, instruction, params) in [
        (typed("Code", "8841-K2"), "Enter 8841-K2", Value::Null),
        (
            typed("Code", "8841-K2"),
            "Enter the code",
            json!({ "code": "8841-K2" }),
        ),
        (typed("Code", "Blue mug"), "Find the blue mug", Value::Null),
        (typed("Code", "2024-05-01"), "Enter 2024-05-01", Value::Null),
        (
            typed("Code", "A fine day, Bob1"),
            "Write something",
            Value::Null,
        ),
        (typed("Code", ""), "Clear it", Value::Null),
        (select("Monday"), "Pick a day", Value::Null),
        (go("/orders/42"), "Open /orders/42", Value::Null),
        (go("/orders"), "Open the orders", Value::Null),
    ] {
        assert_eq!(
            with(action, instruction, params).err(),
            None,
            "{instruction}"
        );
    }
}

#[test]
fn scrolls_that_follow_each_other_are_one() {
    let down = |times| Action::Scroll {
        target: Some("Items"),
        direction: Direction::Down,
        times,
    };
    let up = Action::Scroll {
        target: Some("Items"),
        direction: Direction::Up,
        times: 1,
    };
    let list = screen("/", "list Items\n listitem ~Blue mug\nbutton Add");
    let added = screen(
        "/",
        "list Items\n listitem ~Blue mug\nbutton Add\nstatus ~Added",
    );
    let mut screens = vec![list; 8];
    screens.push(added);
    let actions = [down(1), down(3), up, down(12), down(9), down(1), down(1)];
    let actions: Vec<_> = actions.into_iter().chain([tap("Add")]).collect();
    let recording = try_record(&screens, &actions, "Add it", &Value::Null).unwrap();
    let lines: Vec<_> = recording
        .actions
        .iter()
        .map(|each| each.summary.as_str())
        .collect();
    assert_eq!(
        lines,
        [
            r#"scroll down in list "Items", 4 times"#,
            r#"scroll up in list "Items""#,
            r#"scroll down in list "Items", 12 times"#,
            r#"scroll down in list "Items", 11 times"#,
            r#"tap button "Add""#,
        ]
    );
}

#[test]
fn keyboard_text_and_texts_to_scroll_to_come_from_the_goal() {
    let before = screen("/", "heading Card 8841-K2\nbutton Add");
    let after = screen("/", "heading Card 8841-K2\nbutton Add\nstatus ~Saved");
    let with = |action, goal| {
        let screens = [before.clone(), before.clone(), after.clone()];
        try_record(&screens, &[action, tap("Add")], goal, &Value::Null)
    };
    let typed = || Action::TypeText {
        text: "8841-K2".to_owned(),
    };
    let sought = || Action::ScrollUntil {
        target: None,
        text: "May 1, 2024".to_owned(),
        direction: Direction::Down,
    };
    for (action, goal) in [
        (typed(), "Enter the code"),
        (sought(), "Find the newest entry"),
    ] {
        let reason = with(action, goal).unwrap_err();
        assert!(reason.starts_with("derived (minted-token)"), "{reason}");
    }
    assert_eq!(with(typed(), "Enter 8841-K2").err(), None);
}

#[test]
fn secrets_are_recorded_by_name() {
    let form = screen("/", "textbox Password !secure =\nbutton Sign in");
    let home = screen("/home", "heading Welcome");
    let secret = Action::Type {
        target: "Password",
        value: Typed::Secret {
            name: "pw".to_owned(),
        },
        replace: true,
    };
    let recording = try_record(
        &[form.clone(), form, home],
        &[secret, tap("Sign in")],
        "Sign in",
        &Value::Null,
    )
    .unwrap();
    assert!(
        matches!(&recording.actions[0].action, Action::Type { value: Typed::Secret { name }, .. } if name == "pw")
    );
    assert!(recording.actions[0].quiet);
    assert_eq!(
        recording.actions[0].summary,
        r#"type <secret:pw> into textbox "Password""#
    );
}

#[test]
fn what_only_an_id_tells_from_its_twins_is_not_recorded() {
    let orders = "link Order ORD-4F7K2\nlink Order ORD-99ZZ9";
    let screens = [screen("/", orders), screen("/o", "heading Order")];
    let reason = try_record(
        &screens,
        &[tap("Order ORD-4F7K2")],
        "Open my order",
        &Value::Null,
    )
    .unwrap_err();
    assert!(reason.starts_with("undescribable: "), "{reason}");
    let named = try_record(
        &screens,
        &[tap("Order ORD-4F7K2")],
        "Open order ORD-4F7K2",
        &Value::Null,
    )
    .unwrap();
    assert_eq!(
        named.actions[0].action.target().unwrap().name,
        "Order ORD-4F7K2"
    );
}

#[test]
fn colliding_values_and_long_flows_are_not_recorded() {
    let (a, b) = (
        screen("/", "button Add"),
        screen("/", "button Add\nheading x"),
    );
    let input = RecordInput {
        trace: &trace(&[a.clone(), b.clone()], &[tap("Add")]),
        start: &a,
        end: &b,
        instruction: "Add",
        params: &json!({ "a": "Alpha 1", "b": "Alpha 12" }),
        unique: &["/a".to_owned()],
        executor_name: "scripted",
        executor_version: "1",
        summary: "",
        end_wait: Duration::ZERO,
    };
    assert!(
        record(&input)
            .unwrap_err()
            .reason
            .starts_with("param-collision: ")
    );

    let mut screens = vec![a; 51];
    screens.push(b);
    let reason = try_record(&screens, &vec![tap("Add"); 51], "Add", &Value::Null).unwrap_err();
    assert!(reason.starts_with("too-many-actions: "), "{reason}");
}

#[test]
fn repeated_scrolls_to_one_element_are_one() {
    let (a, b) = (
        screen("/", "button Add"),
        screen("/", "button Add\nheading x"),
    );
    let scroll = Action::ScrollTo { target: "Add" };
    let actions = [scroll.clone(), scroll, tap("Add")];
    let recording =
        try_record(&[a.clone(), a.clone(), a, b], &actions, "Add", &Value::Null).unwrap();
    assert_eq!(
        recording
            .actions
            .iter()
            .map(|each| each.action.verb())
            .collect::<Vec<_>>(),
        ["scroll_to", "tap"]
    );
}

#[test]
fn the_same_flow_is_told_by_what_it_does() {
    let one = tapped(("/", "button Add"), ("/", "button Add\nheading x")).unwrap();
    let mut two = one.clone();
    two.summary = "I added it.".to_owned();
    two.end_wait_ms = 900;
    two.actions[0].quiet = true;
    two.recorded_by.executor = "another".to_owned();
    assert!(same_flow(&one, &two));
    for change in [
        |r: &mut Recording| r.actions.push(r.actions[0].clone()),
        |r: &mut Recording| r.start_route = "/x".to_owned(),
        |r: &mut Recording| r.end_route = "/x".to_owned(),
        |r: &mut Recording| r.appeared.clear(),
        |r: &mut Recording| r.gone = r.appeared.clone(),
    ] {
        let mut other = one.clone();
        change(&mut other);
        assert!(!same_flow(&one, &other));
    }
    assert!(
        POLICY.ends_with("/1"),
        "a new policy re-keys every recording: say so in the changelog"
    );
}

/// A long table, and the same after a tap in it: every node is compared with every screen, and none
/// with every other node.
#[test]
fn a_long_screen_is_recorded_in_good_time() {
    let table = |rows: usize, status: &str| {
        let mut text = format!("heading Stock\nstatus {status}\n");
        for row in 0..rows {
            text.push_str(&format!("row\n cell Mug {row} of blue\n button Add\n"));
        }
        screen("/stock", &text)
    };
    let time = |rows: usize| {
        let screens = [
            screen("/", "link Stock"),
            table(rows, "Ready"),
            table(rows, "Saved"),
        ];
        let began = tokio::time::Instant::now();
        try_record(
            &screens,
            &[tap("Stock"), tap("Stock")],
            "save the stock",
            &Value::Null,
        )
        .unwrap();
        began.elapsed()
    };
    // Eight times as many rows; a busy machine may pause one run, hardly two.
    let (few, many) = (time(150), time(1200).min(time(1200)));
    assert!(
        many < few * 24 + Duration::from_millis(50),
        "{few:?} {many:?}"
    );
}
