//! Gestures on one element: when they wait, when they refuse, what the page gets to see.

use std::time::Duration;

use muster_engine::{EngineError, Gesture, NodeId};

use crate::support::*;

/// Why a gesture was refused.
fn why(outcome: Result<(), EngineError>) -> String {
    match outcome {
        Err(EngineError::NotActionable { why, .. }) => why,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

async fn briefly(stage: &Stage, dom_id: &str, gesture: Gesture) -> Result<(), EngineError> {
    let id = stage.id(dom_id).await;
    stage.page.perform(id, &gesture, BRIEF).await
}

#[tokio::test]
async fn a_tap_is_trusted_input() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a>Go</button><script>
           for (const type of ['pointerdown', 'mousedown', 'mouseup', 'click'])
             a.addEventListener(type, event => say(type + ':' + event.isTrusted));
         </script>"
    ))
    .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert_eq!(
        stage.log().await,
        "pointerdown:true mousedown:true mouseup:true click:true"
    );
}

#[tokio::test]
async fn what_is_in_the_way_is_named_and_gets_no_event() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a>Go</button>
         <div class='veil dark' style='position:fixed; inset:0' onclick='say(1)' onmousedown='say(2)'></div>"
    ))
    .await;
    assert_eq!(
        why(briefly(&stage, "a", Gesture::Tap).await),
        "covered by <div class=\"veil dark\">"
    );
    assert_eq!(stage.log().await, "");
}

#[tokio::test]
async fn disabled_hidden_and_moving_elements_are_refused_by_name() {
    let stage = Stage::showing(
        "<style>@keyframes go { to { margin-left: 600px } } #c { animation: go 2s linear infinite alternate }</style>
         <button id=a disabled>A</button><button id=b>B</button><button id=c>C</button><input id=d readonly>
         <p><button id=e onclick='b.style.visibility = \"hidden\"'>E</button>",
    )
    .await;
    assert_eq!(why(briefly(&stage, "a", Gesture::Tap).await), "disabled");
    assert_eq!(
        why(briefly(&stage, "c", Gesture::Tap).await),
        "still moving"
    );
    assert_eq!(
        why(briefly(
            &stage,
            "d",
            Gesture::Fill(muster_engine::Input::Plain("x".into()))
        )
        .await),
        "read-only"
    );
    let b = stage.id("b").await;
    stage.perform("e", Gesture::Tap).await.unwrap();
    let error = stage
        .page
        .perform(b, &Gesture::Tap, BRIEF)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "button \"B\" can't be acted on: not visible"
    );
}

#[tokio::test]
async fn a_gesture_waits_until_its_element_is_ready() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a disabled onclick='say(\"clicked\")'>Go</button>
         <div id=veil style='position:fixed; inset:0'></div>
         <script>setTimeout(() => a.disabled = false, 150); setTimeout(() => veil.remove(), 300)</script>"
    ))
    .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert_eq!(stage.log().await, "clicked");
}

#[tokio::test]
async fn far_elements_are_scrolled_to_and_sticky_bars_avoided() {
    let stage = Stage::showing(&format!(
        "{LOG}<div style='position:fixed; left:0; right:0; top:0; height:55%; background:#ccc'></div>
         <div style='height:4000px'></div><button id=a onclick='say(\"far\")'>Far</button><div style='height:4000px'></div>
         <div style='height:100px; overflow:auto'><div style='height:900px'></div><button id=b onclick='say(\"nested\")'>B</button></div>"
    ))
    .await;
    assert!(!stage.node("a").await.in_viewport);
    stage.perform("a", Gesture::Tap).await.unwrap();
    stage.perform("b", Gesture::Tap).await.unwrap();
    assert_eq!(stage.log().await, "far nested");
    stage.perform("a", Gesture::ScrollIntoView).await.unwrap();
    assert!(stage.node("a").await.in_viewport);
}

#[tokio::test]
async fn a_click_that_would_miss_is_swallowed_and_aimed_anew() {
    // The button moves away under the pointer as it arrives, once, and leaves a trap in its place.
    let stage = Stage::showing(&format!(
        "{LOG}<div id=box style='position:relative; height:200px'>
           <button id=trap style='position:absolute; left:0; top:0; width:100px; height:40px' onclick='say(\"trap\")'>Trap</button>
           <button id=a style='position:absolute; left:0; top:0; width:100px; height:40px' onclick='say(\"hit\")'>Go</button>
         </div>
         <script>a.addEventListener('mousemove', () => a.style.top = '100px', {{ once: true }})</script>"
    ))
    .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert_eq!(stage.log().await, "hit");
}

#[tokio::test]
async fn an_element_that_leaves_under_the_pointer_is_stale_not_its_successor() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a onclick='say(\"first\")'>Go</button>
         <script>a.addEventListener('mousemove', () => a.outerHTML = '<button id=a2 onclick=say(\"second\")>Go</button>')</script>"
    ))
    .await;
    let error = stage.perform("a", Gesture::Tap).await.unwrap_err();
    assert!(matches!(error, EngineError::NodeStale { .. }), "{error}");
    assert_eq!(stage.log().await, "");
}

