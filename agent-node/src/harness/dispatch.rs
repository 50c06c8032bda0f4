//! An action on its way to the page.

use std::time::Duration;

use muster_engine::page::Input;
use muster_engine::{EngineError, Gesture, NodeId, Travel};
use muster_proto::action::{Action, Direction, Typed};
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::step::EventKind;
use muster_suite::op::OptionChoice;
use tokio::time::Instant;

use super::seek::Seek;
use super::{Harness, Observation, PageError, StepError, StepHarness, location};

/// An action in the engine's words.
pub(super) enum Dispatch {
    On(NodeId, Gesture),
    Key(String),
    Keyboard(String),
    Scroll(Direction),
    Seek(Seek),
    Goto(url::Url),
    Back,
}

impl Dispatch {
    /// Whether it leaves the page.
    pub(super) fn moves(&self) -> bool {
        matches!(self, Dispatch::Goto(_) | Dispatch::Back)
    }
}

impl StepHarness<'_> {
    /// The action as the engine takes it; a secret's value is resolved only here.
    pub(super) async fn resolve(
        &self,
        action: &Action<NodeId>,
        before: &Observation,
    ) -> Result<Dispatch, StepError> {
        let on = |node: NodeId, gesture| Ok(Dispatch::On(node, gesture));
        match action {
            Action::Tap { target } => on(*target, Gesture::Tap),
            Action::DoubleTap { target } => on(*target, Gesture::DoubleTap),
            Action::LongPress { target, hold_ms } => {
                on(*target, Gesture::LongPress(Duration::from_millis(*hold_ms)))
            }
            Action::RightClick { target } => on(*target, Gesture::RightClick),
            Action::Drag { target, to } => on(*target, Gesture::Drag(*to)),
            Action::Hover { target } => on(*target, Gesture::Hover),
            Action::ScrollTo { target } => on(*target, Gesture::ScrollIntoView),
            Action::Check { target, checked } => on(*target, Gesture::SetChecked(*checked)),
            Action::Select { target, label } => on(
                *target,
                Gesture::Select(OptionChoice::Label {
                    label: label.clone(),
                }),
            ),
            Action::Press {
                target: Some(target),
                key,
                ..
            } => on(*target, Gesture::Press(key.clone())),
            Action::Press {
                target: None, key, ..
            } => Ok(Dispatch::Key(key.clone())),
            Action::TypeText { text } => Ok(Dispatch::Keyboard(text.clone())),
            Action::Scroll {
                target: Some(target),
                direction,
                ..
            } => on(*target, Gesture::Scroll(*direction)),
            Action::Scroll {
                target: None,
                direction,
                ..
            } => Ok(Dispatch::Scroll(*direction)),
            Action::ScrollUntil {
                target,
                text,
                direction,
            } => Ok(Dispatch::Seek(Seek {
                within: *target,
                text: text.clone(),
                direction: *direction,
            })),
            Action::Upload { target, files } => {
                let limit = self.limit();
                let unpacked = self.attempt.unpacked(&self.scope, files, limit).await;
                let files = unpacked.map_err(|why| match self.scope.ended() {
                    Some(problem) => self.stop(problem),
                    None => self.denied(&why),
                })?;
                self.note(
                    EventKind::Allowed,
                    Guard::UploadPath.as_str(),
                    &format!("{} files", files.len()),
                );
                on(*target, Gesture::Upload(files))
            }
            Action::Type {
                target,
                value,
                replace,
            } => match value {
                Typed::Literal { text } if *replace => {
                    on(*target, Gesture::Fill(Input::Plain(text.clone())))
                }
                Typed::Literal { text } => on(*target, Gesture::Append(text.clone())),
                Typed::Secret { name } => {
                    let sink = self.sink(name, *target, before)?;
                    let resolved = self.attempt.secret(&self.scope, name).await;
                    let secret = resolved.map_err(|why| match self.scope.ended() {
                        Some(problem) => self.stop(problem),
                        None => self.refused(why.code, &why.message),
                    })?;
                    self.note(EventKind::Allowed, Guard::SecretFill.as_str(), name);
                    on(*target, Gesture::Fill(Input::Secret(secret, sink)))
                }
                Typed::Template { .. } => Err(self.refused(
                    ErrorCode::ActionFailed,
                    "text with open slots can't be typed",
                )),
            },
            Action::Navigate { path } => {
                let url = location::on_site(path, self.attempt.app())
                    .map_err(|denied| self.denied(&denied))?;
                Ok(Dispatch::Goto(url))
            }
            Action::Back {} => Ok(Dispatch::Back),
        }
    }

    /// Does it as often as is asked for. What fails after the first time has been done in part.
    pub(super) async fn dispatch(&self, dispatch: &Dispatch, times: u32) -> Result<(), PageError> {
        let ends = Instant::now() + self.limit();
        for done in 0..times {
            let left = ends.saturating_duration_since(Instant::now());
            match self.dispatch_once(dispatch, left).await {
                Err(PageError::Engine(error))
                    if done > 0 && !matches!(error, EngineError::Dead(_)) =>
                {
                    return Err(PageError::Engine(EngineError::MayHaveCommitted {
                        what: format!("{done} of {times} times"),
                        why: error.to_string(),
                    }));
                }
                result => result?,
            }
        }
        Ok(())
    }

    async fn dispatch_once(&self, dispatch: &Dispatch, limit: Duration) -> Result<(), PageError> {
        let (attempt, scope) = (self.attempt, &self.scope);
        match dispatch {
            Dispatch::On(node, gesture) => attempt.gesture(scope, *node, gesture, limit).await,
            Dispatch::Key(key) => attempt.press(scope, key, limit).await,
            Dispatch::Keyboard(text) => attempt.type_text(scope, text, limit).await,
            Dispatch::Scroll(direction) => attempt.scroll(scope, *direction, limit).await,
            Dispatch::Seek(seek) => seek.run(attempt, scope, limit).await,
            Dispatch::Goto(url) => attempt.goto(scope, url, limit).await,
            Dispatch::Back => attempt.travel(scope, Travel::Back, limit).await,
        }
    }
}
