//! The leases that a node holds, as a pure table: what to renew, what to give up and when.
//!
//! A lease lasts `lease` after the *sending* of its last acknowledged beat (the coordinator counts
//! from a later moment, so we never believe in a lease longer than it does), and the node gives
//! it up `margin` before that. The clock is the caller's, and monotonic.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use muster_proto::v1;
use tokio::time::Instant;

/// Unacknowledged beats that are remembered; older ones can't extend a lease any more.
const BEATS: usize = 64;

/// Names a lease. Ordered by run, unit, then age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token {
    pub(super) run: String,
    pub(super) unit: String,
    pub(super) generation: u64,
    pub(super) epoch: u64,
}

impl From<&v1::LeaseToken> for Token {
    fn from(token: &v1::LeaseToken) -> Self {
        Self {
            run: token.run_id.clone(),
            unit: token.unit_id.clone(),
            generation: token.generation,
            epoch: token.epoch,
        }
    }
}

impl From<&Token> for v1::LeaseToken {
    fn from(token: &Token) -> Self {
        Self {
            run_id: token.run.clone(),
            unit_id: token.unit.clone(),
            epoch: token.epoch,
            generation: token.generation,
        }
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Token {
            run, unit, epoch, ..
        } = self;
        write!(f, "{run}/{unit}#{epoch}")
    }
}

/// The coordinator's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// Between two beats.
    pub(super) beat: Duration,
    /// From a beat that is acknowledged to the lease's end.
    pub(super) lease: Duration,
    /// From giving up to the lease's end.
    pub(super) margin: Duration,
}

impl TryFrom<&v1::Welcome> for Terms {
    type Error = String;

    fn try_from(welcome: &v1::Welcome) -> Result<Self, String> {
        let v1::Welcome {
            beat_ms,
            lease_ms,
            fence_margin_ms,
            ..
        } = *welcome;
        if beat_ms == 0 || fence_margin_ms.saturating_add(beat_ms) >= lease_ms {
            return Err(format!(
                "a beat of {beat_ms} ms and a margin of {fence_margin_ms} ms do not fit into a lease of {lease_ms} ms"
            ));
        }
        Ok(Self {
            beat: Duration::from_millis(beat_ms),
            lease: Duration::from_millis(lease_ms),
            margin: Duration::from_millis(fence_margin_ms),
        })
    }
}

#[derive(Debug)]
struct SentBeat {
    number: u64,
    at: Instant,
    held: BTreeSet<Token>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// Each lease and when it must be given up.
    held: BTreeMap<Token, Instant>,
    beats: VecDeque<SentBeat>,
    numbered: u64,
}

impl Leases {
    /// Takes a lease that arrived `now`. False if it is held already.
    pub(super) fn grant(&mut self, token: Token, terms: Terms, now: Instant) -> bool {
        if self.held.contains_key(&token) {
            return false;
        }
        self.held.insert(token, now + terms.lease - terms.margin);
        true
    }

    /// The next beat, sent `now`.
    pub(super) fn beat(&mut self, now: Instant) -> v1::Beat {
        self.numbered += 1;
        let held: BTreeSet<Token> = self.held.keys().cloned().collect();
        let beat = v1::Beat {
            number: self.numbered,
            held: held.iter().map(v1::LeaseToken::from).collect(),
        };
        if self.beats.len() == BEATS {
            self.beats.pop_front();
        }
        self.beats.push_back(SentBeat {
            number: self.numbered,
            at: now,
            held,
        });
        beat
    }

    /// A beat is acknowledged: what it named is renewed, but for what is revoked.
    pub(super) fn acknowledged(&mut self, number: u64, revoked: &[Token], terms: Terms) {
        for token in revoked {
            self.held.remove(token);
        }
        while self.beats.front().is_some_and(|beat| beat.number <= number) {
            let beat = self.beats.pop_front().expect("it was just looked at");
            if beat.number < number {
                continue;
            }
            for token in &beat.held {
                if let Some(until) = self.held.get_mut(token) {
                    *until = (*until).max(beat.at + terms.lease - terms.margin);
                }
            }
        }
    }

    /// Forgets a lease. False if it was not held.
    pub(super) fn remove(&mut self, token: &Token) -> bool {
        self.held.remove(token).is_some()
    }

    /// Gives up every lease whose time is up `now`, and tells which.
    pub(super) fn fence(&mut self, now: Instant) -> Vec<Token> {
        let over = self.held.extract_if(.., |_, until| *until <= now);
        over.map(|(token, _)| token).collect()
    }

    /// When the next lease must be given up; none = none is held.
    pub(super) fn next_fence(&self) -> Option<Instant> {
        self.held.values().min().copied()
    }

    /// Whether it is held.
    pub(super) fn holds(&self, token: &Token) -> bool {
        self.held.contains_key(token)
    }

