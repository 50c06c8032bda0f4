//! A part of a screen as text: what holds some words, what is in a state, what comes after a cut.

use std::collections::BTreeSet;
use std::fmt::Write;

use muster_engine::Node;
use serde::Deserialize;

use super::observation::Observation;
use super::text::{line, top};

/// Room kept for the marker, bytes.
const MARKER: usize = 120;

/// Which elements are shown. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Words that an element's line holds, all of them, in any case.
    #[serde(default)]
    pub query: Option<String>,
    /// The state that it is in.
    #[serde(default)]
    pub state: Option<State>,
    /// How many of those elements are left out: they were shown before.
    #[serde(default)]
    pub offset: usize,
}

/// What can be asked of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A control that is not disabled.
    Enabled,
    /// Takes no input.
    Disabled,
    /// Takes text.
    Editable,
    /// On.
    Checked,
    /// Off, but can be on.
    Unchecked,
    /// Chosen among others.
    Selected,
    /// Open.
    Expanded,
    /// Closed, but can be open.
    Collapsed,
    /// Has the focus.
    Focused,
    /// Must be filled.
    Required,
    /// Holds what it may not.
    Invalid,
    /// In the viewport.
    Visible,
}

impl State {
    /// All of them, as they are written.
    pub const NAMES: [&str; 12] = [
        "enabled",
        "disabled",
        "editable",
        "checked",
        "unchecked",
        "selected",
        "expanded",
        "collapsed",
        "focused",
        "required",
        "invalid",
        "visible",
    ];

    fn of(self, node: &Node) -> bool {
        let states = &node.states;
        match self {
            State::Enabled => node.operable() && !states.disabled,
            State::Disabled => states.disabled,
            State::Editable => node.editable,
            State::Checked => states.checked == Some(true),
            State::Unchecked => states.checked == Some(false),
            State::Selected => states.selected == Some(true),
            State::Expanded => states.expanded == Some(true),
            State::Collapsed => states.expanded == Some(false),
            State::Focused => states.focused,
            State::Required => states.required,
            State::Invalid => states.invalid,
            State::Visible => node.in_viewport,
        }
    }
}

impl Part {
    /// Whether it is the whole screen.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    fn has(&self, node: &Node, line: &str) -> bool {
        let query = self.query.as_deref().unwrap_or_default().to_lowercase();
        let line = line.to_lowercase();
        query.split_whitespace().all(|word| line.contains(word))
            && self.state.is_none_or(|state| state.of(node))
    }
}

