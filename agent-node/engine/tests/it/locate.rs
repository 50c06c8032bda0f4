//! Locators, rule by rule.

use muster_engine::EngineError;
use muster_suite::locator::{Locator, LocatorStep, States};

use crate::support::*;

#[tokio::test]
async fn roles_match_by_whole_name_part_or_pattern() {
    let stage = Stage::showing(
        "<button id=a>Pay  now</button><button id=b>pay now later</button><div role=img id=c aria-label=Logo></div>
         <button id=d aria-hidden=true>Pay now</button><button id=e hidden>Pay now</button>",
    )
    .await;
    let named = |name| {
        vec![LocatorStep::Role {
            role: "button".into(),
            name: Some(name),
            states: States::default(),
            visible: false,
        }]
    };
    assert_eq!(stage.found(named(exact("Pay now"))).await, ["a"]);
    assert_eq!(stage.found(named(exact(" Pay\n now "))).await, ["a"]);
    assert!(stage.found(named(exact("pay now"))).await.is_empty());
    assert_eq!(stage.found(named(part("PAY NOW"))).await, ["a", "b"]);
    assert_eq!(stage.found(named(pattern("^pay", ""))).await, ["b"]);
    assert_eq!(
        stage.found(named(pattern("later$|Pay", "g"))).await,
        ["a", "b"]
    );
    assert_eq!(stage.found(vec![role_named("image", "Logo")]).await, ["c"]);
}

#[tokio::test]
async fn roles_match_by_state() {
    let stage = Stage::showing(
        "<input type=checkbox id=a checked><input type=checkbox id=b><button id=c disabled>x</button>
         <button id=d aria-expanded=true>x</button><button id=e aria-pressed=true>x</button>
         <div role=tab id=f aria-selected=true>x</div><div role=tab id=g>x</div><h2 id=h>x</h2><h3 id=i>x</h3>",
    )
    .await;
    let none = States::default();
    let on = Some(true);
    let table = [
        (
            "checkbox",
            States {
                checked: on,
                ..none.clone()
            },
            "a",
        ),
        (
            "checkbox",
            States {
                checked: Some(false),
                ..none.clone()
            },
            "b",
        ),
        (
            "button",
            States {
                disabled: on,
                ..none.clone()
            },
            "c",
        ),
        (
            "button",
            States {
                expanded: on,
                ..none.clone()
            },
            "d",
        ),
        (
            "button",
            States {
                pressed: on,
                ..none.clone()
            },
            "e",
        ),
        (
            "tab",
            States {
                selected: on,
                ..none.clone()
            },
            "f",
        ),
        (
            "tab",
            States {
                selected: Some(false),
                ..none.clone()
            },
            "g",
        ),
        (
            "heading",
            States {
                level: Some(3),
                ..none.clone()
            },
            "i",
        ),
    ];
    for (name, states, expected) in table {
        assert_eq!(
            stage.found(vec![role_with(name, states.clone())]).await,
            [expected],
            "{name} {states:?}"
        );
    }
}

#[tokio::test]
async fn labels_match_controls() {
    let stage = Stage::showing(
        "<label for=a>E-mail</label><input id=a><label>Name <input id=b></label><input id=c aria-label=Search>
         <span id=t>Phone</span><input id=d aria-labelledby=t><label>Plan<select id=e><option>Free</select></label>
         <input id=f placeholder=E-mail title=E-mail>",
    )
    .await;
    for (text, id) in [
        ("E-mail", "a"),
        ("Name", "b"),
        ("Search", "c"),
        ("Phone", "d"),
        ("Plan", "e"),
    ] {
        assert_eq!(stage.found(vec![label(text)]).await, [id], "{text}");
    }
    let placeholder = LocatorStep::Placeholder {
        text: exact("E-mail"),
        visible: false,
    };
    assert_eq!(stage.found(vec![placeholder]).await, ["f"]);
}

