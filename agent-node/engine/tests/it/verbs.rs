//! Gestures beyond the tap: double, held, secondary, dragged; keys, scrolls.

use std::time::Duration;

use muster_engine::page::Pointer;
use muster_engine::{EngineError, Gesture};
use muster_proto::action::Direction;

use crate::support::*;

/// Says every pointer event on the element `a`.
const LISTEN: &str = "<script>for (const type of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick'])
    a.addEventListener(type, event => say([type, event.button, event.isTrusted].join(':')));</script>";

#[tokio::test]
async fn a_double_tap_is_two_clicks_and_a_double_click() {
    let stage = Stage::showing(&format!("{LOG}<button id=a>Go</button>{LISTEN}")).await;
    stage.perform("a", Gesture::DoubleTap).await.unwrap();
    let click = "mousedown:0:true mouseup:0:true click:0:true";
    assert_eq!(
        stage.log().await,
        format!("{click} {click} dblclick:0:true")
    );
}

#[tokio::test]
async fn a_second_click_never_meets_what_the_first_one_brought() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a onclick='say(\"first\"); veil.hidden = false'>Go</button>
         <div id=veil class=trap hidden style='position:fixed; inset:0' onclick='say(\"trap\")'></div>"
    ))
    .await;
    let error = stage.perform("a", Gesture::DoubleTap).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "double tap on button \"Go\" may have been done: <div id=\"veil\" class=\"trap\"> took its place after the first click"
    );
    assert_eq!(stage.log().await, "first");
}

#[tokio::test]
async fn a_long_press_is_held() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a>Go</button><script>
           let since = 0;
           a.addEventListener('pointerdown', () => since = performance.now());
           a.addEventListener('pointerup', () => say(performance.now() - since >= 290 ? 'long' : 'short'));
         </script>"
    ))
    .await;
    let hold = Duration::from_millis(300);
    stage.perform("a", Gesture::LongPress(hold)).await.unwrap();
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert_eq!(stage.log().await, "long short");
}

#[tokio::test]
async fn a_right_click_opens_the_apps_own_menu() {
    let stage = Stage::showing(&format!("{LOG}<button id=a>Go</button>{LISTEN}")).await;
    stage.perform("a", Gesture::RightClick).await.unwrap();
    let log = stage.log().await;
    for event in ["mousedown:2:true", "contextmenu:2:true", "auxclick:2:true"] {
        assert!(log.contains(event), "{log}");
    }
    assert!(!log.contains(" click"), "{log}");
}

#[tokio::test]
async fn covered_elements_get_no_click_of_any_kind() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a>Go</button>{LISTEN}<p id=b style='margin-top:300px'>There</p>
         <div style='position:absolute; left:0; top:0; width:400px; height:100px' onmousedown='say(1)' oncontextmenu='say(2)'></div>"
    ))
    .await;
    let (a, b) = (stage.id("a").await, stage.id("b").await);
    for gesture in [
        Gesture::DoubleTap,
        Gesture::LongPress(Duration::from_millis(100)),
        Gesture::RightClick,
        Gesture::Drag(b),
    ] {
        let error = stage.page.perform(a, &gesture, BRIEF).await.unwrap_err();
        assert!(
            matches!(error, EngineError::NotActionable { .. }),
            "{gesture:?}: {error}"
        );
    }
    // Nor is anything dropped on what lies below.
    let error = stage
        .page
        .perform(b, &Gesture::Drag(a), BRIEF)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("covered by"), "{error}");
    assert_eq!(stage.log().await, "");
}

#[tokio::test]
async fn pointer_drags_arrive() {
    let stage = Stage::showing(&format!(
        "{LOG}<div id=a style='width:60px; height:60px; background:red'>A</div>
         <div id=b style='width:200px; height:60px; margin-top:200px; background:blue'>B</div><script>
           let held = false;
           a.addEventListener('pointerdown', e => {{ held = true; say('down:' + e.isTrusted) }});
           addEventListener('pointermove', e => {{ if (held && e.buttons !== 1) say('lost') }});
           addEventListener('pointerup', e => {{ held = false; say('up:' + (e.target.id || e.target.tagName)) }});
         </script>"
    ))
    .await;
    let b = stage.id("b").await;
    stage.perform("a", Gesture::Drag(b)).await.unwrap();
    assert_eq!(stage.log().await, "down:true up:b");
}

