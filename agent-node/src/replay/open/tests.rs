use muster_proto::action::Position;
use muster_proto::recording::{RecordedAction, RecordedBy};
use serde_json::json;

use super::*;

fn provenance() -> Provenance {
    Provenance {
        project: "shop".to_owned(),
        run: "r".to_owned(),
        unit: "u".to_owned(),
        test: "t".to_owned(),
        target: "web".to_owned(),
        instruction_digest: "0".to_owned(),
        step: 0,
        verified_by: None,
        node: "n".to_owned(),
        engine: "chromium".to_owned(),
        policy_digest: "p".to_owned(),
        recorded_at: "2024-05-01T00:00:00.000Z".to_owned(),
    }
}

fn field() -> Target {
    Target {
        role: "textbox".to_owned(),
        name: "Name of {{/n|raw}}".to_owned(),
        position: Some(Position { index: 1, of: 2 }),
        ..Target::default()
    }
}

fn recording() -> Recording {
    let template = |text: &str| Typed::Template {
        text: text.to_owned(),
    };
    let action = |action| RecordedAction {
        action,
        summary: String::new(),
        quiet: false,
    };
    Recording {
        schema: SCHEMA,
        actions: vec![
            action(Action::Type {
                target: field(),
                value: template("{{/n|raw}}!"),
                replace: true,
            }),
            action(Action::Type {
                target: field(),
                value: Typed::Literal {
                    text: String::new(),
                },
                replace: true,
            }),
            action(Action::Navigate {
                path: "/t/{{/n|slug}}?q={{/n|form}}".to_owned(),
            }),
        ],
        summary: "Named it.".to_owned(),
        start_route: "/t".to_owned(),
        end_route: "/t/{{/n|slug}}".to_owned(),
        appeared: vec![Anchor {
            target: field(),
            value: Some("{{/n|raw}}!".to_owned()),
            shape: false,
        }],
        gone: Vec::new(),
        end_wait_ms: 0,
        recorded_by: RecordedBy {
            executor: "e".to_owned(),
            version: "1".to_owned(),
        },
        truncated: None,
    }
}

fn key() -> ReplayKey {
    ReplayKey::from("abc")
}

fn opened(entry: &[u8]) -> Result<Opened, Unusable> {
    open(
        entry,
        &key(),
        &json!({ "n": "Team Blue" }),
        &["/n".to_owned()],
    )
}

fn sealed(recording: &Recording) -> Vec<u8> {
    serde_json::to_vec(&seal(recording, &key(), "local", provenance())).unwrap()
}

fn refused(entry: &[u8]) -> String {
    let unusable = opened(entry).unwrap_err();
    assert_eq!(unusable.reason, CacheReason::InvalidEntry, "{unusable}");
    unusable.detail
}

#[test]
fn what_was_sealed_opens_with_todays_values() {
    let Opened {
        recording,
        provenance: from,
    } = opened(&sealed(&recording())).unwrap();
    assert_eq!(from, provenance());
    let text = |index: usize| match &recording.actions[index].action {
        Action::Type {
            target,
            value: Typed::Literal { text },
            ..
        } => (target.name.as_str(), text.as_str()),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(0), ("Name of Team Blue", "Team Blue!"));
    assert_eq!(text(1).1, "", "a cleared field comes back");
    assert_eq!(
        recording.actions[2].action,
        Action::Navigate {
            path: "/t/team-blue?q=Team+Blue".to_owned()
        }
    );
    assert_eq!(
        recording.actions[0].summary,
        r#"type "Team Blue!" into textbox "Name of Team Blue" (2 of 2)"#
    );
    assert_eq!(recording.end_route, "/t/team-blue");
    assert_eq!(recording.appeared[0].value.as_deref(), Some("Team Blue!"));
}

