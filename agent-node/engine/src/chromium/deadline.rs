//! A moment until which one seam call may take, and errors that name what it was waiting for.

use std::time::Duration;

use tokio::time::Instant;

use super::wire::CallError;
use crate::page::EngineError;

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) until: Instant,
    /// As it was given, for messages.
    given: Duration,
}

impl Deadline {
    pub(super) fn after(given: Duration) -> Self {
        Self {
            until: Instant::now() + given,
            given,
        }
    }

    pub(super) fn passed(&self) -> bool {
        Instant::now() >= self.until
    }

    pub(super) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// `what` took too long; nothing was done.
    pub(super) fn timeout(&self, what: &str) -> EngineError {
        EngineError::Timeout {
            what: what.into(),
            millis: u64::try_from(self.given.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Why a call that changes nothing failed.
    pub(super) fn explain(&self, error: CallError, what: &str) -> EngineError {
        match error {
            CallError::Dead(why) => EngineError::Dead(why),
            CallError::Timeout => self.timeout(what),
            CallError::Refused(why) => {
                EngineError::Invalid(format!("{what}: the browser refused: {why}"))
            }
        }
    }
}