    /// How many are held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// What is held, on the wire.
    pub(super) fn tokens(&self) -> Vec<v1::LeaseToken> {
        self.held.keys().map(v1::LeaseToken::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TERMS: Terms = Terms {
        beat: Duration::from_millis(10),
        lease: Duration::from_millis(100),
        margin: Duration::from_millis(20),
    };

    fn token(unit: u8) -> Token {
        Token {
            run: "run".to_owned(),
            unit: unit.to_string(),
            generation: 1,
            epoch: 1,
        }
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_lease_counts_from_the_sending_of_its_acknowledged_beat() {
        let start = Instant::now();
        let mut leases = Leases::default();
        assert!(leases.grant(token(1), TERMS, start));
        assert!(!leases.grant(token(1), TERMS, start + ms(50)));
        assert_eq!(leases.next_fence(), Some(start + ms(80)));

        let beat = leases.beat(start + ms(10));
        leases.acknowledged(beat.number, &[], TERMS);
        assert_eq!(leases.next_fence(), Some(start + ms(90)));
        assert_eq!(leases.fence(start + ms(89)), []);
        assert_eq!(leases.fence(start + ms(90)), [token(1)]);
        assert!(!leases.holds(&token(1)));
    }

    #[test]
    fn a_beat_renews_only_what_it_named_and_nothing_that_it_revokes() {
        let start = Instant::now();
        let mut leases = Leases::default();
        leases.grant(token(1), TERMS, start);
        leases.grant(token(2), TERMS, start);
        let beat = leases.beat(start + ms(50));
        leases.grant(token(3), TERMS, start);
        leases.acknowledged(beat.number, &[token(2)], TERMS);
        assert!(!leases.holds(&token(2)));
        assert_eq!(leases.fence(start + ms(80)), [token(3)]);
        assert_eq!(leases.next_fence(), Some(start + ms(130)));
    }

    #[test]
    fn an_answer_to_an_old_beat_extends_nothing_after_a_newer_one() {
        let start = Instant::now();
        let mut leases = Leases::default();
        leases.grant(token(1), TERMS, start);
        let old = leases.beat(start + ms(10));
        let new = leases.beat(start + ms(20));
        leases.acknowledged(new.number, &[], TERMS);
        leases.acknowledged(old.number, &[], TERMS);
        leases.acknowledged(99, &[], TERMS);
        assert_eq!(leases.next_fence(), Some(start + ms(100)));
    }

    #[test]
    fn terms_that_leave_no_time_for_a_beat_are_refused() {
        let welcome = |beat_ms, lease_ms, fence_margin_ms| v1::Welcome {
            beat_ms,
            lease_ms,
            fence_margin_ms,
            revoked: Vec::new(),
        };
        assert_eq!(Terms::try_from(&welcome(10, 100, 20)), Ok(TERMS));
        assert!(Terms::try_from(&welcome(0, 100, 20)).is_err());
        assert!(Terms::try_from(&welcome(80, 100, 20)).is_err());
        assert!(Terms::try_from(&welcome(1, 1, u64::MAX)).is_err());
    }

    proptest! {
        /// Whatever beats are lost or late: no lease is held past its end, counted from the
        /// sending of the last acknowledged beat that named it.
        #[test]
        fn nothing_is_held_longer_than_granted(
            events in prop::collection::vec((0u8..4, 0u8..4, 0u64..60), 1..200),
        ) {
            let start = Instant::now();
            let mut now = start;
            let mut leases = Leases::default();
            let mut sent: Vec<(u64, Instant, Vec<v1::LeaseToken>)> = Vec::new();
            let mut renewed: BTreeMap<Token, Instant> = BTreeMap::new();
            for (kind, which, pass) in events {
                now += ms(pass);
                for token in leases.fence(now) {
                    renewed.remove(&token);
                }
                match kind {
                    0 => {
                        if leases.grant(token(which), TERMS, now) {
                            renewed.insert(token(which), now);
                        }
                    }
                    1 => {
                        let beat = leases.beat(now);
                        sent.push((beat.number, now, beat.held));
                    }
                    2 => {
                        if let Some((number, at, held)) = sent.get(usize::from(which)) {
                            leases.acknowledged(*number, &[], TERMS);
                            for token in held.iter().map(Token::from) {
                                if let Some(last) = renewed.get_mut(&token) {
                                    *last = (*last).max(*at);
                                }
                            }
                        }
                    }
                    _ => {
                        leases.remove(&token(which));
                        renewed.remove(&token(which));
                    }
                }
                leases.fence(now);
                for (token, last) in &renewed {
                    if leases.holds(token) {
                        prop_assert!(now < *last + TERMS.lease - TERMS.margin);
                    }
                }
            }
        }
    }
}
