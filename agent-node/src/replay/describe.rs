//! A node in words that find it again, on another machine and another day.

use muster_engine::NodeId;
use muster_proto::action::{Position, Target};

use super::matching::Wanted;
use super::screen::{MAX_TEXT, Screen, clip, toggle};
use super::wording::{Wording, masked};
use crate::harness::Observation;

/// Most twins among which a place is recorded.
pub(super) const MAX_TWINS: usize = 1000;

/// The node as a target, or none if nothing tells it safely from others:
///
/// - the screen was cut, so that its twins can't be counted;
/// - it shows nothing and no named row or group holds it, and it has twins;
/// - only a minted id, a date or a clock tells it from its twins: the next run has others;
/// - its text holds `{{`, or it has more than 1000 twins.
pub fn describe(observation: &Observation, node: NodeId) -> Option<Target> {
    describe_as(&Screen::new(observation), node, &Wording::default())
}

/// [`describe`] with the words of one call.
pub(super) fn describe_as(screen: &Screen<'_>, id: NodeId, wording: &Wording) -> Option<Target> {
    if screen.observation.snapshot.truncated {
        return None;
    }
    let index = screen.nodes().iter().position(|node| node.id == id)?;
    let node = &screen.nodes()[index];
    let stored = |text: &str| wording.stored(clip(text));

    let name = stored(&node.name)?;
    // A test id that is minted says nothing in the next run.
    let test_id = match &node.test_id {
        Some(raw) => stored(raw).filter(|stored| !masked(stored) && !raw.is_empty()),
        None => None,
    };
    let text = if name.is_empty() && test_id.is_none() {
        stored(&screen.text(index))?
    } else {
        String::new()
    };
    let placeholder = match &node.placeholder {
        Some(raw) if name.is_empty() && !raw.is_empty() => Some(stored(raw)?),
        _ => None,
    };
    let mut target = Target {
        role: clip(&node.role).to_owned(),
        name,
        text,
        test_id,
        placeholder,
        within: screen.stored_within(index, wording)?,
        position: None,
        checked: toggle(node),
    };
    let minted = [
        Some(&target.name),
        Some(&target.text),
        target.placeholder.as_ref(),
        target.within.as_ref(),
    ]
    .into_iter()
    .flatten()
    .any(|text| masked(text));
    if texts(&target).any(|text| text.chars().count() > MAX_TEXT) {
        return None;
    }

    // Twins are counted by the very rule that will look for them.
    let mut expanded = target.clone();
    super::template::expand_target(&mut expanded, wording.template()).ok()?;
    let twins = Wanted::new(&expanded).exact(screen);
    let place = twins.iter().position(|twin| *twin == index)?;
    if twins.len() > 1 {
        let anonymous = anonymous(&target) && target.within.is_none();
        if minted || anonymous || twins.len() > MAX_TWINS {
            return None;
        }
        let (index, of) = (u32::try_from(place).ok()?, u32::try_from(twins.len()).ok()?);
        target.position = Some(Position { index, of });
    }
    Some(target)
}

/// Whether a target has nothing but its role.
pub(super) fn anonymous(target: &Target) -> bool {
    target.name.is_empty()
        && target.text.is_empty()
        && target.test_id.is_none()
        && target.placeholder.is_none()
}

/// Every text of a target.
pub(super) fn texts(target: &Target) -> impl Iterator<Item = &str> {
    [Some(&target.role), Some(&target.name), Some(&target.text)]
        .into_iter()
        .chain([
            target.test_id.as_ref(),
            target.placeholder.as_ref(),
            target.within.as_ref(),
        ])
        .flatten()
        .map(String::as_str)
}
