//! A model that is down is not asked by every test in turn: after some failures in a row calls fail at
//! once, and now and then one is let through to see.

use std::time::Duration;

use tokio::time::Instant;

/// Failed calls in a row, each with its retries, that open the breaker.
const FAILURES: u32 = 3;
/// How long an open breaker lets nothing through.
const PAUSE: Duration = Duration::from_secs(30);

/// What is known of one model's health.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// The last reason, and when the first of the row failed.
    last: Option<(String, Instant)>,
    /// When the next call is let through; only once it is open.
    next: Option<Instant>,
}

impl Breaker {
    /// Whether a call may be made now; the error says why not.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), String> {
        let (Some(next), Some((reason, since))) = (self.next, &self.last) else {
            return Ok(());
        };
        if now >= next {
            // This one sees; the others go on waiting.
            self.next = Some(now + PAUSE);
            return Ok(());
        }
        Err(format!(
            "not asked: {} calls in a row failed since {} s ago, the last with: {reason}; it is asked again in {} s",
            self.failures,
            (now - *since).as_secs(),
            (next - now).as_secs() + 1
        ))
    }

    /// The model answered, whatever it said.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// A call brought no answer.
    pub(super) fn failed(&mut self, now: Instant, reason: &str) {
        self.failures += 1;
        let since = self.last.take().map_or(now, |(_, since)| since);
        self.last = Some((reason.to_owned(), since));
        if self.failures >= FAILURES {
            self.next = Some(now + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_close_the_door_and_one_call_in_a_while_looks() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut breaker = Breaker::default();
        for second in [0, 4] {
            assert_eq!(breaker.admit(at(second)), Ok(()));
            breaker.failed(at(second), "refused");
        }
        breaker.answered();
        for second in [5, 6, 10] {
            assert_eq!(breaker.admit(at(second)), Ok(()), "{second}");
            breaker.failed(at(second), "refused");
        }
        let why = breaker.admit(at(11)).unwrap_err();
        assert_eq!(
            why,
            "not asked: 3 calls in a row failed since 6 s ago, the last with: refused; it is asked again in 30 s"
        );
        assert_eq!(breaker.admit(at(40)), Ok(()), "it looks");
        assert!(breaker.admit(at(41)).is_err(), "one at a time");
        breaker.answered();
        assert_eq!(breaker.admit(at(42)), Ok(()));
    }
}