#[tokio::test]
async fn native_drags_drop_their_data() {
    let stage = Stage::showing(&format!(
        "{LOG}<div id=a draggable=true style='width:60px; height:60px; background:red'>A</div>
         <div id=b style='width:200px; height:60px; margin-top:200px; background:blue'>B</div><script>
           a.addEventListener('dragstart', e => {{ e.dataTransfer.setData('text/plain', 'card 7'); say('start') }});
           b.addEventListener('dragover', e => e.preventDefault());
           b.addEventListener('drop', e => {{ e.preventDefault(); say('drop:' + e.dataTransfer.getData('text/plain')) }});
           a.addEventListener('dragend', () => say('end'));
         </script>"
    ))
    .await;
    let b = stage.id("b").await;
    stage.perform("a", Gesture::Drag(b)).await.unwrap();
    assert_eq!(stage.log().await, "start drop:card 7 end");
    // The pointer is free again.
    stage.perform("b", Gesture::Tap).await.unwrap();
}

#[tokio::test]
async fn both_ends_of_a_drag_are_checked_and_in_view() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a onmousedown='say(1)'>A</button><p id=b>B</p><div style='height:3000px'></div><p id=c>C</p>"
    ))
    .await;
    let (b, c) = (stage.id("b").await, stage.id("c").await);
    let error = stage.perform("a", Gesture::Drag(c)).await.unwrap_err();
    assert!(
        error.to_string().contains("not in view together"),
        "{error}"
    );
    stage.page.goto("about:blank", SOON).await.unwrap();
    stage
        .show(&format!(
            "{LOG}<button id=a onmousedown='say(1)'>A</button>"
        ))
        .await;
    let error = stage.perform("a", Gesture::Drag(b)).await.unwrap_err();
    assert!(
        matches!(error, EngineError::NodeStale { id, .. } if id == b),
        "{error}"
    );
    assert_eq!(stage.log().await, "");
}

#[tokio::test]
async fn text_goes_after_what_a_field_holds() {
    let stage = Stage::showing(
        "<input id=a value='ab'><input id=b type=email value='x@y'><textarea id=c>one\ntwo</textarea>
         <div id=d contenteditable>rich</div><input id=e type=date><input id=f disabled>",
    )
    .await;
    for (field, text, holds) in [
        ("a", "cd", "abcd"),
        ("b", ".test", "x@y.test"),
        ("c", "!", "one\ntwo!"),
        ("d", " text", "rich text"),
        ("a", "", "abcd"),
    ] {
        let append = Gesture::Append(text.to_owned());
        stage.perform(field, append).await.unwrap();
        assert_eq!(stage.node(field).await.value.as_deref(), Some(holds));
    }
    let e = stage.id("e").await;
    let append = Gesture::Append("2".to_owned());
    let error = stage.page.perform(e, &append, BRIEF).await.unwrap_err();
    assert!(error.to_string().contains("replace it"), "{error}");
}

#[tokio::test]
async fn typed_text_arrives_as_keys_where_the_focus_is() {
    let stage = Stage::showing(&format!(
        "{LOG}<input id=a maxlength=1><input id=b><textarea id=c></textarea><script>
           a.addEventListener('input', () => b.focus());
           addEventListener('keydown', e => say(e.key + ':' + e.isTrusted));
         </script>"
    ))
    .await;
    stage.perform("a", Gesture::Focus).await.unwrap();
    stage.page.type_text("1Bé", SOON).await.unwrap();
    assert_eq!(stage.node("a").await.value.as_deref(), Some("1"));
    assert_eq!(stage.node("b").await.value.as_deref(), Some("Bé"));
    assert_eq!(stage.log().await, "1:true B:true");
    stage.perform("c", Gesture::Focus).await.unwrap();
    stage.page.type_text("one\nto", SOON).await.unwrap();
    assert_eq!(stage.node("c").await.value.as_deref(), Some("one\nto"));
}

