//! Outlines to screens.

use std::collections::HashMap;

use muster_engine::{Node, NodeId, Snapshot};

/// Where a gesture on a node leads.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::executor) enum Lead {
    /// To another screen.
    Screen(String),
    /// To a status on the same screen.
    Status(String),
}

/// Screens by name.
#[derive(Clone, Debug, Default)]
pub(in crate::executor) struct App {
    /// Snapshot of each screen; its `url` is the path.
    pub(in crate::executor) screens: HashMap<String, Snapshot>,
    /// What a node leads to.
    pub(in crate::executor) leads: HashMap<NodeId, Lead>,
}

impl App {
    /// Reads outlines; panics on what it can't read.
    pub(in crate::executor) fn parse(text: &str) -> Self {
        let mut blocks: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
        for line in text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        {
            match line.strip_prefix("== ") {
                Some(head) => blocks.push((tokens(head), Vec::new())),
                None => blocks
                    .last_mut()
                    .expect("a screen begins with ==")
                    .1
                    .push(line),
            }
        }
        let fragments: HashMap<String, Vec<&str>> = blocks
            .iter()
            .filter(|(head, _)| head.len() == 1)
            .map(|(head, lines)| (head[0].clone(), lines.clone()))
            .collect();
        let mut app = Self::default();
        for (number, (head, lines)) in blocks.iter().filter(|(head, _)| head.len() > 1).enumerate()
        {
            let mut all: Vec<(usize, &str)> = Vec::new();
            for line in lines {
                let indent = line.len() - line.trim_start().len();
                match line.trim().strip_prefix("use ") {
                    Some(name) => all.extend(fragments[name].iter().map(|line| (indent, *line))),
                    None => all.push((0, line)),
                }
            }
            let nodes = all.iter().enumerate().map(|(index, (extra, line))| {
                let id = NodeId(u64::try_from(number * 1000 + index + 1).unwrap());
                let indent = extra + line.len() - line.trim_start().len();
                app.node(id, u32::try_from(indent / 2).unwrap(), line.trim())
            });
            let snapshot = Snapshot {
                url: head[1].clone(),
                title: head.get(2).cloned().unwrap_or_default(),
                viewport: (1280, 720),
                nodes: nodes.collect(),
                truncated: false,
            };
            app.screens.insert(head[0].clone(), snapshot);
        }
        app
    }

    fn node(&mut self, id: NodeId, depth: u32, line: &str) -> Node {
        let tokens = tokens(line);
        let mut node = Node {
            id,
            depth,
            in_viewport: true,
            rect: (0.0, 0.0, 100.0, 20.0),
            ..Node::default()
        };
        let mut rest = tokens.iter();
        let role = rest.next().expect("a node has a role");
        if role != "text" {
            node.role.clone_from(role);
        }
        node.editable = matches!(role.as_str(), "textbox" | "searchbox" | "spinbutton");
        node.value = node.editable.then(String::new);
        node.states.checked =
            matches!(role.as_str(), "checkbox" | "radio" | "switch").then_some(false);
        node.level = (role == "heading").then_some(1);
        while let Some(token) = rest.next() {
            let (key, value) = token.split_once('=').unwrap_or((token, ""));
            match key {
                "->" => {
                    let to = rest.next().expect("-> has a screen").clone();
                    if node.role == "link" {
                        node.href.get_or_insert_with(|| format!("http://app/{to}"));
                    }
                    self.leads.insert(id, Lead::Screen(to));
                }
                "!" => {
                    self.leads
                        .insert(id, Lead::Status(rest.next().expect("! has a text").clone()));
                }
                "value" => node.value = Some(value.to_owned()),
                "placeholder" => node.placeholder = Some(value.to_owned()),
                "desc" => node.description = value.to_owned(),
                "testid" => node.test_id = Some(value.to_owned()),
                "href" => node.href = Some(value.to_owned()),
                "level" => node.level = value.parse().ok(),
                "options" => {
                    node.options = value.split('|').map(str::to_owned).collect();
                    node.value.get_or_insert_with(|| node.options[0].clone());
                }
                "disabled" => (node.states.disabled, node.editable) = (true, false),
                "checked" => node.states.checked = Some(true),
                "secure" => node.states.secure = true,
                "offscreen" => node.in_viewport = false,
                "clickable" => node.clickable = true,
                _ if role == "text" => node.text = token.clone(),
                _ => node.name = token.clone(),
            }
        }
        node
    }
}

/// Words and quoted strings of a line; `key="a b"` is one.
fn tokens(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut token = String::new();
    let (mut quoted, mut any) = (false, false);
    for c in line.chars() {
        match c {
            '"' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any || !token.is_empty() {
                    found.push(std::mem::take(&mut token));
                }
                any = false;
            }
            c => token.push(c),
        }
    }
    if any || !token.is_empty() {
        found.push(token);
    }
    found
}
