//! An observation as text: what models read, and what a report shows of a failure's screen.
//!
//! One line a node: `#id role "name"` and what else there is to tell. Its [`shape`] leaves out
//! ids, focus and clocks, so that two looks at an idle screen are equal.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

use muster_engine::Node;
use muster_proto::guard::Guard;
use regex::Regex;

use super::observation::{Observation, SECURE};

/// Default budget of a rendered screen, bytes.
pub const DEFAULT_BYTES: usize = 262_144;

/// Deepest indent, one space a level.
const MAX_INDENT: usize = 10;

/// Options of a select that are listed.
const MAX_OPTIONS: usize = 50;

/// Room kept for the cut marker, bytes.
const MARKER: usize = 80;

/// The screen in at most `bytes` bytes, after what happened beside it. A line says where it was cut,
/// another where the engine stopped reading the page.
pub fn render(observation: &Observation, bytes: usize) -> String {
    let mut text = top(observation);
    let nodes = observation.nodes();
    for (shown, node) in nodes.iter().enumerate() {
        let line = line(node, true);
        if text.len() + line.len() + 1 + MARKER > bytes {
            let _ = writeln!(text, "… cut here: {shown} of {} elements fit", nodes.len());
            return text;
        }
        text.push_str(&line);
        text.push('\n');
    }
    if observation.snapshot.truncated {
        text.push_str("… the page holds more than was read\n");
    }
    text
}