#[tokio::test]
async fn text_matches_the_innermost_element() {
    let stage = Stage::showing(
        "<div id=a><p id=b>Hello <b id=c>big</b> world</p></div><input type=submit id=d value=Send>
         <p id=e>Save<span hidden> draft</span></p><p id=f style='display:none'>Gone</p><script>'Hello big world'</script>",
    )
    .await;
    assert_eq!(
        stage.found(vec![text(exact("Hello big world"))]).await,
        ["b"]
    );
    assert_eq!(stage.found(vec![text(part("BIG"))]).await, ["c"]);
    assert_eq!(stage.found(vec![text(exact("Send"))]).await, ["d"]);
    assert_eq!(stage.found(vec![text(exact("Save"))]).await, ["e"]);
    let gone = stage.find(vec![text(exact("Gone"))]).await;
    assert_eq!(
        (gone.len(), gone[0].visible),
        (1, false),
        "hidden matches are told as hidden"
    );
    assert!(
        stage
            .found(vec![LocatorStep::Text {
                text: exact("Gone"),
                visible: true
            }])
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn chains_narrow_filter_and_pick() {
    let stage = Stage::showing(
        "<ul><li id=l1>Tea <button id=b1>Add</button></li><li id=l2>Coffee <button id=b2>Add</button>
         <button id=b3 data-testid=gift>Gift</button></li></ul><button id=b4>Add</button>",
    )
    .await;
    let coffee = || LocatorStep::Filter {
        has_text: Some(part("coffee")),
        has: None,
    };
    let add = || role_named("button", "Add");
    assert_eq!(
        stage.found(vec![role("listitem"), add()]).await,
        ["b1", "b2"]
    );
    assert_eq!(
        stage.found(vec![role("listitem"), coffee(), add()]).await,
        ["b2"]
    );
    let gift = Box::new(Locator {
        steps: vec![test_id("gift")],
    });
    assert_eq!(
        stage
            .found(vec![
                role("listitem"),
                LocatorStep::Filter {
                    has_text: None,
                    has: Some(gift)
                }
            ])
            .await,
        ["l2"]
    );
    for (index, expected) in [
        (0, vec!["b1"]),
        (-1, vec!["b4"]),
        (2, vec!["b4"]),
        (3, vec![]),
        (-4, vec![]),
    ] {
        assert_eq!(
            stage.found(vec![add(), LocatorStep::Nth { index }]).await,
            expected,
            "nth {index}"
        );
    }
    assert_eq!(
        stage
            .found(vec![role("list"), role("listitem"), role("button")])
            .await,
        ["b1", "b2", "b3"]
    );
}

#[tokio::test]
async fn locators_reach_into_frames_and_shadow_roots() {
    let stage = Stage::new().await;
    stage
        .site
        .serve("/inner", Reply::html("<label>Card <input id=card></label>"));
    stage
        .show(
            "<iframe src=/inner></iframe><x-box id=host></x-box><script>
               host.attachShadow({ mode: 'open' }).innerHTML = '<button id=deep>Deep</button>';
             </script>",
        )
        .await;
    assert_eq!(stage.found(vec![label("Card")]).await, ["card"]);
    assert_eq!(
        stage.found(vec![role_named("button", "Deep")]).await,
        ["deep"]
    );
    assert_eq!(stage.found(vec![text(exact("Deep"))]).await, ["deep"]);
}

#[tokio::test]
async fn a_match_tells_what_matchers_compare() {
    let stage = Stage::showing(
        "<p id=a class='x y' data-n=7>One<br>two <b>three</b></p><input id=b value=' v '>",
    )
    .await;
    let locator = Locator {
        steps: vec![text(part("two"))],
    };
    let found = stage
        .page
        .find(&locator, Some("data-n"), SOON)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(found.text_content, "One two three");
    assert_eq!(
        (found.class.as_str(), found.attribute.as_deref()),
        ("x y", Some("7"))
    );
    assert!(found.visible);
    let field = stage.find(vec![role("textbox")]).await.remove(0);
    assert_eq!(
        (field.node.value.as_deref(), field.text_content.as_str()),
        (Some(" v "), "v")
    );
    assert_eq!(field.attribute, None);
}

#[tokio::test]
async fn a_broken_pattern_is_the_callers_fault() {
    let stage = Stage::showing("<p>x</p>").await;
    let locator = Locator {
        steps: vec![text(pattern("(", "i"))],
    };
    let error = stage.page.find(&locator, None, SOON).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Invalid(why) if why.starts_with("/(/i is no regular expression")),
        "{error}"
    );
}
