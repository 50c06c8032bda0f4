//! A harness over a drawn app. It counts, keeps what was done, and knows no policy.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use muster_engine::page::Pointer;
use muster_engine::{Node, NodeId, Snapshot};
use muster_proto::action::{Action, Typed};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::step::{EventKind, Tier};
use muster_providers::model::{Image, ModelInfo, ModelReply, ModelRequest};
use tokio::time::Instant;

use super::parse::{App, Lead};
use crate::harness::{At, Budget, Harness, Means, Observation, Performed, StepError, ToldCall};

/// See the module.
pub(in crate::executor) struct FakeHarness {
    app: App,
    state: Mutex<State>,
}

struct State {
    at: String,
    snapshot: Snapshot,
    revision: u64,
    done: Vec<String>,
    decisions: u32,
    told: Vec<(Tier, ToldCall)>,
    actions: u32,
    replies: VecDeque<ModelReply>,
    requests: Vec<ModelRequest>,
    tiers: Vec<Tier>,
    events: Vec<(EventKind, String)>,
    /// Whether its models take pictures.
    sees: bool,
    /// Whether pixels are closed.
    closed: bool,
    /// Requests that the model still refuses for their length.
    overflows: u32,
    /// Actions that still end without a known outcome.
    uncertain: u32,
    /// When the step ends, by what is told of it: nothing ends it.
    ends: Instant,
}

/// Actions, and model calls or decisions, of one step.
const BUDGET: u32 = 25;

impl FakeHarness {
    /// Begins on this screen.
    pub(in crate::executor) fn new(app: App, start: &str) -> Self {
        let snapshot = app
            .screens
            .get(start)
            .unwrap_or_else(|| panic!("no screen {start:?}"))
            .clone();
        let state = State {
            at: start.to_owned(),
            snapshot,
            revision: 0,
            done: Vec::new(),
            decisions: 0,
            told: Vec::new(),
            actions: 0,
            replies: VecDeque::new(),
            requests: Vec::new(),
            tiers: Vec::new(),
            events: Vec::new(),
            sees: false,
            closed: false,
            overflows: 0,
            uncertain: 0,
            ends: Instant::now() + Duration::from_secs(120),
        };
        Self {
            app,
            state: Mutex::new(state),
        }
    }

    /// What the model will answer, in order.
    pub(in crate::executor) fn replies(
        self,
        replies: impl IntoIterator<Item = ModelReply>,
    ) -> Self {
        self.state().replies.extend(replies);
        self
    }

    /// With models that take pictures; `closed` = the attempt's pixels are.
    pub(in crate::executor) fn seeing(self, closed: bool) -> Self {
        (self.state().sees, self.state().closed) = (true, closed);
        self
    }

    /// The next so many requests are too long for the model.
    pub(in crate::executor) fn overflowing(self, requests: u32) -> Self {
        self.state().overflows = requests;
        self
    }

    /// The next so many actions end without a known outcome.
    pub(in crate::executor) fn unsure(self, actions: u32) -> Self {
        self.state().uncertain = actions;
        self
    }

    /// The step ends after this long.
    pub(in crate::executor) fn lasting(self, time: Duration) -> Self {
        self.state().ends = Instant::now() + time;
        self
    }

    /// What guards wrote down: kind and name.
    pub(in crate::executor) fn events(&self) -> Vec<(EventKind, String)> {
        self.state().events.clone()
    }

    /// What was done, one line each.
    pub(in crate::executor) fn done(&self) -> Vec<String> {
        self.state().done.clone()
    }

    /// The name of the current screen.
    pub(in crate::executor) fn at(&self) -> String {
        self.state().at.clone()
    }

    /// Decisions that were counted.
    pub(in crate::executor) fn decisions(&self) -> u32 {
        self.state().decisions
    }

    /// Calls that the executor made by itself.
    pub(in crate::executor) fn told(&self) -> Vec<(Tier, ToldCall)> {
        self.state().told.clone()
    }

    /// What the model was asked.
    pub(in crate::executor) fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// What the model was asked for, one a request.
    pub(in crate::executor) fn tiers(&self) -> Vec<Tier> {
        self.state().tiers.clone()
    }