#[test]
fn a_tampered_or_foreign_envelope_is_refused() {
    let envelope = seal(&recording(), &key(), "local", provenance());
    type Change = fn(&mut Envelope);
    for (change, says) in [
        ((|e| e.schema = 2) as Change, "schema 2"),
        (|e| e.key = "abd".to_owned(), "another key"),
        (
            |e| e.payload = e.payload.replace("Named", "Renamed"),
            "not the one that was sealed",
        ),
        (
            |e| e.payload_sha256 = e.payload_sha256.to_uppercase(),
            "not the one that was sealed",
        ),
    ] {
        let mut changed = envelope.clone();
        change(&mut changed);
        let detail = refused(&serde_json::to_vec(&changed).unwrap());
        assert!(detail.contains(says), "{detail}");
    }
    let mut extra = serde_json::to_value(&envelope).unwrap();
    extra["more"] = json!(1);
    assert!(refused(&serde_json::to_vec(&extra).unwrap()).contains("no envelope"));
    assert!(refused(b"{").contains("no envelope"));
    assert!(refused(&vec![b' '; MAX_BYTES + 1]).contains("bytes"));
}

#[test]
fn the_payload_is_a_closed_shape() {
    let payload = |change: fn(&mut Value)| {
        let mut value = serde_json::to_value(recording()).unwrap();
        change(&mut value);
        let payload = value.to_string();
        let mut envelope = seal(&recording(), &key(), "local", provenance());
        envelope.payload_sha256 = canonical::sha256_hex(payload.as_bytes());
        envelope.payload = payload;
        refused(&serde_json::to_vec(&envelope).unwrap())
    };
    for change in [
        |value: &mut Value| value["script"] = json!("x"),
        |value: &mut Value| value["actions"][0]["action"]["do"] = json!("evaluate"),
        |value: &mut Value| value["actions"][0]["action"]["target"]["selector"] = json!("#x"),
        |value: &mut Value| value["actions"][0]["action"]["value"]["kind"] = json!("html"),
        |value: &mut Value| value["endRoute"] = json!(null),
    ] {
        assert!(payload(change).contains("no recording"));
    }
}

#[test]
fn sizes_and_counts_are_bounded() {
    type Change = fn(&mut Recording);
    for (change, says) in [
        ((|r| r.schema = 2) as Change, "schema 2"),
        (|r| r.actions.clear(), "0 actions"),
        (|r| r.actions = vec![r.actions[0].clone(); 51], "51 actions"),
        (|r| r.appeared = vec![r.appeared[0].clone(); 9], "8 anchors"),
        (|r| r.gone = vec![r.appeared[0].clone(); 9], "8 anchors"),
        (|r| r.end_wait_ms = 120_001, "end wait"),
        (|r| r.summary = "é".repeat(301), "300 characters"),
        (
            |r| r.appeared[0].target.name = "x".repeat(301),
            "300 characters",
        ),
        (
            |r| r.appeared[0].target.position = Some(Position { index: 2, of: 2 }),
            "twins",
        ),
        (
            |r| r.appeared[0].target.position = Some(Position { index: 0, of: 1001 }),
            "twins",
        ),
        (
            |r| r.appeared[0].target.position = Some(Position { index: 0, of: 1 }),
            "twins",
        ),
        (
            |r| {
                r.actions[2].action = Action::Navigate {
                    path: "/".repeat(4097),
                }
            },
            "4096 characters",
        ),
        (
            |r| {
                r.actions[2].action = Action::Press {
                    target: None,
                    key: "Tab".to_owned(),
                    times: 21,
                }
            },
            "21 times",
        ),
        (
            |r| {
                let Action::Type { target, .. } = r.actions[0].action.clone() else {
                    panic!("it types")
                };
                let to = Target {
                    name: "x".repeat(301),
                    ..target.clone()
                };
                r.actions[2].action = Action::Drag { target, to }
            },
            "300 characters",
        ),
        (
            |r| r.end_route = "/{{/other|raw}}".to_owned(),
            "no unique()",
        ),
        (|r| r.end_route = "/{{/n".to_owned(), "never ends"),
    ] {
        let mut changed = recording();
        change(&mut changed);
        let detail = refused(&sealed(&changed));
        assert!(detail.contains(says), "{says}: {detail}");
    }
    let mut long = recording();
    long.summary = "é".repeat(300);
    assert!(opened(&sealed(&long)).is_ok());
}

#[test]
fn a_flow_that_is_only_documented_says_why() {
    let mut documented = recording();
    documented.truncated = Some("derived (date)".to_owned());
    documented.actions.clear();
    let unusable = opened(&sealed(&documented)).unwrap_err();
    assert_eq!(
        (unusable.reason, unusable.detail.as_str()),
        (CacheReason::Truncated, "derived (date)")
    );
}
