//! A scripted page in memory, for tests of rooms above this one.
//!
//! It is made of screens (plain [`Snapshot`]s) and rules that say which gesture leads from one to
//! another. Typed values, checks and choices stay in the screen where they were made; everything
//! done is kept in order in [`FakePage::performed`]. It knows no hidden nodes, no patterns and no
//! time: what it can't do it refuses as [`EngineError::Invalid`].
//!
//! ```
//! use muster_engine::fake::{FakePage, node, screen};
//! use muster_engine::{Gesture, NodeId};
//!
//! let page = FakePage::new(vec![
//!     screen("http://shop/cart", "Cart", vec![node(1, "button", "Pay")]),
//!     screen("http://shop/done", "Thanks", vec![node(2, "status", "Paid")]),
//! ])
//! .on(0, NodeId(1), Gesture::Tap, 1);
//! assert_eq!(page.current(), 0);
//! ```

mod find;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::action::Direction;
use muster_suite::locator::Locator;
use muster_suite::op::OptionChoice;

use crate::page::{EngineError, Gesture, Input, Location, Notice, Page, Pointer, Travel};
use crate::snapshot::{Found, Node, NodeId, Snapshot};

/// A PNG of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\x1b\xb6\xeeV\0\0\0\0IEND\xaeB`\x82";

/// A screen with the default viewport.
pub fn screen(url: &str, title: &str, nodes: Vec<Node>) -> Snapshot {
    Snapshot {
        url: url.into(),
        title: title.into(),
        viewport: (1280, 720),
        nodes,
        truncated: false,
    }
}

/// A node at the top of a screen, in the viewport; text fields are editable and empty, boxes
/// unchecked. Refine it with struct update syntax.
pub fn node(id: u64, role: &str, name: &str) -> Node {
    let editable = matches!(role, "textbox" | "searchbox" | "spinbutton");
    let boxed = matches!(role, "checkbox" | "radio" | "switch");
    let mut node = Node {
        id: NodeId(id),
        role: role.into(),
        name: name.into(),
        tag: "div".into(),
        value: editable.then(String::new),
        editable,
        in_viewport: true,
        rect: (0.0, 0.0, 100.0, 20.0),
        ..Node::default()
    };
    node.states.checked = boxed.then_some(false);
    node
}

/// See the module's text.
pub struct FakePage {
    original: Vec<Snapshot>,
    rules: Vec<Rule>,
    arrivals: Vec<Arrival>,
    state: Mutex<State>,
}

/// A gesture that leads to another screen.
struct Rule {
    from: usize,
    node: NodeId,
    gesture: Gesture,
    to: usize,
}

/// A screen that gives way to another by itself.
struct Arrival {
    from: usize,
    looks: u32,
    to: usize,
}

struct State {
    screens: Vec<Snapshot>,
    /// None = `about:blank`.
    current: Option<usize>,
    /// Looks (snapshots and finds) at the current screen since it came.
    looks: u32,
    back: Vec<usize>,
    forward: Vec<usize>,
    performed: Vec<(NodeId, Gesture)>,
    /// What becomes of the next gestures; none = they are done.
    failures: VecDeque<Option<EngineError>>,
    notices: Vec<Notice>,
}

impl FakePage {
    /// A page that shows the first of these screens.
    pub fn new(screens: Vec<Snapshot>) -> Self {
        let state = State {
            current: (!screens.is_empty()).then_some(0),
            screens: screens.clone(),
            looks: 0,
            back: Vec::new(),
            forward: Vec::new(),
            performed: Vec::new(),
            failures: VecDeque::new(),
            notices: Vec::new(),
        };
        Self {
            original: screens,
            rules: Vec::new(),
            arrivals: Vec::new(),
            state: Mutex::new(state),
        }
    }

    /// A gesture (equal in every detail, a fill's text too) on a node of screen `from` leads to
    /// screen `to`. A key pressed on the page counts for the node that has the focus.
    pub fn on(mut self, from: usize, node: NodeId, gesture: Gesture, to: usize) -> Self {
        self.rules.push(Rule {
            from,
            node,
            gesture,
            to,
        });
        self
    }

    /// Screen `from` becomes screen `to` once it has been looked at `looks` times: a spinner that
    /// ends, a late list.
    pub fn after_looks(mut self, from: usize, looks: u32, to: usize) -> Self {
        self.arrivals.push(Arrival { from, looks, to });
        self
    }