#[tokio::test]
async fn scrolling_moves_the_page_or_the_area_around() {
    let stage = Stage::showing(&format!(
        "{LOG}<div id=list style='height:120px; width:200px; overflow:auto'><div style='height:400px; width:900px'><p id=row>Row</p></div></div>
         <div style='height:3000px'></div><p id=end>End</p><script>
           addEventListener('scroll', e => say((e.target.id || 'page') + (e.isTrusted ? '' : '!')), true);
         </script>"
    ))
    .await;
    let row = |direction| stage.perform("row", Gesture::Scroll(direction));
    row(Direction::Down).await.unwrap();
    stage.until("list").await;
    let before = stage.node("row").await.rect;
    row(Direction::Right).await.unwrap();
    assert!(stage.node("row").await.rect.0 < before.0);
    row(Direction::Left).await.unwrap();
    row(Direction::Up).await.unwrap();
    stage.page.scroll(Direction::Down, SOON).await.unwrap();
    assert!(stage.node("row").await.rect.1 < -300.0);
    for _ in 0..6 {
        stage.page.scroll(Direction::Down, SOON).await.unwrap();
    }
    assert!(stage.node("end").await.in_viewport, "and stays at the end");
    let end = stage.id("end").await;
    let error = stage
        .page
        .perform(end, &Gesture::Scroll(Direction::Left), BRIEF)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("nothing around it scrolls left"),
        "{error}"
    );
    // A page that doesn't scroll itself has an area that does.
    stage
        .show(
            "<div style='height:100vh; overflow:auto'><div style='height:3000px'></div><p id=deep>Deep</p></div>",
        )
        .await;
    for _ in 0..6 {
        stage.page.scroll(Direction::Down, SOON).await.unwrap();
    }
    assert!(stage.node("deep").await.in_viewport);
}

#[tokio::test]
async fn files_reach_the_field_that_an_element_stands_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("this is {name}")).unwrap();
        path
    };
    let (one, two) = (file("one.txt"), file("two.txt"));
    let stage = Stage::showing(&format!(
        "{LOG}<input type=file id=a><label id=b>Photo <input type=file id=b2 hidden></label>
         <div><button id=c>Choose</button><input type=file multiple id=c2 style='display:none'></div>
         <section><button id=d>Both</button><input type=file><input type=file></section>
         <input type=file id=e disabled><script>
           for (const id of ['a', 'b2', 'c2'])
             document.getElementById(id).addEventListener('change', async e => {{
               const files = [...e.target.files];
               say(id + ':' + (await Promise.all(files.map(file => file.text()))).join('+') + (e.isTrusted ? '' : '!'));
             }});
         </script>"
    ))
    .await;
    let upload = |files: &[&std::path::PathBuf]| {
        Gesture::Upload(files.iter().map(|file| (*file).clone()).collect())
    };
    stage.perform("a", upload(&[&one])).await.unwrap();
    stage.until("a:this is one.txt").await;
    assert_eq!(stage.node("a").await.value.as_deref(), Some("one.txt"));
    stage.perform("b", upload(&[&two])).await.unwrap();
    stage.until("b2:this is two.txt").await;
    stage.perform("c", upload(&[&one, &two])).await.unwrap();
    stage.until("c2:this is one.txt+this is two.txt").await;
    for (target, files, why) in [
        ("a", upload(&[&one, &two]), "its field takes one file"),
        ("d", upload(&[&one]), "no file field, and 2 are around it"),
        ("e", upload(&[&one]), "disabled"),
    ] {
        let id = stage.id(target).await;
        let error = stage.page.perform(id, &files, BRIEF).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_point_tells_the_elements_there_and_takes_the_pointer() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a style='position:absolute; left:10px; top:10px; width:80px; height:30px'><b>Go</b></button>
         <canvas id=c tabindex=0 width=100 height=100 style='position:absolute; left:200px; top:0'></canvas>
         <label style='position:absolute; left:400px; top:0; width:80px; height:30px'>Yes <input type=checkbox id=d></label><script>
           c.addEventListener('click', e => say([e.offsetX, e.offsetY, e.isTrusted].join(':')));
           c.addEventListener('mousemove', () => say('over'), {{ once: true }});
         </script>"
    ))
    .await;
    let (a, d) = (stage.id("a").await, stage.id("d").await);
    assert_eq!(stage.page.hit((50, 25), SOON).await.unwrap()[0], a);
    assert_eq!(stage.page.hit((230, 40), SOON).await.unwrap(), []);
    assert_eq!(stage.page.hit((405, 15), SOON).await.unwrap()[0], d);
    let point = |pointer| stage.page.point((230, 40), pointer, SOON);
    point(Pointer::Hover).await.unwrap();
    stage.until("over").await;
    point(Pointer::Tap).await.unwrap();
    assert_eq!(stage.log().await, "over 30:40:true");
}
