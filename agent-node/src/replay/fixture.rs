//! Screens for tests, written as indented lines, and an app that follows a script.

use std::sync::{Arc, Mutex};
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

use crate::harness::{At, Budget, Harness, Means, Observation, Performed, StepError, ToldCall};

/// A screen: one node a line, one space of indent per depth below the first line's. A line is
/// `role name`; words of the form `~text` (to the end of the line), `=value` (one word), `@testid`,
/// `+on`, `-off` (checked), `+selected`, `+open`, `secure` after `!` set the rest. `.` = no role.
pub(crate) fn screen(location: &str, text: &str) -> Observation {
    let mut nodes: Vec<Node> = Vec::new();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let base = lines.first().map_or(0, |line| indent(line));
    for (index, line) in lines.iter().enumerate() {
        let mut node = Node {
            id: NodeId(index as u64 + 1),
            depth: u32::try_from(indent(line) - base).unwrap(),
            in_viewport: true,
            rect: (0.0, index as f64 * 20.0, 100.0, 20.0),
            ..Node::default()
        };
        let line = match line.trim().split_once('~') {
            Some((line, own)) => {
                node.text = own.to_owned();
                line.trim()
            }
            None => line.trim(),
        };
        let mut name = Vec::new();
        for (at, word) in line.split_whitespace().enumerate() {
            match word {
                role if at == 0 => {
                    node.role = if role == "." {
                        String::new()
                    } else {
                        role.to_owned()
                    }
                }
                "+on" => node.states.checked = Some(true),
                "-off" => node.states.checked = Some(false),
                "+selected" => node.states.selected = Some(true),
                "-selected" => node.states.selected = Some(false),
                "+open" => node.states.expanded = Some(true),
                "!secure" => node.states.secure = true,
                word if word.starts_with('@') => node.test_id = Some(word[1..].to_owned()),
                word if word.starts_with('=') => node.value = Some(word[1..].to_owned()),
                word => name.push(word),
            }
        }
        node.name = name.join(" ");
        node.editable = node.role == "textbox";
        nodes.push(node);
    }
    Observation {
        revision: 1,
        location: location.to_owned(),
        notes: Vec::new(),
        snapshot: Snapshot {
            url: location.to_owned(),
            viewport: (1280, 720),
            nodes,
            ..Snapshot::default()
        },
    }
}

/// Id of the first node with this name or text.
pub(crate) fn id(observation: &Observation, label: &str) -> NodeId {
    observation
        .nodes()
        .iter()
        .find(|node| node.name == label || node.text == label)
        .map(|node| node.id)
        .unwrap_or_else(|| panic!("no {label:?} on the screen"))
}

/// What the app does at an action, by the action's verb and its element's label, e.g. `tap Add`.
pub(crate) enum Reply {
    /// Shows this screen at once.
    Shows(Observation),
    /// Shows it after a while.
    Later(Duration, Observation),
    /// Stays as it is.
    Nothing,
    /// The engine refuses.
    Refuses(ErrorCode),
    /// The engine can't tell.
    Loses,
    /// The step ends.
    Ends(ErrorCode),
}

/// A scripted app behind a harness.
pub(crate) struct Script {
    state: Mutex<State>,
    time: Duration,
    began: Instant,
}

struct State {
    shown: Observation,
    next: Option<(Instant, Observation)>,
    replies: Vec<(String, Reply)>,
    log: Vec<String>,
    revision: u64,
    latest: Option<Arc<Observation>>,
}

impl Script {
    /// An app that shows `start`; the step has two minutes.
    pub(crate) fn new(start: Observation) -> Self {
        let state = State {
            shown: start,
            next: None,
            replies: Vec::new(),
            log: Vec::new(),
            revision: 0,
            latest: None,
        };
        Self {
            state: Mutex::new(state),
            time: Duration::from_secs(120),
            began: Instant::now(),
        }
    }

