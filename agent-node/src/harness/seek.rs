//! Scrolling until a text is in view. The text is looked for on redacted screens, so that nobody can
//! ask for a secret letter by letter.

use std::time::Duration;

use muster_engine::{EngineError, Gesture, Node, NodeId};
use muster_proto::action::Direction;
use tokio::time::{Instant, sleep};

use super::whole::BETWEEN_LOOKS;
use super::{AttemptHarness, Observation, PageError, Scope};

/// Most screens that are scrolled.
const MAX_SCREENS: u32 = 50;
/// Looks in a row without a change after which there is no more to come.
const STILL: u32 = 4;

/// What is looked for, and where.
pub(super) struct Seek {
    /// What lies in the area that scrolls; none = the page.
    pub(super) within: Option<NodeId>,
    /// A part of a text, in any case.
    pub(super) text: String,
    pub(super) direction: Direction,
}

impl Seek {
    /// Scrolls, a screen at a time, until the text is there, and then to it.
    pub(super) async fn run(
        &self,
        harness: &AttemptHarness,
        scope: &Scope,
        limit: Duration,
    ) -> Result<(), PageError> {
        let ends = Instant::now() + limit;
        let left = || ends.saturating_duration_since(Instant::now());
        let mut last: Option<Observation> = None;
        let (mut screens, mut still) = (0, 0);
        loop {
            let seen = harness.look(scope).await?;
            if let Some(found) = self.on(&seen) {
                return harness
                    .gesture(scope, found, &Gesture::ScrollIntoView, left())
                    .await;
            }
            let same = last
                .as_ref()
                .is_some_and(|last| last.snapshot == seen.snapshot);
            still = if same { still + 1 } else { 0 };
            last = Some(seen);
            if screens == MAX_SCREENS || still == STILL || left().is_zero() {
                // It has scrolled, so it can't be as if nothing was done.
                return Err(PageError::Engine(EngineError::MayHaveCommitted {
                    what: format!("scrolling {}", self.direction.as_str()),
                    why: format!("{:?} did not come up on {screens} screens", self.text),
                }));
            }
            match self.within {
                Some(area) => {
                    let scroll = Gesture::Scroll(self.direction);
                    harness.gesture(scope, area, &scroll, left()).await?;
                }
                None => harness.scroll(scope, self.direction, left()).await?,
            }
            screens += 1;
            scope
                .run(sleep(BETWEEN_LOOKS))
                .await
                .map_err(PageError::Ended)?;
        }
    }

    /// The innermost element that shows the text.
    fn on(&self, screen: &Observation) -> Option<NodeId> {
        let wanted = fold(&self.text);
        let shows = |node: &&Node| {
            [&node.name, &node.text]
                .into_iter()
                .any(|text| fold(text).contains(&wanted))
        };
        let shown: Vec<&Node> = screen.nodes().iter().filter(shows).collect();
        let innermost = shown.windows(2).find(|pair| pair[1].depth <= pair[0].depth);
        innermost
            .map(|pair| pair[0])
            .or(shown.last().copied())
            .map(|node| node.id)
    }
}

fn fold(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}
