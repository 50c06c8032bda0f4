//! What tells that a goal was reached: a node with its content, as it was recorded.

use muster_engine::Node;
use muster_proto::action::{Action, Target, Typed};
use muster_proto::recording::{Anchor, RecordedAction};
use muster_proto::secret::marker;

use super::screen::{Screen, clip, says_what, toggle};
use super::volatile::MASK;
use super::wording::{Pattern, Wording, masked};

/// The node as an anchor; none if it shows nothing that could be found again: no text, numbers and
/// minted stretches alone, or text with `{{`.
pub(super) fn anchor_of(screen: &Screen<'_>, index: usize, wording: &Wording) -> Option<Anchor> {
    let node = &screen.nodes()[index];
    let name = wording.stored(clip(&node.name))?;
    let text = wording.stored(&screen.text(index))?;
    let value = match &node.value {
        Some(raw) if !node.states.secure => Some(wording.stored(clip(raw))?),
        _ => None,
    };
    let says = |text: &str| text.replace(MASK, "").chars().any(char::is_alphabetic);
    let field = value.as_deref().is_some_and(|value| !value.is_empty());
    if !(says(&name) || says(&text) || (field && name.is_empty() && text.is_empty())) {
        return None;
    }
    // A text is its own content; of a field or a button the row tells which.
    let within = if says_what(node) {
        None
    } else {
        screen.stored_within(index, wording)?
    };
    let shape = [Some(&name), Some(&text), value.as_ref(), within.as_ref()]
        .into_iter()
        .flatten()
        .any(|text| masked(text));
    Some(Anchor {
        target: Target {
            role: clip(&node.role).to_owned(),
            name,
            text,
            within,
            checked: state(node),
            ..Target::default()
        },
        value,
        shape,
    })
}

/// A state that an effect can show: a toggle's, or being selected.
fn state(node: &Node) -> Option<bool> {
    toggle(node).or(node.states.selected)
}

/// An anchor, with today's `unique()` values in it, ready to be looked for.
pub(super) struct Held<'a> {
    anchor: &'a Anchor,
    name: Pattern,
    text: Pattern,
    within: Option<Pattern>,
    value: Option<Pattern>,
}

impl<'a> Held<'a> {
    pub(super) fn new(anchor: &'a Anchor) -> Self {
        Self {
            anchor,
            name: Pattern::new(&anchor.target.name),
            text: Pattern::new(&anchor.target.text),
            within: anchor.target.within.as_deref().map(Pattern::new),
            value: anchor.value.as_deref().map(Pattern::new),
        }
    }

    /// Whether it is on the screen with its content, value and state.
    pub(super) fn on(&self, screen: &Screen<'_>) -> bool {
        self.any(screen, |index| self.is(screen, index))
    }

    /// Whether it is this node.
    pub(super) fn is(&self, screen: &Screen<'_>, index: usize) -> bool {
        let node = &screen.nodes()[index];
        let value = self.value.as_ref().is_none_or(|wanted| {
            node.value
                .as_deref()
                .is_some_and(|live| wanted.matches(clip(live)))
        });
        value && state(node) == self.anchor.target.checked && self.shown(screen, index)
    }

    /// Whether it is on the screen in any state and with any value.
    pub(super) fn on_in_any_state(&self, screen: &Screen<'_>) -> bool {
        self.any(screen, |index| self.shown(screen, index))
    }

    /// Whether `fits` a node that may be it. Only text with masks is looked for in every node.
    fn any(&self, screen: &Screen<'_>, fits: impl Fn(usize) -> bool) -> bool {
        match (&self.name, &self.text) {
            (Pattern::Plain(name), Pattern::Plain(text)) => screen
                .alike(&self.anchor.target.role, name, text)
                .iter()
                .any(|&index| fits(index)),
            _ => (0..screen.nodes().len()).any(fits),
        }
    }

    fn shown(&self, screen: &Screen<'_>, index: usize) -> bool {
        let node = &screen.nodes()[index];
        node.role == self.anchor.target.role
            && self.name.matches(clip(&node.name))
            && self.text.matches(&screen.text(index))
            && screen.is_within(index, self.within.as_ref())
    }
}

/// Whether an anchor only shows what the actions themselves put in: a field with the typed value, a
/// control in the state it was tapped into.
pub(super) fn echoes(anchor: &Anchor, actions: &[RecordedAction]) -> bool {
    actions.iter().any(|each| match &each.action {
        Action::Type { value, .. } => match (value, &anchor.value) {
            (Typed::Literal { text } | Typed::Template { text }, Some(shown)) => shown == text,
            (Typed::Secret { name }, Some(shown)) => *shown == marker(name),
            (_, None) => false,
        },
        Action::Select { label, .. } => anchor.value.as_ref() == Some(label),
        Action::TypeText { text } => anchor.value.as_ref() == Some(text),
        Action::Upload { files, .. } => anchor.value.as_ref() == Some(&chosen(files)),
        Action::Tap { target }
        | Action::DoubleTap { target }
        | Action::LongPress { target, .. }
        | Action::Check { target, .. } => {
            anchor.target.checked.is_some()
                && anchor.target.role == target.role
                && anchor.target.name == target.name
                && anchor.target.within == target.within
        }
        Action::Press { .. }
        | Action::RightClick { .. }
        | Action::Drag { .. }
        | Action::Hover { .. }
        | Action::Scroll { .. }
        | Action::ScrollTo { .. }
        | Action::ScrollUntil { .. }
        | Action::Navigate { .. }
        | Action::Back {} => false,
    })
}

/// The value of a file field that holds these files.
fn chosen(files: &[String]) -> String {
    let names = files
        .iter()
        .map(|path| path.rsplit('/').next().unwrap_or(path));
    names.collect::<Vec<_>>().join(", ")
}

/// An anchor in words.
pub(super) fn anchor_line(anchor: &Anchor) -> String {
    let mut line = super::line::target_line(&anchor.target);
    if let Some(value) = &anchor.value {
        line.push_str(&format!(" with value {value:?}"));
    }
    line
}
