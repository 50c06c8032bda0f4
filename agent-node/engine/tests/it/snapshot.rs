//! What a snapshot holds, in which order, and under which ids.

use std::time::Duration;

use muster_engine::{EngineError, Gesture, NodeId, Travel};

use crate::support::*;

#[tokio::test]
async fn a_screen_is_told_lean_and_in_order() {
    let stage = Stage::showing(
        "<header><nav aria-label=Main><ul><li><a href=/>Home</a></li></ul></nav></header>
         <main><div><div><h1>Tea</h1></div><p>Fresh <b>green</b> leaves, <a href=/more>more</a></p></div>
         <label>Mail <input></label>
         <ul><li><span>Green</span><div>3.00</div><button>Add <i>to cart</i></button></li></ul>
         <div role=status><p>2 items</p></div></main>",
    )
    .await;
    let expected = [
        "banner",
        "  navigation \"Main\"",
        "    list",
        "      listitem",
        "        link \"Home\"",
        "main",
        "  heading \"Tea\"",
        "   text=\"Fresh green leaves,\"",
        "    link \"more\"",
        "  textbox \"Mail\"",
        "  list",
        "    listitem text=\"Green 3.00\"",
        "      button \"Add to cart\"",
        "  status text=\"2 items\"",
    ];
    assert_eq!(stage.outline().await, expected);
}

#[tokio::test]
async fn boxes_that_act_like_buttons_are_clickable() {
    let stage = Stage::showing(
        "<style>.row { cursor: pointer }</style>
         <div id=a class=row><span>From Ada</span><div>Hello</div></div>
         <div id=b onclick='1'>Handler</div>
         <div id=c tabindex=0>Tab stop</div>
         <div id=d>Plain</div>
         <button id=e style='cursor: pointer'><span>Inside</span></button>
         <input type=checkbox id=f style='display: none'><label for=f>Styled box</label>",
    )
    .await;
    let expected = [
        " text=\"From Ada Hello\" clickable",
        " text=\"Handler\" clickable",
        " text=\"Tab stop\" clickable",
        " text=\"Plain\"",
        "button \"Inside\"",
        " text=\"Styled box\" clickable",
    ];
    assert_eq!(stage.outline().await, expected);
}

#[tokio::test]
async fn frames_and_shadow_roots_stand_in_place() {
    let stage = Stage::new().await;
    stage
        .site
        .serve("/inner", Reply::html("<button id=inner>Inner</button>"));
    stage
        .show(
            "<h1>Top</h1><iframe src=/inner style='margin: 10px; border: 5px solid; padding: 3px'></iframe>
             <x-card><b slot=title>Slotted</b><i>Default</i></x-card><p>Bottom</p>
             <script>
               const root = document.querySelector('x-card').attachShadow({ mode: 'open' });
               root.innerHTML = '<h2><slot name=title></slot></h2><button id=deep>Deep</button><slot></slot>';
             </script>",
        )
        .await;
    let expected = [
        "heading \"Top\"",
        "button \"Inner\"",
        "heading \"Slotted\"",
        "button \"Deep\"",
        " text=\"Default\"",
        " text=\"Bottom\"",
    ];
    assert_eq!(stage.outline().await, expected);
    let inner = stage.node("inner").await;
    assert!(
        inner.rect.0 > 8.0 + 10.0 + 5.0 + 3.0,
        "the frame's place counts: {:?}",
        inner.rect
    );
    assert!(inner.in_viewport);
}

#[tokio::test]
async fn a_frame_of_another_origin_is_said_to_be_there() {
    let stage = Stage::new().await;
    let other = Site::new().await;
    let inner = other.serve("/", Reply::html("<button>Pay</button>"));
    stage
        .show(&format!(
            "<iframe src={inner}></iframe><iframe src={inner} hidden></iframe><iframe src={inner} title=Card></iframe><p>End</p>"
        ))
        .await;
    let expected = [
        " text=\"(a frame of another origin)\"",
        " \"Card\" text=\"(a frame of another origin)\"",
        " text=\"End\"",
    ];
    assert_eq!(stage.outline().await, expected);
}