    /// The next gesture or key fails with this and does nothing; several queue up.
    pub fn fail_next(&self, error: EngineError) {
        self.fail_after(0, error);
    }

    /// The same after so many that are done.
    pub fn fail_after(&self, done: usize, error: EngineError) {
        let mut state = self.state();
        state.failures.extend(std::iter::repeat_n(None, done));
        state.failures.push_back(Some(error));
    }

    /// Something happened beside the page.
    pub fn tell(&self, notice: Notice) {
        self.state().notices.push(notice);
    }

    /// Shows a screen, as if the app had decided so.
    pub fn show(&self, screen: usize) {
        self.state().go(screen);
    }

    /// Index of the screen shown; the number of screens when the page is blank.
    pub fn current(&self) -> usize {
        self.state().current.unwrap_or(self.original.len())
    }

    /// Everything done, in order; page-wide keys and texts stand with the focused node, page-wide
    /// scrolls with 0 (none).
    pub fn performed(&self) -> Vec<(NodeId, Gesture)> {
        self.state().performed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no test panics while it holds the fake page")
    }

    fn look(&self) -> Snapshot {
        let mut state = self.state();
        let Some(current) = state.current else {
            return Snapshot {
                url: "about:blank".into(),
                ..Snapshot::default()
            };
        };
        let shown = state.screens[current].clone();
        state.looks += 1;
        let looks = state.looks;
        if let Some(next) = self
            .arrivals
            .iter()
            .find(|next| next.from == current && looks >= next.looks)
        {
            state.current = Some(next.to);
            state.looks = 0;
        }
        shown
    }

    /// The node that has the focus; 0 = none.
    fn focused(&self) -> NodeId {
        let state = self.state();
        let nodes = state.current.map(|current| &state.screens[current].nodes);
        nodes
            .and_then(|nodes| nodes.iter().find(|node| node.states.focused))
            .map_or(NodeId(0), |node| node.id)
    }

    /// Does a gesture on a node of the current screen and follows the rule for it.
    fn act(&self, id: NodeId, gesture: &Gesture) -> Result<(), EngineError> {
        let mut state = self.state();
        if let Some(Some(error)) = state.failures.pop_front() {
            return Err(error);
        }
        if id != NodeId(0) {
            state.apply(id, gesture)?;
        }
        state.performed.push((id, gesture.clone()));
        let rule = self.rules.iter().find(|rule| {
            Some(rule.from) == state.current && rule.node == id && rule.gesture == *gesture
        });
        if let Some(rule) = rule {
            state.go(rule.to);
        }
        Ok(())
    }
}

impl State {
    fn go(&mut self, to: usize) {
        if let Some(from) = self.current {
            self.back.push(from);
        }
        self.forward.clear();
        self.current = Some(to);
        self.looks = 0;
    }

    /// What a node was, for messages, wherever it stands.
    fn was(&self, id: NodeId) -> String {
        let seen = self
            .screens
            .iter()
            .flat_map(|screen| &screen.nodes)
            .find(|node| node.id == id);
        seen.map_or_else(|| "never seen".into(), what)
    }

