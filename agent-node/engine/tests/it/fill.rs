//! Filling fields and choosing options.

use std::sync::{Arc, Mutex};

use muster_engine::{EngineError, Gesture, Input, page::Sink};
use muster_proto::secret::Secret;
use muster_suite::op::OptionChoice;

use crate::support::*;

fn plain(text: &str) -> Gesture {
    Gesture::Fill(Input::Plain(text.into()))
}

#[tokio::test]
async fn every_kind_of_field_is_filled() {
    let stage = Stage::showing(
        "<input id=text value=old><input id=search type=search><input id=email type=email><input id=tel type=tel>
         <input id=url type=url><input id=number type=number><input id=password type=password>
         <textarea id=area>old</textarea><div id=rich contenteditable><b>old</b> text</div>
         <input id=date type=date><input id=time type=time><input id=local type=datetime-local>
         <input id=month type=month><input id=week type=week><input id=range type=range max=10><input id=color type=color>",
    )
    .await;
    let table = [
        ("text", "Ada Löwe 🦁"),
        ("search", "tea"),
        ("email", "ada@example.com"),
        ("tel", "+49 30 1"),
        ("url", "https://a.test/"),
        ("number", "12.5"),
        ("password", "pass word"),
        ("area", "two\nlines"),
        ("rich", "new"),
        ("date", "2026-02-28"),
        ("time", "23:59"),
        ("local", "2026-02-28T23:59"),
        ("month", "2026-02"),
        ("week", "2026-W09"),
        ("range", "7"),
        ("color", "#ff8800"),
    ];
    for (id, text) in table {
        stage
            .perform(id, plain(text))
            .await
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(stage.node(id).await.value.as_deref(), Some(text), "{id}");
    }
    for (id, _) in &table[..9] {
        stage
            .perform(id, plain(""))
            .await
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(stage.node(id).await.value.as_deref(), Some(""), "{id}");
    }
}

#[tokio::test]
async fn typing_is_trusted_and_replaces() {
    let stage = Stage::showing(&format!(
        "{LOG}<input id=a value=old><input id=d type=date><script>
           a.oninput = event => say(event.isTrusted + ':' + a.value);
           d.oninput = () => say('input'); d.onchange = () => say('change');
         </script>"
    ))
    .await;
    stage.perform("a", plain("new")).await.unwrap();
    stage.perform("d", plain("2026-01-02")).await.unwrap();
    assert_eq!(stage.log().await, "true:new input change");
}

#[tokio::test]
async fn an_app_may_reform_what_is_typed_but_not_drop_it() {
    let stage = Stage::showing(
        "<input id=mask oninput='this.value = this.value.replace(/(...)(....)/, \"$1-$2\")'>
         <input id=drop value=old oninput='this.value = \"old\"'><input id=number type=number><input id=date type=date>",
    )
    .await;
    stage.perform("mask", plain("5551234")).await.unwrap();
    assert_eq!(stage.node("mask").await.value.as_deref(), Some("555-1234"));
    for (id, text) in [("drop", "new"), ("number", "abc")] {
        let id = stage.id(id).await;
        let error = stage
            .page
            .perform(id, &plain(text), SOON)
            .await
            .unwrap_err();
        assert!(
            matches!(error, EngineError::MayHaveCommitted { .. }),
            "{error}"
        );
    }
    let id = stage.id("date").await;
    let error = stage
        .page
        .perform(id, &plain("tomorrow"), BRIEF)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "textbox can't be acted on: its type date does not take that value"
    );
}

#[tokio::test]
async fn what_takes_no_text_is_refused() {
    let stage =
        Stage::showing("<button id=a>A</button><input id=b type=checkbox><input id=c type=file>")
            .await;
    for id in ["a", "b", "c"] {
        let id = stage.id(id).await;
        let error = stage
            .page
            .perform(id, &plain("x"), BRIEF)
            .await
            .unwrap_err();
        assert!(
            error.to_string().ends_with("not a field that takes text"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn no_error_of_a_secret_fill_holds_the_secret() {
    let stage = Stage::showing(
        "<input id=ok type=password><input id=drop oninput='this.value = \"\"'><input id=date type=date><input id=ro readonly>",
    )
    .await;
    let secret = || Gesture::Fill(Input::Secret(Secret::new("hunter2222"), Sink::default()));
    stage.perform("ok", secret()).await.unwrap();
    assert_eq!(stage.node("ok").await.value.as_deref(), Some("hunter2222"));
    for id in ["drop", "date", "ro"] {
        let id = stage.id(id).await;
        let error = stage.page.perform(id, &secret(), BRIEF).await.unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("hunter2222"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn options_are_chosen_by_label_value_or_place() {
    let stage = Stage::showing(&format!(
        "{LOG}<select id=a onchange='say(this.value)'><option value=r>  Red </option><option value=g>Green</option>
         <option value=b disabled>Blue</option></select><div id=c role=combobox tabindex=0>x</div>"
    ))
    .await;
    for (choice, label) in [
        (
            OptionChoice::Label {
                label: "Green".into(),
            },
            "Green",
        ),
        (OptionChoice::Value { value: "r".into() }, "Red"),
        (OptionChoice::Index { index: 1 }, "Green"),
    ] {
        stage.perform("a", Gesture::Select(choice)).await.unwrap();
        assert_eq!(stage.node("a").await.value.as_deref(), Some(label));
    }
    assert_eq!(stage.log().await, "g r g");
    for (id, label, expected) in [
        (
            "a",
            "Pink",
            "it has no option with label \"Pink\" (\"Red\", \"Green\", \"Blue\")",
        ),
        ("a", "Blue", "its option \"Blue\" is disabled"),
        ("c", "x", "not a native select: tap it, then tap the option"),
    ] {
        let id = stage.id(id).await;
        let choice = Gesture::Select(OptionChoice::Label {
            label: label.into(),
        });
        let error = stage.page.perform(id, &choice, BRIEF).await.unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[tokio::test]
async fn an_option_that_comes_late_is_waited_for() {
    let stage = Stage::showing(
        "<select id=a><option>None</select><script>setTimeout(() => a.add(new Option('Late')), 200)</script>",
    )
    .await;
    stage
        .perform(
            "a",
            Gesture::Select(OptionChoice::Label {
                label: "Late".into(),
            }),
        )
        .await
        .unwrap();
    assert_eq!(stage.node("a").await.value.as_deref(), Some("Late"));
}

/// Collects every word that anything says at any level.
#[derive(Clone, Default)]
struct Ears(Arc<Mutex<String>>);

impl tracing::Subscriber for Ears {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.0.lock().unwrap().push_str(&format!("{span:?}"));
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        self.0.lock().unwrap().push_str(&format!("{values:?}"));
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        self.0.lock().unwrap().push_str(&format!("{event:?}"));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn no_log_holds_what_is_typed() {
    let ears = Ears::default();
    let _listening = tracing::subscriber::set_default(ears.clone());
    let stage = Stage::showing("<input id=a type=password>").await;
    stage
        .perform(
            "a",
            Gesture::Fill(Input::Secret(Secret::new("correct horse"), Sink::default())),
        )
        .await
        .unwrap();
    tracing::error!("heard");
    let heard = ears.0.lock().unwrap().clone();
    assert!(heard.contains("heard"));
    assert!(!heard.contains("correct horse"));
}