#[tokio::test]
async fn ids_live_as_long_as_their_element_and_never_come_back() {
    let stage = Stage::showing(
        "<div id=left><button id=a>A</button></div><div id=right></div><button id=b onclick='right.append(a)'>Move</button>
         <button id=c onclick='a.outerHTML = a.outerHTML'>Replace</button>",
    )
    .await;
    let first = stage.id("a").await;
    stage.perform("b", Gesture::Tap).await.unwrap();
    assert_eq!(stage.id("a").await, first, "moved, it is the same element");
    stage.perform("c", Gesture::Tap).await.unwrap();
    let second = stage.id("a").await;
    assert!(second > first, "its copy is another element");
    let error = stage
        .page
        .perform(first, &Gesture::Tap, SOON)
        .await
        .unwrap_err();
    assert_eq!(
        error,
        EngineError::NodeStale {
            id: first,
            was: "button \"A\"".into()
        }
    );

    stage.page.travel(Travel::Reload, SOON).await.unwrap();
    let third = stage.id("a").await;
    assert!(third > second, "a new document goes on counting");
    let error = stage
        .page
        .perform(second, &Gesture::Tap, SOON)
        .await
        .unwrap_err();
    assert!(matches!(error, EngineError::NodeStale { .. }), "{error}");
}

#[tokio::test]
async fn an_element_of_a_removed_frame_is_stale() {
    let stage = Stage::new().await;
    stage
        .site
        .serve("/inner", Reply::html("<button id=inner>Inner</button>"));
    stage
        .show("<iframe id=f src=/inner></iframe><button id=x onclick='f.remove()'>Remove</button>")
        .await;
    let inner = stage.id("inner").await;
    stage.perform("x", Gesture::Tap).await.unwrap();
    let error = stage
        .page
        .perform(inner, &Gesture::Tap, SOON)
        .await
        .unwrap_err();
    assert_eq!(
        error,
        EngineError::NodeStale {
            id: inner,
            was: "button \"Inner\"".into()
        }
    );
}

#[tokio::test]
async fn long_texts_and_long_pages_are_cut_and_say_so() {
    let stage = Stage::showing(
        "<p id=p></p><h1 id=h></h1><div id=many></div><script>
           p.textContent = 'é'.repeat(2000); h.textContent = 'n'.repeat(2000);
           many.innerHTML = '<button>b</button>'.repeat(6000);
         </script>",
    )
    .await;
    let snapshot = stage.snapshot().await;
    assert!(snapshot.truncated);
    assert_eq!(snapshot.nodes.len(), 5000);
    assert_eq!(snapshot.nodes[0].text.chars().count(), 512);
    assert_eq!(snapshot.nodes[1].name.chars().count(), 256);
}

#[tokio::test]
async fn a_hostile_page_cannot_reach_the_script() {
    let stage = Stage::showing(
        "<script>
           Element.prototype.getAttribute = () => 'lie'; JSON.stringify = () => 'lie'; Array.prototype.map = () => [];
           document.querySelectorAll = () => []; window.getComputedStyle = () => null;
         </script><button id=a aria-label=True>x</button>",
    )
    .await;
    assert_eq!(stage.outline().await, ["button \"True\" text=\"x\""]);
}

/// Prints the time in the page and bounds it loosely: a busy machine must not fail it.
#[tokio::test]
async fn a_page_of_six_hundred_elements_is_told_fast() {
    let stage = Stage::showing(
        "<style>button::before { content: '' } .x { color: red }</style><main id=m></main><script>
           for (let i = 0; i < 200; i++) m.insertAdjacentHTML('beforeend',
             `<div class=x><a href=/p${i}>Product ${i}</a> <button>Add ${i}</button></div>`);
         </script>",
    )
    .await;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = tokio::time::Instant::now();
        assert_eq!(stage.snapshot().await.nodes.len(), 401);
        best = best.min(start.elapsed());
    }
    println!("snapshot of 604 elements: {best:?} with its round trip");
    assert!(best < Duration::from_millis(500), "{best:?}");
}

#[tokio::test]
async fn a_node_that_was_never_told_is_stale() {
    let stage = Stage::showing("<p>x</p>").await;
    let error = stage
        .page
        .perform(NodeId(99), &Gesture::Tap, SOON)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "n99 (an element that was never told) is no longer on the page"
    );
}