/// Where it is, and what happened beside it.
pub(super) fn top(observation: &Observation) -> String {
    let mut text = header(&short(&observation.location), observation);
    for note in &observation.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// What stays the same while a screen is idle. Equal shapes = nothing visible happened.
pub fn shape(observation: &Observation) -> String {
    let mut shape = header(&observation.location, observation);
    for node in observation.nodes() {
        shape.push_str(&line(node, false));
        shape.push('\n');
    }
    match CLOCK.replace_all(&shape, "#:#") {
        Cow::Borrowed(_) => shape,
        Cow::Owned(masked) => masked,
    }
}

static CLOCK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\d{1,2}:\d{2}(:\d{2})?\b").expect("the pattern is constant"));

fn header(location: &str, observation: &Observation) -> String {
    format!("page {location} {}\n", quoted(&observation.snapshot.title))
}

pub(super) fn line(node: &Node, with_identity: bool) -> String {
    let mut line = " ".repeat(MAX_INDENT.min(node.depth as usize));
    if with_identity {
        let _ = write!(line, "#{}", node.id);
    }
    for part in [
        (!node.role.is_empty()).then(|| node.role.clone()),
        (!node.name.is_empty()).then(|| quoted(&node.name)),
    ]
    .into_iter()
    .flatten()
    {
        line.push(' ');
        line.push_str(&part);
    }
    let mut field = |key: &str, value: &str| {
        let _ = write!(line, " {key}={value}");
    };
    if !node.text.is_empty() && node.text != node.name {
        field("text", &quoted(&node.text));
    }
    if let Some(level) = node.level {
        field("level", &level.to_string());
    }
    if let Some(test_id) = &node.test_id {
        field("testid", &quoted(test_id));
    }
    if let Some(href) = &node.href {
        field("href", &short(href));
    }
    if let Some(placeholder) = node.placeholder.as_ref().filter(|_| node.name.is_empty()) {
        field("placeholder", &quoted(placeholder));
    }
    match &node.value {
        Some(value) if value == SECURE && node.states.secure => field("value", SECURE),
        Some(value) => field("value", &quoted(value)),
        None => {}
    }
    if !node.options.is_empty() {
        let mut options: Vec<_> = node
            .options
            .iter()
            .take(MAX_OPTIONS)
            .map(|option| quoted(option))
            .collect();
        if node.options.len() > MAX_OPTIONS {
            options.push(format!("… {} more", node.options.len() - MAX_OPTIONS));
        }
        field("options", &format!("[{}]", options.join(", ")));
    }
    let states = states(node, with_identity);
    if !states.is_empty() {
        let _ = write!(line, " [{}]", states.join(" "));
    }
    line
}

/// A node's states, by name.
pub(crate) fn states(node: &Node, with_focus: bool) -> Vec<&'static str> {
    let states = &node.states;
    let tri = |state: Option<bool>, yes, no| state.map(|on| if on { yes } else { no });
    [
        tri(states.checked, "checked", "unchecked"),
        states.disabled.then_some("disabled"),
        states.selected.filter(|on| *on).map(|_| "selected"),
        tri(states.expanded, "expanded", "collapsed"),
        states.pressed.filter(|on| *on).map(|_| "pressed"),
        (states.focused && with_focus).then_some("focused"),
        states.secure.then_some("secure"),
        states.required.then_some("required"),
        states.invalid.then_some("invalid"),
        states.readonly.then_some("readonly"),
        (node.clickable).then_some("clickable"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An address with query and fragment only hinted at: they are long, and whoever made a link wrote
/// them.
fn short(href: &str) -> String {
    if !Guard::PromptAddress.holds() {
        return href.to_owned();
    }
    let end = href.find(['?', '#']).unwrap_or(href.len());
    let hint = match href.as_bytes().get(end) {
        Some(b'?') => "?…",
        Some(_) => "#…",
        None => "",
    };
    format!("{}{hint}", &href[..end])
}

/// One line, whatever the page put into it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use muster_engine::{NodeId, Snapshot, States};

    use super::*;

    fn node(id: u64, depth: u32, role: &str, name: &str) -> Node {
        Node {
            id: NodeId(id),
            depth,
            role: role.to_owned(),
            name: name.to_owned(),
            ..Node::default()
        }
    }

    fn checkout() -> Observation {
        let snapshot = Snapshot {
            url: "/checkout".to_owned(),
            title: "Checkout".to_owned(),
            nodes: vec![
                node(1, 0, "main", ""),
                Node {
                    level: Some(1),
                    ..node(2, 1, "heading", "Your order")
                },
                Node {
                    text: "Total: 12.00, held until 14:05:09".to_owned(),
                    ..node(3, 1, "", "")
                },
                Node {
                    value: Some("Ada \"the\" first\nline".to_owned()),
                    placeholder: Some("not shown, it is named".to_owned()),
                    states: States {
                        focused: true,
                        required: true,
                        ..States::default()
                    },
                    ..node(4, 2, "textbox", "Name")
                },
                Node {
                    placeholder: Some("Coupon".to_owned()),
                    value: Some(String::new()),
                    ..node(5, 2, "textbox", "")
                },
                Node {
                    value: Some(SECURE.to_owned()),
                    states: States {
                        secure: true,
                        ..States::default()
                    },
                    ..node(6, 2, "textbox", "Card number")
                },
                Node {
                    options: vec!["Card".to_owned(), "Invoice".to_owned()],
                    value: Some("Card".to_owned()),
                    ..node(7, 2, "combobox", "Payment")
                },
                Node {
                    states: States {
                        checked: Some(false),
                        ..States::default()
                    },
                    ..node(8, 2, "checkbox", "Gift")
                },
                Node {
                    href: Some("http://shop.test/terms?v=3#top".to_owned()),
                    text: "Terms".to_owned(),
                    ..node(9, 14, "link", "Terms")
                },
                Node {
                    test_id: Some("pay".to_owned()),
                    text: "Pay now".to_owned(),
                    states: States {
                        disabled: true,
                        expanded: Some(false),
                        ..States::default()
                    },
                    ..node(10, 1, "button", "Pay")
                },
            ],
            ..Snapshot::default()
        };
        Observation {
            revision: 1,
            location: "/checkout".to_owned(),
            notes: Vec::new(),
            snapshot,
        }
    }

    #[test]
    fn a_screen_reads_like_this() {
        let expected = r##"page /checkout "Checkout"
#n1 main
 #n2 heading "Your order" level=1
 #n3 text="Total: 12.00, held until 14:05:09"
  #n4 textbox "Name" value="Ada \"the\" first\nline" [focused required]
  #n5 textbox placeholder="Coupon" value=""
  #n6 textbox "Card number" value=<secure> [secure]
  #n7 combobox "Payment" value="Card" options=["Card", "Invoice"]
  #n8 checkbox "Gift" [unchecked]
          #n9 link "Terms" href=http://shop.test/terms?…
 #n10 button "Pay" text="Pay now" testid="pay" [disabled collapsed]
"##;
        assert_eq!(render(&checkout(), DEFAULT_BYTES), expected);
    }

    #[test]
    fn a_cut_is_said_and_within_the_budget() {
        let mut screen = checkout();
        let text = render(&screen, 200);
        assert!(text.len() <= 200, "{}", text.len());
        assert!(
            text.ends_with("… cut here: 3 of 10 elements fit\n"),
            "{text}"
        );
        screen.snapshot.truncated = true;
        assert!(render(&screen, DEFAULT_BYTES).ends_with("… the page holds more than was read\n"));
    }

    #[test]
    fn the_shape_ignores_ids_focus_and_clocks() {
        let screen = checkout();
        let mut later = checkout();
        later.revision = 2;
        later.snapshot.nodes[3].states.focused = false;
        later.snapshot.nodes[2].text = "Total: 12.00, held until 14:05:10".to_owned();
        later.snapshot.nodes[9].id = NodeId(99);
        assert_eq!(shape(&screen), shape(&later));
        later.snapshot.nodes[7].states.checked = Some(true);
        assert_ne!(shape(&screen), shape(&later));
        let mut moved = checkout();
        moved.location = "/done".to_owned();
        assert_ne!(shape(&screen), shape(&moved));
    }
}