    fn apply(&mut self, id: NodeId, gesture: &Gesture) -> Result<(), EngineError> {
        let stale = EngineError::NodeStale {
            id,
            was: self.was(id),
        };
        let Some(screen) = self
            .current
            .and_then(|current| self.screens.get_mut(current))
        else {
            return Err(stale);
        };
        let Some(index) = screen.nodes.iter().position(|node| node.id == id) else {
            return Err(stale);
        };
        let refuse = |node: &Node, why: &str| {
            Err(EngineError::NotActionable {
                what: what(node),
                why: why.into(),
            })
        };
        if let Gesture::Drag(to) = gesture
            && !screen.nodes.iter().any(|node| node.id == *to)
        {
            return Err(EngineError::NodeStale {
                id: *to,
                was: "the other end".into(),
            });
        }
        let node = &mut screen.nodes[index];
        if node.states.disabled
            && !matches!(
                gesture,
                Gesture::Hover | Gesture::ScrollIntoView | Gesture::Scroll(_)
            )
        {
            return refuse(node, "disabled");
        }
        match gesture {
            Gesture::Fill(_) if !node.editable => return refuse(node, "not editable"),
            Gesture::Fill(Input::Plain(text)) => node.value = Some(text.clone()),
            Gesture::Fill(Input::Secret(secret, _)) => node.value = Some(secret.expose().into()),
            Gesture::SetChecked(on) if node.states.checked.is_some() => {
                node.states.checked = Some(*on)
            }
            Gesture::SetChecked(_) => return refuse(node, "not a checkbox, radio or switch"),
            Gesture::Tap => {
                node.states.checked = node.states.checked.map(|on| !on || node.role == "radio")
            }
            Gesture::Select(choice) => {
                let label = match choice {
                    OptionChoice::Label { label } | OptionChoice::Value { value: label } => {
                        node.options.iter().find(|option| *option == label)
                    }
                    OptionChoice::Index { index } => node.options.get(*index as usize),
                };
                let Some(label) = label.cloned() else {
                    return refuse(node, "it has no such option");
                };
                node.value = Some(label);
            }
            Gesture::Append(_) if !node.editable => return refuse(node, "not editable"),
            Gesture::Append(text) => node.value.get_or_insert_default().push_str(text),
            Gesture::Upload(files) => {
                let names = files.iter().filter_map(|file| file.file_name()?.to_str());
                node.value = Some(names.collect::<Vec<_>>().join(", "));
            }
            Gesture::DoubleTap
            | Gesture::LongPress(_)
            | Gesture::RightClick
            | Gesture::Drag(_)
            | Gesture::Press(_)
            | Gesture::Hover
            | Gesture::Focus
            | Gesture::ScrollIntoView
            | Gesture::Scroll(_) => {}
        }
        if !matches!(
            gesture,
            Gesture::Hover | Gesture::ScrollIntoView | Gesture::Scroll(_)
        ) {
            for node in &mut screen.nodes {
                node.states.focused = node.id == id;
            }
        }
        Ok(())
    }
}

/// Role and name, as messages say it.
fn what(node: &Node) -> String {
    let role = if node.role.is_empty() {
        &node.tag
    } else {
        &node.role
    };
    if node.name.is_empty() {
        role.clone()
    } else {
        format!("{role} {:?}", node.name)
    }
}

