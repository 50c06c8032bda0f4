//! Points of a picture: controls under them, bare places, screens that have moved on.

use muster_engine::Node;

use super::*;

fn boxed(id: u64, role: &str, name: &str, rect: (f64, f64, f64, f64)) -> Node {
    Node {
        rect,
        ..node(id, role, name)
    }
}

/// A button in a list, and a place beside it that nothing stands for.
fn map() -> FakePage {
    let nodes = |top: f64| {
        vec![
            boxed(1, "list", "Places", (0.0, 0.0, 200.0, 200.0)),
            boxed(2, "button", "Zoom in", (10.0, top, 50.0, 20.0)),
        ]
    };
    FakePage::new(vec![
        screen(APP, "Map", nodes(10.0)),
        screen(APP, "Map", nodes(60.0)),
        screen(APP, "Map of Oslo", nodes(10.0)),
    ])
    .on(0, NodeId(0), Gesture::Tap, 2)
}

fn why(error: &StepError) -> &str {
    match error {
        StepError::Refused { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_control_under_a_point_is_named_and_a_bare_point_leaves_a_gap() {
    let stage = Stage::of(map());
    let step = stage.step();
    step.observe().await.unwrap();
    let early = step.at(15, 15).await.unwrap_err();
    assert_eq!(why(&early), "take a screenshot first");
    step.screenshot().await.unwrap();
    assert_eq!(step.at(15, 15).await, Ok(At::Control(NodeId(2))));
    assert_eq!(step.at(100, 100).await, Ok(At::Bare));
    assert!(why(&step.at(1280, 3).await.unwrap_err()).contains("1280×720"));
    assert_eq!(step.usage().actions, 0);

    let (before, after) = step.point(100, 100, Pointer::Tap).await.unwrap();
    assert_ne!(before.snapshot.title, after.snapshot.title);
    assert_eq!((step.usage().actions, step.trace().performed.len()), (1, 0));
    let gap = step.trace().gap.unwrap();
    assert_eq!(gap, "tap_at 100,100 met nothing that can be named");
}

#[tokio::test(start_paused = true)]
async fn a_screen_that_changed_since_the_picture_takes_no_point() {
    let stage = Stage::of(map());
    let step = stage.step();
    step.observe().await.unwrap();
    step.screenshot().await.unwrap();
    // The same shape, but the button moved.
    stage.page.show(1);
    for refused in [
        step.at(15, 65).await.unwrap_err(),
        step.point(100, 100, Pointer::Tap).await.unwrap_err(),
    ] {
        assert!(
            why(&refused).contains("changed since the screenshot"),
            "{refused:?}"
        );
    }
    assert!(stage.page.performed().is_empty());
    assert!(step.trace().gap.is_none());
    step.screenshot().await.unwrap();
    step.point(100, 100, Pointer::Hover).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_a_secret_there_are_no_points() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    step.screenshot().await.unwrap();
    assert!(step.means().pixels);
    step.perform(secret(5)).await.unwrap();
    assert!(!step.means().pixels);
    for refused in [
        step.at(3, 3).await.unwrap_err(),
        step.point(3, 3, Pointer::Tap).await.unwrap_err(),
    ] {
        assert_eq!(code(&refused), ErrorCode::PolicyDenied);
        assert_eq!(step.events().pop().unwrap().name, "pixels.tainted");
    }
}