#[tokio::test]
async fn elements_in_frames_and_shadow_roots_are_hit() {
    let stage = Stage::new().await;
    let inner = "<script>const say = text => parent.say(text)</script><div style='height:2000px'></div><button id=inner onclick='say(\"frame\")'>In</button>";
    stage.site.serve("/inner", Reply::html(inner));
    stage
        .show(&format!(
            "{LOG}<iframe src=/inner style='margin:40px; border:7px solid; padding:9px; height:120px'></iframe><x-box id=host></x-box>
             <script>host.attachShadow({{ mode: 'open' }}).innerHTML = '<button id=deep onclick=say(\"shadow\")><b>Deep</b></button>'</script>"
        ))
        .await;
    stage.perform("inner", Gesture::Tap).await.unwrap();
    stage.perform("deep", Gesture::Tap).await.unwrap();
    assert_eq!(stage.log().await, "frame shadow");
}

#[tokio::test]
async fn checks_reach_their_state_once() {
    let stage = Stage::showing(&format!(
        "{LOG}<input type=checkbox id=a onclick='say(\"a\")'>
         <input type=radio name=r id=b checked><input type=radio name=r id=c>
         <div role=switch id=d tabindex=0 aria-checked=false onclick='setTimeout(() => d.setAttribute(\"aria-checked\", true), 80)'>D</div>
         <div role=checkbox id=e aria-checked=false>E</div><button id=f>F</button>
         <style>#g {{ position:absolute; opacity:0; width:1px; height:1px }}</style><input type=checkbox id=g><label for=g>Styled</label>"
    ))
    .await;
    for on in [true, true, false, false] {
        stage.perform("a", Gesture::SetChecked(on)).await.unwrap();
        assert_eq!(stage.node("a").await.states.checked, Some(on));
    }
    assert_eq!(
        stage.log().await,
        "a a",
        "it clicks only to change something"
    );
    stage.perform("c", Gesture::SetChecked(true)).await.unwrap();
    assert_eq!(stage.node("b").await.states.checked, Some(false));
    assert!(
        why(briefly(&stage, "c", Gesture::SetChecked(false)).await)
            .starts_with("a radio can't be turned off")
    );
    stage.perform("d", Gesture::SetChecked(true)).await.unwrap();
    stage.perform("g", Gesture::SetChecked(true)).await.unwrap();
    assert_eq!(stage.node("g").await.states.checked, Some(true));
    let error = briefly(&stage, "e", Gesture::SetChecked(true))
        .await
        .unwrap_err();
    assert!(
        matches!(error, EngineError::MayHaveCommitted { .. }),
        "{error}"
    );
    assert_eq!(
        why(briefly(&stage, "f", Gesture::SetChecked(true)).await),
        "not a checkbox, radio or switch"
    );
}

#[tokio::test]
async fn hover_and_focus_do_what_they_say() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a onmouseenter='say(\"over\")' onclick='say(\"clicked\")'>A</button><input id=b><p id=c>text</p>"
    ))
    .await;
    stage.perform("a", Gesture::Hover).await.unwrap();
    stage.perform("b", Gesture::Focus).await.unwrap();
    assert_eq!(stage.log().await, "over");
    assert!(stage.node("b").await.states.focused);
    assert_eq!(
        why(briefly(&stage, "c", Gesture::Focus).await),
        "it does not take the focus"
    );
}

#[tokio::test]
async fn keys_arrive_with_their_modifiers() {
    let stage = Stage::showing(&format!(
        "{LOG}<form onsubmit='say(\"submitted\"); return false'><input id=a value=abc></form><script>
           addEventListener('keydown', e => say([e.ctrlKey && 'C', e.shiftKey && 'S', e.key, e.code, e.isTrusted].filter(Boolean).join('-')));
         </script>"
    ))
    .await;
    stage
        .perform("a", Gesture::Press("Control+a".into()))
        .await
        .unwrap();
    stage.page.press("Shift+x", SOON).await.unwrap();
    assert_eq!(
        stage.node("a").await.value.as_deref(),
        Some("X"),
        "all was selected, and replaced"
    );
    stage.page.press("Enter", SOON).await.unwrap();
    let expected = "C-Control-ControlLeft-true C-a-KeyA-true S-Shift-ShiftLeft-true S-X-KeyX-true Enter-Enter-true submitted";
    assert_eq!(stage.log().await, expected);
    let error = stage
        .perform("a", Gesture::Press("Return".into()))
        .await
        .unwrap_err();
    assert!(matches!(error, EngineError::Invalid(_)), "{error}");
}

#[tokio::test]
async fn a_handler_that_never_ends_may_have_committed() {
    let stage = Stage::showing("<button id=a onclick='for (;;);'>Hang</button>").await;
    let id = stage.id("a").await;
    let error = stage
        .page
        .perform(id, &Gesture::Tap, Duration::from_secs(2))
        .await
        .unwrap_err();
    assert!(
        matches!(error, EngineError::MayHaveCommitted { .. }),
        "{error}"
    );
    // Its page hangs from now on; the others and the browser do not.
    let error = stage.page.snapshot(BRIEF).await.unwrap_err();
    assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
    Stage::showing("<p>alive</p>").await;
}

#[tokio::test]
async fn a_wrong_id_does_nothing() {
    let stage = Stage::showing(&format!("{LOG}<button onclick='say(1)'>A</button>")).await;
    for gesture in [
        Gesture::Tap,
        Gesture::Hover,
        Gesture::Focus,
        Gesture::ScrollIntoView,
        Gesture::SetChecked(true),
    ] {
        let error = stage
            .page
            .perform(NodeId(5000), &gesture, SOON)
            .await
            .unwrap_err();
        assert!(
            matches!(error, EngineError::NodeStale { .. }),
            "{gesture:?}: {error}"
        );
    }
    assert_eq!(stage.log().await, "");
}