#[async_trait]
impl Page for FakePage {
    fn engine(&self) -> &'static str {
        "fake"
    }

    async fn goto(&self, url: &str, _deadline: Duration) -> Result<(), EngineError> {
        let mut state = self.state();
        let Some(to) = state.screens.iter().position(|screen| screen.url == url) else {
            return Err(EngineError::Navigation {
                url: url.into(),
                reason: "no screen has this address".into(),
            });
        };
        state.go(to);
        Ok(())
    }

    async fn travel(&self, travel: Travel, _deadline: Duration) -> Result<(), EngineError> {
        let mut state = self.state();
        let State {
            back,
            forward,
            current,
            looks,
            ..
        } = &mut *state;
        let (take, keep) = match travel {
            Travel::Reload => return Ok(()),
            Travel::Back => (back, forward),
            Travel::Forward => (forward, back),
        };
        if let Some(to) = take.pop() {
            keep.extend(current.replace(to));
            *looks = 0;
        }
        Ok(())
    }

    async fn location(&self, _deadline: Duration) -> Result<Location, EngineError> {
        let state = self.state();
        let shown = state.current.map(|current| &state.screens[current]);
        Ok(match shown {
            Some(screen) => Location {
                url: screen.url.clone(),
                title: screen.title.clone(),
            },
            None => Location {
                url: "about:blank".into(),
                title: String::new(),
            },
        })
    }

    fn loading(&self) -> bool {
        false
    }

    async fn snapshot(&self, _deadline: Duration) -> Result<Snapshot, EngineError> {
        Ok(self.look())
    }

    async fn find(
        &self,
        locator: &Locator,
        _attribute: Option<&str>,
        _deadline: Duration,
    ) -> Result<Vec<Found>, EngineError> {
        find::find(&self.look(), locator)
    }

    async fn perform(
        &self,
        node: NodeId,
        gesture: &Gesture,
        _deadline: Duration,
    ) -> Result<(), EngineError> {
        self.act(node, gesture)
    }

    async fn press(&self, key: &str, _deadline: Duration) -> Result<(), EngineError> {
        self.act(self.focused(), &Gesture::Press(key.into()))
    }

    async fn type_text(&self, text: &str, _deadline: Duration) -> Result<(), EngineError> {
        self.act(self.focused(), &Gesture::Append(text.into()))
    }

    async fn scroll(&self, direction: Direction, _deadline: Duration) -> Result<(), EngineError> {
        self.act(NodeId(0), &Gesture::Scroll(direction))
    }

    async fn hit(&self, (x, y): (u32, u32), _: Duration) -> Result<Vec<NodeId>, EngineError> {
        let state = self.state();
        let nodes = state.current.map(|current| &state.screens[current].nodes);
        let (x, y) = (f64::from(x), f64::from(y));
        let there = |node: &&Node| {
            let (left, top, width, height) = node.rect;
            (left..left + width).contains(&x) && (top..top + height).contains(&y)
        };
        let found = nodes.into_iter().flatten().filter(there);
        let mut ids: Vec<_> = found.map(|node| node.id).collect();
        ids.reverse();
        Ok(ids)
    }

    async fn point(&self, _: (u32, u32), pointer: Pointer, _: Duration) -> Result<(), EngineError> {
        let gesture = match pointer {
            Pointer::Tap => Gesture::Tap,
            Pointer::Hover => Gesture::Hover,
        };
        self.act(NodeId(0), &gesture)
    }

    async fn clear_state(&self, _deadline: Duration) -> Result<(), EngineError> {
        let mut state = self.state();
        state.screens = self.original.clone();
        state.current = None;
        state.looks = 0;
        Ok(())
    }

    async fn screenshot(&self, _deadline: Duration) -> Result<Vec<u8>, EngineError> {
        // A picture of one white pixel stands for all of them.
        Ok(PIXEL.to_vec())
    }

    fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state().notices)
    }

    async fn close(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    fn shop() -> FakePage {
        let form = screen(
            "http://shop/",
            "Shop",
            vec![
                node(1, "textbox", "Search"),
                node(2, "button", "Go"),
                Node {
                    states: crate::States {
                        disabled: true,
                        ..Default::default()
                    },
                    ..node(3, "button", "Pay")
                },
            ],
        );
        let busy = screen("http://shop/busy", "…", vec![node(4, "status", "Loading")]);
        let list = screen(
            "http://shop/list",
            "Results",
            vec![node(5, "listitem", "Tea")],
        );
        FakePage::new(vec![form, busy, list])
            .on(0, NodeId(2), Gesture::Tap, 1)
            .after_looks(1, 2, 2)
    }

    #[tokio::test]
    async fn gestures_store_values_and_follow_rules() {
        let page = shop();
        page.perform(NodeId(1), &Gesture::Fill(Input::Plain("tea".into())), SOON)
            .await
            .unwrap();
        let seen = page.snapshot(SOON).await.unwrap();
        assert_eq!(seen.nodes[0].value.as_deref(), Some("tea"));
        page.perform(NodeId(2), &Gesture::Tap, SOON).await.unwrap();
        for expected in ["…", "…", "Results"] {
            assert_eq!(page.snapshot(SOON).await.unwrap().title, expected);
        }
        assert_eq!(page.performed().len(), 2);
    }

    #[tokio::test]
    async fn refusals_say_what_and_why() {
        let page = shop();
        let error = page
            .perform(NodeId(3), &Gesture::Tap, SOON)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "button \"Pay\" can't be acted on: disabled"
        );
        let error = page
            .perform(NodeId(5), &Gesture::Tap, SOON)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "n5 (listitem \"Tea\") is no longer on the page"
        );
        assert!(page.performed().is_empty());
    }

    #[tokio::test]
    async fn history_and_clearing() {
        let page = shop();
        page.goto("http://shop/list", SOON).await.unwrap();
        page.travel(Travel::Back, SOON).await.unwrap();
        assert_eq!(page.location(SOON).await.unwrap().title, "Shop");
        page.travel(Travel::Forward, SOON).await.unwrap();
        assert_eq!(page.current(), 2);
        page.clear_state(SOON).await.unwrap();
        assert_eq!(page.location(SOON).await.unwrap().url, "about:blank");
    }
}
