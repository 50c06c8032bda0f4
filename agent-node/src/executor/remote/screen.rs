//! The screen as it goes to a remote executor. It was redacted before.

use muster_engine::Node;
use muster_proto::v1;
use prost::Message;

use crate::harness::{Observation, text};

/// Most bytes of the elements, and of the text.
const MAX_BYTES: usize = text::DEFAULT_BYTES;

/// The whole screen, cut to size.
pub(super) fn screen(seen: &Observation) -> v1::Screen {
    let mut room = MAX_BYTES;
    let fit = |element: &v1::Element| {
        let size = element.encoded_len();
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    };
    let elements: Vec<_> = seen.nodes().iter().map(element).take_while(fit).collect();
    v1::Screen {
        revision: seen.revision,
        location: seen.location.clone(),
        title: seen.snapshot.title.clone(),
        truncated: seen.snapshot.truncated || elements.len() < seen.nodes().len(),
        elements,
        text: text::render(seen, MAX_BYTES),
    }
}

fn element(node: &Node) -> v1::Element {
    let states = text::states(node, true).into_iter().map(str::to_owned);
    v1::Element {
        id: node.id.0,
        depth: node.depth,
        role: node.role.clone(),
        name: node.name.clone(),
        text: node.text.clone(),
        value: node.value.clone(),
        placeholder: node.placeholder.clone().unwrap_or_default(),
        options: node.options.clone(),
        states: states.collect(),
        editable: node.editable,
    }
}
