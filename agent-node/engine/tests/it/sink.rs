//! Fields as sinks of secrets: what a snapshot tells of them, and what the page checks at the fill.

use muster_engine::page::Sink;
use muster_engine::{EngineError, Gesture, Input};
use muster_proto::guard::Guard;
use muster_proto::secret::Secret;

use crate::support::*;

fn fill(sink: Sink) -> Gesture {
    Gesture::Fill(Input::Secret(Secret::new("hunter2222"), sink))
}

fn strict(stage: &Stage) -> Sink {
    let origin = stage.site.origin.clone();
    Sink {
        origins: Some(vec![origin]),
        secure: true,
        seen: true,
    }
}

async fn refusal(stage: &Stage, id: &str, sink: Sink) -> Guard {
    let node = stage.id(id).await;
    match stage.page.perform(node, &fill(sink), BRIEF).await {
        Err(EngineError::Unfit { guard, .. }) => guard,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_field_that_a_person_sees_takes_a_secret() {
    let stage = Stage::showing("<input id=a type=password autocomplete='section-x current-password'><textarea id=t></textarea><div id=c contenteditable>old</div>").await;
    let node = stage.node("a").await;
    assert_eq!(node.frame_origin, Some(stage.site.origin.clone()));
    assert_eq!(
        (node.concealed, node.purpose.as_deref()),
        (None, Some("current-password"))
    );
    let sink = strict(&stage);
    stage.perform("a", fill(sink.clone())).await.unwrap();
    let loose = Sink {
        secure: false,
        ..sink
    };
    for id in ["t", "c"] {
        stage.perform(id, fill(loose.clone())).await.unwrap();
    }
    for id in ["a", "t", "c"] {
        let value = stage.node(id).await.value;
        assert_eq!(value.as_deref(), Some("hunter2222"), "{id}");
    }
}

#[tokio::test]
async fn fields_that_a_person_does_not_see_are_told_apart() {
    let stage = Stage::showing(
        "<div style='opacity:.2'><input id=faint style='opacity:.3' aria-label=1></div>
         <input id=tiny style='width:2px;height:2px;border:0;padding:0' aria-label=2>
         <input id=away style='position:absolute;left:-5000px' aria-label=3>
         <div style='overflow:hidden;height:0'><input id=cut aria-label=4></div>
         <input id=under style='position:absolute;top:300px' aria-label=5>
         <div style='position:absolute;top:290px;width:900px;height:90px;background:#fff'>over</div>
         <div style='height:3000px'></div><input id=below aria-label=6>",
    )
    .await;
    for (id, why) in [
        ("faint", Some("it is transparent")),
        ("tiny", Some("it is cut away or too small to see")),
        ("away", Some("it is off the page")),
        ("cut", Some("it is cut away or too small to see")),
        ("under", Some("something lies over it")),
        ("below", None),
    ] {
        assert_eq!(stage.node(id).await.concealed.as_deref(), why, "{id}");
    }
    let seen = Sink {
        seen: true,
        ..Sink::default()
    };
    assert_eq!(refusal(&stage, "faint", seen).await, Guard::SecretVisible);
    let filled = stage.perform("faint", fill(Sink::default())).await;
    assert_eq!(filled, Ok(()), "without the rule nothing else stops it");
}

#[tokio::test]
async fn a_field_that_changes_as_it_gets_the_focus_takes_none() {
    let stage = Stage::showing(
        "<input id=swap type=password onfocus='this.type = \"text\"'>
         <input id=fade type=password onfocus='this.style.opacity = 0'>
         <input id=move type=password onfocus='document.body.append(document.createElement(\"p\")); this.remove()'>
         <input id=pass type=password onfocus='document.getElementById(\"other\").focus()'><input id=other>",
    )
    .await;
    let sink = strict(&stage);
    assert_eq!(
        refusal(&stage, "swap", sink.clone()).await,
        Guard::SecretPurpose
    );
    assert_eq!(
        refusal(&stage, "fade", sink.clone()).await,
        Guard::SecretVisible
    );
    for id in ["move", "pass"] {
        let node = stage.id(id).await;
        let error = stage.page.perform(node, &fill(sink.clone()), BRIEF).await;
        assert!(
            matches!(
                error,
                Err(EngineError::NodeStale { .. } | EngineError::NotActionable { .. })
            ),
            "{id}: {error:?}"
        );
    }
    for id in ["swap", "fade", "pass", "other"] {
        let value = stage.node(id).await.value;
        assert_eq!(value.as_deref(), Some(""), "{id} holds nothing");
    }
}

#[tokio::test]
async fn a_document_of_another_origin_takes_none() {
    let stage = Stage::showing("<input id=a type=password>").await;
    let sink = Sink {
        origins: Some(vec!["https://shop.test".to_owned()]),
        ..Sink::default()
    };
    assert_eq!(refusal(&stage, "a", sink).await, Guard::SecretOrigin);
    assert_eq!(stage.node("a").await.value.as_deref(), Some(""));
}