    /// Answers the next action of this name so; each answer serves once, in order.
    pub(crate) fn on(self, action: &str, reply: Reply) -> Self {
        self.state
            .lock()
            .unwrap()
            .replies
            .push((action.to_owned(), reply));
        self
    }

    /// Changes by itself after a while.
    pub(crate) fn then(self, after: Duration, screen: Observation) -> Self {
        self.state.lock().unwrap().next = Some((Instant::now() + after, screen));
        self
    }

    /// Every action that reached the app.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    fn look(state: &mut State) -> Arc<Observation> {
        if let Some((_, screen)) = state.next.take_if(|(at, _)| *at <= Instant::now()) {
            state.shown = screen;
        }
        state.revision += 1;
        let seen = Arc::new(Observation {
            revision: state.revision,
            ..state.shown.clone()
        });
        state.latest = Some(seen.clone());
        seen
    }
}

#[async_trait]
impl Harness for Script {
    async fn observe(&self) -> Result<Arc<Observation>, StepError> {
        Ok(Self::look(&mut self.state.lock().unwrap()))
    }

    async fn perform(&self, action: Action<NodeId>) -> Result<Performed, StepError> {
        let mut state = self.state.lock().unwrap();
        let before = state.latest.clone().unwrap();
        let label = action.target().map(|id| {
            let node = before.node(*id).expect("an id of the newest observation");
            [&node.name, &node.text, &node.role]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap()
                .clone()
        });
        let name = [Some(action.verb().to_owned()), label]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let found = state.replies.iter().position(|(each, _)| *each == name);
        let reply = found.map_or(Reply::Nothing, |index| state.replies.remove(index).1);
        match reply {
            Reply::Shows(screen) => state.shown = screen,
            Reply::Later(after, screen) => state.next = Some((Instant::now() + after, screen)),
            Reply::Nothing => {}
            Reply::Refuses(code) => {
                return Err(StepError::Refused {
                    code,
                    message: "not now".to_owned(),
                });
            }
            Reply::Loses => {
                state.log.push(name);
                return Err(StepError::Uncertain {
                    message: "the socket closed".to_owned(),
                });
            }
            Reply::Ends(code) => return Err(StepError::Stop(Problem::new(code, "over"))),
        }
        let typed = match &action {
            Action::Type {
                value: Typed::Literal { text },
                ..
            } => format!("{name} <- {text}"),
            _ => name,
        };
        state.log.push(typed);
        let after = Self::look(&mut state);
        let changed =
            before.snapshot.nodes != after.snapshot.nodes || before.location != after.location;
        Ok(Performed {
            action,
            before,
            after,
            changed,
            settled_in: Duration::ZERO,
        })
    }

    async fn screenshot(&self) -> Result<Image, StepError> {
        panic!("a replay takes no picture")
    }

    async fn at(&self, _: u32, _: u32) -> Result<At, StepError> {
        panic!("a replay sees no picture")
    }

    async fn point(
        &self,
        _: u32,
        _: u32,
        _: Pointer,
    ) -> Result<(Arc<Observation>, Arc<Observation>), StepError> {
        panic!("a replay sees no picture")
    }

    fn means(&self) -> Means {
        panic!("a replay has what it has")
    }

    fn model(&self, _: Tier) -> Option<ModelInfo> {
        None
    }

    fn note(&self, _: EventKind, _: &str, _: &str) {}

    async fn complete(&self, _: Tier, _: &ModelRequest) -> Result<ModelReply, StepError> {
        panic!("a replay calls no model")
    }

    fn told(&self, _: Tier, _: &ToldCall) -> Result<(), StepError> {
        panic!("a replay calls no model")
    }

    fn decide(&self) -> Result<(), StepError> {
        panic!("a replay decides nothing")
    }

    fn budget(&self) -> Budget {
        let time = self.time.saturating_sub(self.began.elapsed());
        Budget {
            actions: 25,
            model_calls: 25,
            time,
        }
    }

    async fn pause(&self, delay: Duration) -> Result<(), StepError> {
        tokio::time::sleep(delay).await;
        Ok(())
    }
}
