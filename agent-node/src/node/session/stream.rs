//! What the node says on one stream. Nothing here waits: a message that finds the queue full is
//! not said.

use std::collections::BTreeSet;

use muster_proto::v1;
use muster_proto::v1::node_message::Message;
use tokio::time::Instant;

use crate::attempt::News;
use crate::node::leases::{Terms, Token};
use crate::node::link::{OUTBOUND, Outbound};
use crate::node::words;

/// A stream to the coordinator, from its hello on.
pub(super) struct Stream {
    out: Outbound,
    /// The coordinator answered the hello; before that nothing else is said.
    welcomed: bool,
    /// When the coordinator was last heard.
    heard: Instant,
    /// When the next beat is due.
    beat: Instant,
    /// Results that went out on this stream.
    sent: BTreeSet<Token>,
}

impl Stream {
    pub(super) fn open(out: Outbound, hello: v1::Hello, now: Instant) -> Self {
        let stream = Self {
            out,
            welcomed: false,
            heard: now,
            beat: now,
            sent: BTreeSet::new(),
        };
        stream.say(Message::Hello(hello));
        stream
    }

    /// The coordinator said something.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// The coordinator welcomes us; the first beat is due.
    pub(super) fn welcomed(&mut self, now: Instant) {
        self.welcomed = true;
        self.beat = now;
    }

    /// When the next beat is due; none = not before the welcome.
    pub(super) fn beat_due(&self) -> Option<Instant> {
        self.welcomed.then_some(self.beat)
    }

    /// Whether the coordinator was silent for so long that its leases ran out.
    pub(super) fn silent(&self, terms: Terms, now: Instant) -> bool {
        now.saturating_duration_since(self.heard) > terms.lease - terms.margin
    }

    /// Ends the stream, so that another is opened.
    pub(super) fn hang_up(self) {
        self.out.hang_up.cancel();
    }

    /// A beat, and when the next one is due. One that is not said is made good by the next.
    pub(super) fn beat(&mut self, beat: v1::Beat, next: Instant) {
        self.say(Message::Beat(beat));
        self.beat = next;
    }

    /// A result, once a stream. False if it was not said: try again with the next beat.
    pub(super) fn result(&mut self, token: &Token, result: &[u8]) -> bool {
        if self.sent.contains(token) {
            return true;
        }
        let said = self.say(Message::Result(v1::Result {
            token: Some(token.into()),
            result: result.to_vec(),
        }));
        if said {
            self.sent.insert(token.clone());
        }
        said
    }

    /// No more work is wanted, and these leases go back.
    pub(super) fn drain(&self, returned: &[Token]) {
        self.say(Message::Drain(v1::Drain {
            returned: returned.iter().map(v1::LeaseToken::from).collect(),
            reason: "the node is shutting down".to_owned(),
        }));
    }

    /// News of an attempt; lossy, so that they never crowd out beats and results.
    pub(super) fn news(&self, node: &str, token: &Token, try_: u32, news: News) {
        if self.out.messages.capacity() >= OUTBOUND / 2 {
            self.say(Message::Progress(v1::Progress {
                unit_id: token.unit.clone(),
                r#try: try_,
                node_id: node.to_owned(),
                what: Some(words::progress(news)),
            }));
        }
    }

    fn say(&self, message: Message) -> bool {
        if !self.welcomed && !matches!(message, Message::Hello(_)) {
            return false;
        }
        let message = v1::NodeMessage {
            message: Some(message),
        };
        self.out.messages.try_send(message).is_ok()
    }
}
