//! Gestures: the script gets an element ready and guards it, DevTools sends trusted input.

use std::path::PathBuf;
use std::time::Duration;

use muster_proto::guard::Guard;
use muster_suite::op::OptionChoice;
use serde::Deserialize;
use serde_json::{Value, json};

use super::deadline::Deadline;
use super::ids::Ids;
use super::keyboard;
use super::keys::Chord;
use super::pointer::Click;
use super::tab::{AskError, Tab};
use super::wire::CallError;
use crate::page::{EngineError, Gesture, Input, Sink};
use crate::snapshot::NodeId;

/// How long the script waits for readiness in one call.
const WAIT_IN_PAGE: Duration = Duration::from_millis(500);
/// Between two looks at something that only the app can change.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// One element and what is said of it in errors.
pub(super) struct Aim<'a> {
    pub(super) tab: &'a Tab,
    pub(super) ids: &'a Ids,
    pub(super) id: NodeId,
    /// Role and name.
    pub(super) was: String,
    pub(super) deadline: Deadline,
}

/// What the script found of an element, in all its answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Look {
    stale: bool,
    /// What is in the way.
    why: Option<String>,
    pub(super) x: f64,
    pub(super) y: f64,
    /// Of an upload, the field itself.
    field: Option<NodeId>,
}

/// A field, read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Field {
    stale: bool,
    why: Option<String>,
    /// How it is filled: `text`, `value`, `content`; none = it isn't.
    kind: Option<String>,
    value: Option<String>,
    checked: Option<bool>,
    toggle: String,
}

/// What became of a secret.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sunk {
    stale: bool,
    why: Option<String>,
    /// The rule that the field breaks.
    rule: Option<String>,
    /// The field holds what was typed, or what the app made of it.
    took: bool,
}

/// What a gesture needs beyond being attached and visible.
#[derive(Clone, Copy)]
pub(super) struct Need {
    pub(super) enabled: bool,
    pub(super) editable: bool,
    pub(super) pointer: bool,
}