/// The part in at most `bytes` bytes, each element below its ancestors. Where it is cut, a line says
/// with which offset it goes on; another says where the engine stopped reading the page.
pub fn render(observation: &Observation, part: &Part, bytes: usize) -> String {
    let nodes = observation.nodes();
    let lines: Vec<String> = nodes.iter().map(|node| line(node, true)).collect();
    let found: Vec<usize> = (0..nodes.len())
        .filter(|&index| part.has(&nodes[index], &lines[index]))
        .collect();
    let mut text = top(observation);
    let mut shown = BTreeSet::new();
    for (place, &index) in found.iter().enumerate().skip(part.offset) {
        let mut fresh: Vec<usize> =
            std::iter::successors(Some(index), |&at| observation.parent(at))
                .take_while(|at| !shown.contains(at))
                .collect();
        let size: usize = fresh.iter().map(|&at| lines[at].len() + 1).sum();
        // One too long to be shown at all is no reason to stop before it for ever.
        if text.len() + size + MARKER > bytes && place > part.offset {
            let all = found.len();
            let _ = writeln!(
                text,
                "… cut here: {place} of {all} elements fit; observe with offset {place} goes on"
            );
            return text;
        }
        fresh.reverse();
        for at in fresh {
            shown.insert(at);
            text.push_str(&lines[at]);
            text.push('\n');
        }
    }
    if !part.is_whole() {
        let _ = writeln!(text, "… {} of {} elements match", found.len(), nodes.len());
    }
    if observation.snapshot.truncated {
        text.push_str("… the page holds more than was read\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use muster_engine::{NodeId, Snapshot, States};

    use super::*;

    fn screen() -> Observation {
        let node = |id, depth, role: &str, name: &str| Node {
            id: NodeId(id),
            depth,
            role: role.to_owned(),
            name: name.to_owned(),
            ..Node::default()
        };
        let disabled = States {
            disabled: true,
            ..States::default()
        };
        Observation {
            revision: 1,
            location: "/cart".to_owned(),
            notes: vec!["a dialog said \"Hi\"".to_owned()],
            snapshot: Snapshot {
                title: "Cart".to_owned(),
                nodes: vec![
                    node(1, 0, "main", ""),
                    node(2, 1, "list", "Items"),
                    node(3, 2, "listitem", "Blue Mug"),
                    node(4, 3, "button", "Remove"),
                    node(5, 2, "listitem", "Red mug"),
                    Node {
                        states: disabled,
                        ..node(6, 3, "button", "Remove")
                    },
                    node(7, 0, "contentinfo", ""),
                    node(8, 1, "link", "Help"),
                ],
                ..Snapshot::default()
            },
        }
    }

    fn shows(part: Part) -> String {
        render(&screen(), &part, 4096)
    }

    fn query(words: &str) -> Part {
        Part {
            query: Some(words.to_owned()),
            ..Part::default()
        }
    }

    #[test]
    fn all_of_a_screen_is_what_models_read_anyway() {
        let whole = shows(Part::default());
        assert_eq!(whole, super::super::text::render(&screen(), 4096));
    }

    #[test]
    fn elements_with_all_words_stand_below_their_ancestors() {
        let expected = r##"page /cart "Cart"
note: a dialog said "Hi"
#n1 main
 #n2 list "Items"
  #n3 listitem "Blue Mug"
  #n5 listitem "Red mug"
… 2 of 8 elements match
"##;
        assert_eq!(shows(query("LISTITEM mug")), expected);
        let none = shows(query("teapot"));
        assert_eq!(
            none,
            "page /cart \"Cart\"\nnote: a dialog said \"Hi\"\n… 0 of 8 elements match\n"
        );
    }

    #[test]
    fn a_state_is_asked_with_words_or_without() {
        let enabled = Part {
            state: Some(State::Enabled),
            ..Part::default()
        };
        let both = Part {
            query: Some("remove".to_owned()),
            ..enabled.clone()
        };
        assert!(shows(enabled).ends_with("… 2 of 8 elements match\n"));
        let both = shows(both);
        assert!(both.contains("#n4") && !both.contains("#n6"), "{both}");
        let disabled = Part {
            state: Some(State::Disabled),
            ..Part::default()
        };
        assert!(shows(disabled).contains("   #n6 button \"Remove\" [disabled]\n"));
        for name in State::NAMES {
            let read = serde_json::from_value::<State>(name.into());
            assert!(read.is_ok(), "{name}");
        }
    }

    #[test]
    fn reading_on_by_the_offset_shows_every_element_once() {
        let (mut offset, mut seen, mut looks) = (0, Vec::new(), 0);
        loop {
            let part = Part {
                offset,
                ..Part::default()
            };
            let text = render(&screen(), &part, 240);
            assert!(text.len() <= 240, "{text}");
            looks += 1;
            let cut = text.lines().find(|line| line.starts_with("… cut"));
            let shown = text
                .lines()
                .filter_map(|line| line.trim_start().strip_prefix('#'));
            let ids: Vec<String> = shown
                .filter_map(|line| Some(line.split_once(' ')?.0.to_owned()))
                .collect();
            seen.extend(ids);
            let Some(cut) = cut else { break };
            let next = cut.split("offset ").nth(1).unwrap();
            offset = next.split(' ').next().unwrap().parse().unwrap();
        }
        assert!(looks > 1);
        let mut once = seen.clone();
        once.sort();
        once.dedup();
        assert_eq!(once, ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]);
        assert!(seen.contains(&"n8".to_owned()));
        let beyond = Part {
            offset: 99,
            ..Part::default()
        };
        assert!(shows(beyond).ends_with("\"Hi\"\n… 8 of 8 elements match\n"));
    }
}
