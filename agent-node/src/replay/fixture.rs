//! Screens for tests, written as indented lines.

use muster_engine::{Node, NodeId, Snapshot, States};

use crate::harness::Observation;

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
                "!secure" => {
                    node.states = States {
                        secure: true,
                        ..node.states
                    }
                }
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