impl Aim<'_> {
    pub(super) async fn perform(&self, gesture: &Gesture) -> Result<(), EngineError> {
        match gesture {
            Gesture::Tap => self.click(&Click::tap("tap")).await,
            Gesture::DoubleTap => self.click(&Click::double()).await,
            Gesture::LongPress(hold) => self.click(&Click::held(*hold)).await,
            Gesture::RightClick => self.click(&Click::right()).await,
            Gesture::Drag(to) => self.drag(*to).await,
            Gesture::Append(text) => self.append(text).await,
            Gesture::Scroll(direction) => {
                let look: Look = self.ask("scrollBy", json!([self.id, direction])).await?;
                self.accept(look).map(drop)
            }
            Gesture::Fill(Input::Plain(text)) => self.fill(text).await,
            Gesture::Fill(Input::Secret(secret, sink)) => {
                self.fill_secret(secret.expose(), sink).await
            }
            Gesture::Press(key) => self.press(key).await,
            Gesture::SetChecked(on) => self.set_checked(*on).await,
            Gesture::Select(choice) => self.select(choice).await,
            Gesture::Hover => {
                let point = self
                    .ready(Need {
                        enabled: false,
                        editable: false,
                        pointer: true,
                    })
                    .await?;
                self.point_at(&point, "hover").await
            }
            Gesture::Upload(files) => self.upload(files).await,
            Gesture::Focus => {
                self.ready(Need {
                    enabled: true,
                    editable: false,
                    pointer: false,
                })
                .await?;
                self.focus().await
            }
            Gesture::ScrollIntoView => {
                let look: Look = self.ask("scroll", json!([self.id])).await?;
                self.accept(look).map(drop)
            }
        }
    }

    /// Waits until the element can take the gesture; yields the point to touch.
    pub(super) async fn ready(&self, need: Need) -> Result<Look, EngineError> {
        let need = json!({ "enabled": need.enabled, "editable": need.editable, "pointer": need.pointer, "hit": Guard::TargetHit.holds() });
        self.wait("ready", need).await
    }

    /// Asks until nothing is in the way; the script itself waits a little in each call.
    async fn wait(&self, call: &str, detail: Value) -> Result<Look, EngineError> {
        let mut obstacle = None;
        loop {
            let budget = WAIT_IN_PAGE.min(self.deadline.left() / 2).as_millis();
            let args = json!([self.id, detail, u64::try_from(budget).unwrap_or(0)]);
            let look = match (self.ask::<Look>(call, args).await, obstacle.take()) {
                (Ok(look), _) => look,
                // The last look was cut off; what the one before saw is the better answer.
                (Err(EngineError::Timeout { .. }), Some(why)) => {
                    return Err(self.not_actionable(why));
                }
                (Err(error), _) => return Err(error),
            };
            if look.stale || look.why.is_none() || self.deadline.left() < LOOK_AGAIN {
                return self.accept(look);
            }
            obstacle = look.why;
        }
    }

    async fn set_checked(&self, on: bool) -> Result<(), EngineError> {
        let field = self.read().await?;
        match field.checked {
            None => return Err(self.not_actionable("not a checkbox, radio or switch")),
            Some(checked) if checked == on => return Ok(()),
            Some(_) if field.toggle == "radio" && !on => {
                return Err(
                    self.not_actionable("a radio can't be turned off: choose another of its group")
                );
            }
            Some(_) => {}
        }
        let verb = if on { "check" } else { "uncheck" };
        self.click(&Click::tap(verb)).await?;
        // The app may set the state a little later, or replace the element.
        loop {
            match self
                .tab
                .ask_once::<Field>("read", json!([self.id]), self.deadline, verb)
                .await
            {
                Ok(field) if field.stale || field.checked == Some(on) => return Ok(()),
                Err(AskError::Lost) => return Ok(()),
                Err(AskError::Failed(error)) => return Err(error),
                Ok(_) if self.deadline.left() >= LOOK_AGAIN => tokio::time::sleep(LOOK_AGAIN).await,
                Ok(_) => return Err(self.may_have(verb, "it was clicked and did not change")),
                Err(AskError::Late) => return Err(self.unsure(verb, CallError::Timeout)),
            }
        }
    }

    /// Replaces a field's text. Messages never hold it: it may be a secret.
    async fn fill(&self, text: &str) -> Result<(), EngineError> {
        self.ready(Need {
            enabled: true,
            editable: true,
            pointer: true,
        })
        .await?;
        let field = self.read().await?;
        if field.kind.as_deref() == Some("value") {
            return self.assign("assign", "fill", json!([self.id, text])).await;
        }
        let selected: Field = self.ask("select", json!([self.id])).await?;
        let before = self.accept_field(selected)?.value.unwrap_or_default();
        if !text.is_empty() {
            let typed = self
                .tab
                .call("Input.insertText", json!({ "text": text }), self.deadline)
                .await;
            typed.map_err(|error| self.unsure("fill", error))?;
        } else if !before.is_empty() {
            self.chord("Delete").await?;
        }
        let after = match self
            .tab
            .ask_once::<Field>("read", json!([self.id]), self.deadline, "fill")
            .await
        {
            Ok(field) if field.stale => return Ok(()),
            Ok(field) => field.value.unwrap_or_default(),
            // Typing led to another document, or to another element in this one's place.
            Err(AskError::Lost) => return Ok(()),
            Err(AskError::Late) => return Err(self.unsure("fill", CallError::Timeout)),
            Err(AskError::Failed(error)) => return Err(error),
        };
        // An app may write the text in its own form, but not drop it.
        let dropped =
            after.is_empty() != text.is_empty() || (after == before && !same_text(&after, text));
        if dropped {
            Err(self.may_have("fill", "the field did not take the text"))
        } else {
            Ok(())
        }
    }

    /// Types after a field's text.
    async fn append(&self, text: &str) -> Result<(), EngineError> {
        self.ready(Need {
            enabled: true,
            editable: true,
            pointer: true,
        })
        .await?;
        if self.read().await?.kind.as_deref() == Some("value") {
            return Err(self.not_actionable("its widget sets a value as a whole: replace it"));
        }
        let selected: Field = self.ask("select", json!([self.id])).await?;
        let before = self.accept_field(selected)?.value.unwrap_or_default();
        if !before.is_empty() {
            // From all of it to its end.
            self.chord("ArrowRight").await?;
        }
        self.tab
            .call("Input.insertText", json!({ "text": text }), self.deadline)
            .await
            .map(drop)
            .map_err(|error| self.unsure("type", error))
    }

    /// Replaces a field's text by a secret. The script looks at the field and types in one go, so
    /// that no page can change the one after the other.
    async fn fill_secret(&self, text: &str, sink: &Sink) -> Result<(), EngineError> {
        self.ready(Need {
            enabled: true,
            editable: true,
            pointer: true,
        })
        .await?;
        let args = json!([self.id, text, sink]);
        let sunk = match self
            .tab
            .ask_once::<Sunk>("sink", args, self.deadline, "fill")
            .await
        {
            Ok(sunk) => sunk,
            Err(AskError::Lost) => {
                return Err(self.may_have("fill", "the page changed its document meanwhile"));
            }
            Err(AskError::Late) => return Err(self.unsure("fill", CallError::Timeout)),
            Err(AskError::Failed(error)) => return Err(error),
        };
        let rule = |name: &str| Guard::ALL.iter().find(|guard| guard.as_str() == name);
        if let (Some(guard), Some(why)) = (sunk.rule.as_deref().and_then(rule), &sunk.why) {
            return Err(EngineError::Unfit {
                what: self.was.clone(),
                why: why.clone(),
                guard: *guard,
            });
        }
        self.accept(Look {
            stale: sunk.stale,
            why: sunk.why,
            ..Look::default()
        })?;
        if sunk.took {
            Ok(())
        } else {
            Err(self.may_have("fill", "the field did not take the text"))
        }
    }

    /// Sets the files of the field that the element is or stands for.
    async fn upload(&self, files: &[PathBuf]) -> Result<(), EngineError> {
        let look = self.wait("fileField", json!(files.len())).await?;
        let field = look.field.unwrap_or(self.id);
        let object = self.tab.object(field, self.deadline, &self.was).await?;
        let params = json!({ "files": files, "objectId": object });
        let set = self
            .tab
            .call("DOM.setFileInputFiles", params, self.deadline)
            .await;
        set.map(drop).map_err(|error| match error {
            CallError::Refused(why) => self.not_actionable(why),
            error => self.unsure("upload", error),
        })
    }

    async fn select(&self, choice: &OptionChoice) -> Result<(), EngineError> {
        self.ready(Need {
            enabled: true,
            editable: false,
            pointer: true,
        })
        .await?;
        // The app may offer the option a little later.
        self.wait("offers", json!(choice)).await?;
        self.assign("choose", "select", json!([self.id, choice]))
            .await
    }

    /// Lets the script set a value, once.
    async fn assign(&self, call: &str, verb: &str, args: Value) -> Result<(), EngineError> {
        match self
            .tab
            .ask_once::<Look>(call, args, self.deadline, verb)
            .await
        {
            Ok(look) => self.accept(look).map(drop),
            Err(AskError::Lost) => {
                Err(self.may_have(verb, "the page changed its document meanwhile"))
            }
            Err(AskError::Late) => Err(self.unsure(verb, CallError::Timeout)),
            Err(AskError::Failed(error)) => Err(error),
        }
    }

    async fn press(&self, key: &str) -> Result<(), EngineError> {
        Chord::parse(key)?;
        self.ready(Need {
            enabled: true,
            editable: false,
            pointer: false,
        })
        .await?;
        self.focus().await?;
        self.chord(key).await
    }

    async fn chord(&self, key: &str) -> Result<(), EngineError> {
        keyboard::press(self.tab, key, self.deadline, &self.was).await
    }

    async fn focus(&self) -> Result<(), EngineError> {
        let look: Look = self.ask("focus", json!([self.id])).await?;
        self.accept(look).map(drop)
    }

    async fn read(&self) -> Result<Field, EngineError> {
        let field: Field = self.ask("read", json!([self.id])).await?;
        self.accept_field(field)
    }

    pub(super) async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        call: &str,
        args: Value,
    ) -> Result<T, EngineError> {
        self.tab.ask(call, args, self.deadline, &self.was).await
    }

    pub(super) fn accept(&self, look: Look) -> Result<Look, EngineError> {
        if look.stale {
            return Err(EngineError::NodeStale {
                id: self.id,
                was: self.was.clone(),
            });
        }
        match &look.why {
            Some(why) => Err(self.not_actionable(why.as_str())),
            None => Ok(look),
        }
    }

    fn accept_field(&self, field: Field) -> Result<Field, EngineError> {
        self.accept(Look {
            stale: field.stale,
            why: field.why.clone(),
            ..Look::default()
        })?;
        Ok(field)
    }

    pub(super) fn not_actionable(&self, why: impl Into<String>) -> EngineError {
        EngineError::NotActionable {
            what: self.was.clone(),
            why: why.into(),
        }
    }

    pub(super) fn may_have(&self, verb: &str, why: &str) -> EngineError {
        EngineError::MayHaveCommitted {
            what: format!("{verb} on {}", self.was),
            why: why.into(),
        }
    }

    /// Input was sent and its end is unknown.
    pub(super) fn unsure(&self, verb: &str, error: CallError) -> EngineError {
        unsure(&format!("{verb} on {}", self.was), error)
    }
}

pub(super) fn unsure(what: &str, error: CallError) -> EngineError {
    let why = match error {
        CallError::Dead(why) => format!("the browser died: {why}"),
        CallError::Timeout => "the page did not answer in time".into(),
        CallError::Refused(why) => why,
    };
    EngineError::MayHaveCommitted {
        what: what.into(),
        why,
    }
}

/// Equal but for line ends, which fields normalise.
fn same_text(a: &str, b: &str) -> bool {
    a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}