    /// The id of a node on the current screen.
    pub(in crate::executor) fn id(&self, role: &str, name: &str) -> NodeId {
        let found = self
            .state()
            .snapshot
            .nodes
            .iter()
            .find(|node| node.role == role && node.name == name)
            .map(|node| node.id);
        found.unwrap_or_else(|| panic!("no {role} {name:?}"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn observe_now(state: &mut State) -> Arc<Observation> {
        state.revision += 1;
        Arc::new(Observation {
            revision: state.revision,
            location: state.snapshot.url.clone(),
            notes: Vec::new(),
            snapshot: state.snapshot.clone(),
        })
    }
}

fn exhausted() -> StepError {
    StepError::Stop(Problem::new(
        ErrorCode::StepBudgetExhausted,
        "the budget is spent",
    ))
}

#[async_trait]
impl Harness for FakeHarness {
    async fn observe(&self) -> Result<Arc<Observation>, StepError> {
        Ok(Self::observe_now(&mut self.state()))
    }

    async fn perform(&self, action: Action<NodeId>) -> Result<Performed, StepError> {
        let mut state = self.state();
        state.actions += 1;
        if state.actions > BUDGET {
            return Err(exhausted());
        }
        let before = Self::observe_now(&mut state);
        let refused = |what: String| StepError::Refused {
            code: ErrorCode::ActionFailed,
            message: what,
        };
        let target = match action.target() {
            Some(&id) => {
                let index = state.snapshot.nodes.iter().position(|node| node.id == id);
                Some(index.ok_or_else(|| refused(format!("{id} is not on the screen")))?)
            }
            None => None,
        };
        let what = target
            .map(|index| line(&state.snapshot, index))
            .unwrap_or_default();
        let mut follows = false;
        let said = match (&action, target) {
            (Action::Tap { .. }, _) => {
                follows = true;
                format!("tap {what}")
            }
            (Action::Press { key, .. }, _) => {
                follows = key == "Enter";
                format!("press {key} on {what}")
            }
            (Action::Type { value, .. }, Some(index)) => {
                let (shown, text) = match value {
                    Typed::Literal { text } | Typed::Template { text } => {
                        (format!("{text:?}"), text.clone())
                    }
                    Typed::Secret { name } => (format!("<{name}>"), "••••".to_owned()),
                };
                let node: &mut Node = &mut state.snapshot.nodes[index];
                if !node.editable {
                    return Err(refused(format!("{what} takes no text")));
                }
                node.value = Some(text);
                format!("type {shown} into {what}")
            }
            (Action::Select { label, .. }, Some(index)) => {
                follows = state.snapshot.nodes[index].value.as_ref() != Some(label);
                state.snapshot.nodes[index].value = Some(label.clone());
                format!("select {label:?} in {what}")
            }
            (Action::Check { checked, .. }, Some(index)) => {
                state.snapshot.nodes[index].states.checked = Some(*checked);
                format!("{} {what}", if *checked { "check" } else { "uncheck" })
            }
            (other, _) => other.verb().to_owned(),
        };
        state.done.push(said);
        if state.uncertain > 0 {
            state.uncertain -= 1;
            return Err(StepError::Uncertain {
                message: "the browser did not answer".to_owned(),
            });
        }
        let lead = action
            .target()
            .filter(|_| follows)
            .and_then(|id| self.app.leads.get(id));
        match lead {
            Some(Lead::Screen(to)) => {
                state.snapshot = self
                    .app
                    .screens
                    .get(to)
                    .unwrap_or_else(|| panic!("no screen {to:?}"))
                    .clone();
                state.at.clone_from(to);
            }
            Some(Lead::Status(text)) => {
                let id = NodeId(900_000 + u64::from(state.actions));
                let status = Node {
                    id,
                    role: "status".to_owned(),
                    text: text.clone(),
                    in_viewport: true,
                    ..Node::default()
                };
                state.snapshot.nodes.push(status);
            }
            None => {}
        }
        let after = Self::observe_now(&mut state);
        let changed = before.snapshot != after.snapshot;
        Ok(Performed {
            action,
            before,
            after,
            changed,
            settled_in: Duration::from_millis(1),
        })
    }

    async fn screenshot(&self) -> Result<Image, StepError> {
        if self.state().closed {
            return Err(StepError::Refused {
                code: ErrorCode::PolicyDenied,
                message: "no pixels".to_owned(),
            });
        }
        Ok(Image {
            media_type: "image/png",
            bytes: b"a picture".as_slice().into(),
        })
    }

    /// The pixel rows of a picture are the lines of the outline.
    async fn at(&self, _: u32, y: u32) -> Result<At, StepError> {
        let state = self.state();
        let index = usize::try_from(y).unwrap();
        let node = state.snapshot.nodes.get(index);
        Ok(node.map_or(At::Bare, |node| At::Control(node.id)))
    }

    async fn point(
        &self,
        x: u32,
        y: u32,
        pointer: Pointer,
    ) -> Result<(Arc<Observation>, Arc<Observation>), StepError> {
        let mut state = self.state();
        state.done.push(format!("{pointer:?} at {x},{y}"));
        let seen = Self::observe_now(&mut state);
        Ok((Arc::clone(&seen), seen))
    }

    fn means(&self) -> Means {
        Means {
            pixels: !self.state().closed,
            files: true,
        }
    }

    fn model(&self, _: Tier) -> Option<ModelInfo> {
        self.state().sees.then(|| ModelInfo {
            provider: "scripted",
            model: "drawn".to_owned(),
            vision: true,
        })
    }

    fn note(&self, kind: EventKind, name: &str, _: &str) {
        self.state().events.push((kind, name.to_owned()));
    }

    async fn complete(&self, tier: Tier, request: &ModelRequest) -> Result<ModelReply, StepError> {
        let mut state = self.state();
        state.tiers.push(tier);
        state.requests.push(request.clone());
        if state.overflows > 0 {
            state.overflows -= 1;
            return Err(StepError::Refused {
                code: ErrorCode::ContextOverflow,
                message: "the prompt is too long".to_owned(),
            });
        }
        state.replies.pop_front().ok_or_else(exhausted)
    }

    fn told(&self, tier: Tier, call: &ToldCall) -> Result<(), StepError> {
        let mut state = self.state();
        state.told.push((tier, call.clone()));
        if state.told.len() > BUDGET as usize {
            Err(exhausted())
        } else {
            Ok(())
        }
    }

    fn decide(&self) -> Result<(), StepError> {
        let mut state = self.state();
        state.decisions += 1;
        if state.decisions > BUDGET {
            Err(exhausted())
        } else {
            Ok(())
        }
    }

    fn budget(&self) -> Budget {
        let state = self.state();
        let asked = u32::try_from(state.requests.len()).unwrap() + state.decisions;
        Budget {
            actions: BUDGET - state.actions.min(BUDGET),
            model_calls: BUDGET - asked.min(BUDGET),
            time: state.ends.saturating_duration_since(Instant::now()),
        }
    }

    async fn pause(&self, _delay: Duration) -> Result<(), StepError> {
        Ok(())
    }
}

/// `button "Remove" in "Sun Hat"`.
fn line(snapshot: &Snapshot, index: usize) -> String {
    let node = &snapshot.nodes[index];
    let mut depth = node.depth;
    for (at, above) in snapshot.nodes[..index]
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, above)| !above.role.is_empty())
    {
        if above.depth < depth {
            depth = above.depth;
            if matches!(
                above.role.as_str(),
                "listitem" | "row" | "article" | "dialog"
            ) {
                let inside = snapshot.nodes[at..].iter().map(|node| {
                    if node.name.is_empty() {
                        &node.text
                    } else {
                        &node.name
                    }
                });
                let title = inside
                    .into_iter()
                    .find(|text| !text.is_empty())
                    .cloned()
                    .unwrap_or_default();
                return format!("{} {:?} in {title:?}", node.role, node.name);
            }
        }
    }
    format!("{} {:?}", node.role, node.name)
}
