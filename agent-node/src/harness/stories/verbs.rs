//! Actions beyond the tap: both ends of a drag, repeats, keyboard text, texts that are scrolled to.

use muster_proto::action::Direction;

use super::*;

fn press(times: u32) -> Action<NodeId> {
    Action::Press {
        target: None,
        key: "ArrowDown".to_owned(),
        times,
    }
}

fn seek(text: &str) -> Action<NodeId> {
    Action::ScrollUntil {
        target: None,
        text: text.to_owned(),
        direction: Direction::Down,
    }
}

#[tokio::test(start_paused = true)]
async fn both_ends_of_a_drag_are_on_the_newest_screen() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    let drag = |from, to| Action::Drag {
        target: NodeId(from),
        to: NodeId(to),
    };
    for (from, to) in [(77, 1), (1, 77)] {
        let refused = step.perform(drag(from, to)).await.unwrap_err();
        assert_eq!(code(&refused), ErrorCode::LocatorNotFound);
        assert_eq!(step.events().pop().unwrap().name, "target.stale");
    }
    step.perform(drag(1, 2)).await.unwrap();
    let done = (NodeId(1), Gesture::Drag(NodeId(2)));
    assert_eq!(stage.page.performed(), [done]);
}

#[tokio::test(start_paused = true)]
async fn each_repeat_counts_and_a_broken_one_leaves_a_gap() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    for (times, why) in [(4, "3 are left"), (0, "0 times"), (21, "21 times")] {
        let refused = step.perform(press(times)).await.unwrap_err();
        let StepError::Refused { message, .. } = refused else {
            panic!("{refused:?}")
        };
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(
        (step.budget().actions, stage.page.performed().len()),
        (3, 0)
    );
    step.perform(press(2)).await.unwrap();
    assert_eq!(
        (step.budget().actions, stage.page.performed().len()),
        (1, 2)
    );
    assert_eq!(step.usage().actions, 2);

    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    stage.page.fail_after(
        1,
        EngineError::NotActionable {
            what: "the page".to_owned(),
            why: "gone".to_owned(),
        },
    );
    let broken = step.perform(press(3)).await.unwrap_err();
    assert!(
        matches!(&broken, StepError::Uncertain { message } if message.contains("1 of 3 times")),
        "{broken:?}"
    );
    assert_eq!(
        (step.budget().actions, stage.page.performed().len()),
        (0, 1)
    );
    assert!(step.trace().gap.is_some());
}

#[tokio::test(start_paused = true)]
async fn keyboard_text_goes_where_the_focus_is_and_a_secret_never_appends() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    step.perform(types(4, "Ada")).await.unwrap();
    let more = Action::TypeText {
        text: " L".to_owned(),
    };
    let done = step.perform(more).await.unwrap();
    let value = done.after.node(NodeId(4)).unwrap().value.clone();
    assert_eq!(value.as_deref(), Some("Ada L"));
    let Action::Type { target, value, .. } = secret(5) else {
        panic!("a secret is typed")
    };
    let after = Action::Type {
        target,
        value,
        replace: false,
    };
    let refused = step.perform(after).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::ActionFailed);
    let long = Action::TypeText {
        text: "x".repeat(1001),
    };
    assert_eq!(
        code(&step.perform(long).await.unwrap_err()),
        ErrorCode::ActionFailed
    );
}

#[tokio::test(start_paused = true)]
async fn a_text_is_scrolled_to_on_redacted_screens_within_bounds() {
    let rows = |names: &[&str]| {
        let row = |(index, name): (usize, &&str)| node(index as u64 + 1, "listitem", name);
        screen(APP, "List", names.iter().enumerate().map(row).collect())
    };
    let page = FakePage::new(vec![
        rows(&["Ann"]),
        rows(&["Ann", "Bob"]),
        rows(&["Ann", "Bob", "the password is hunter22", "Cleo Smith"]),
    ]);
    let down = || Gesture::Scroll(Direction::Down);
    let page = page.on(0, NodeId(0), down(), 1).on(1, NodeId(0), down(), 2);
    let stage = Stage::of(page);
    let step = stage.step();
    step.observe().await.unwrap();
    let done = step.perform(seek("cleo  S")).await.unwrap();
    assert_eq!(done.after.nodes().len(), 4);
    assert_eq!(
        stage.page.performed(),
        [
            (NodeId(0), down()),
            (NodeId(0), down()),
            (NodeId(4), Gesture::ScrollIntoView)
        ]
    );
    assert_eq!(step.usage().actions, 1);
    // Nobody finds out a secret by asking where it stands.
    let missing = step.perform(seek("hunter")).await.unwrap_err();
    assert!(
        matches!(&missing, StepError::Uncertain { message } if message.contains("did not come up")),
        "{missing:?}"
    );
    assert!(stage.page.performed().len() < 12, "it stopped at the end");
    assert!(step.trace().gap.is_some());
    assert_eq!(
        code(&step.perform(seek(" ")).await.unwrap_err()),
        ErrorCode::ActionFailed
    );
}
