//! What a context's pages asked for and did not get.

use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_proto::guard::Guard;
use tokio::time::Instant;

/// Most denials that are kept.
const MOST: usize = 200;

/// A connection that a policy refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// When it was asked for first.
    pub first: Instant,
    /// When it was asked for last.
    pub last: Instant,
    /// The rule.
    pub guard: Guard,
    /// Host and port.
    pub server: String,
    /// Why.
    pub why: String,
}

/// The denials of one context: the first of each server, in order, a bounded number.
#[derive(Debug, Default)]
pub struct Denials(Mutex<Vec<Denial>>);

impl Denials {
    /// All so far.
    pub fn all(&self) -> Vec<Denial> {
        self.kept().clone()
    }

    /// That of a server, host and port, if it is not older than `since`.
    pub fn of(&self, server: &str, since: Instant) -> Option<Denial> {
        let kept = self.kept();
        let mut fits = kept.iter().filter(|denial| denial.server == server);
        fits.find(|denial| denial.last >= since).cloned()
    }

    /// Takes one in.
    pub fn note(&self, server: &str, guard: Guard, why: &str) {
        let mut kept = self.kept();
        let now = Instant::now();
        if let Some(known) = kept.iter_mut().find(|denial| denial.server == server) {
            known.last = now;
        } else if kept.len() < MOST {
            kept.push(Denial {
                first: now,
                last: now,
                guard,
                server: server.to_owned(),
                why: why.to_owned(),
            });
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Denial>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
