//! Until when a piece of work may go on, and who may end it sooner.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// A phase of an attempt (its body, its clean-up): a deadline that the attempt's owner enforces by
/// [`Scope::end`], and what ended it.
#[derive(Clone)]
pub struct Scope {
    token: CancellationToken,
    why: Arc<OnceLock<Problem>>,
    /// When the phase ends.
    phase_ends: Instant,
    /// When this piece of work ends by itself, and how that is called.
    own: Option<(Instant, Problem)>,
}

impl Scope {
    /// A phase under `parent` that lasts `length`; the owner ends it then.
    pub fn phase(parent: &CancellationToken, length: Duration) -> Self {
        Self {
            token: parent.child_token(),
            why: Arc::new(OnceLock::new()),
            phase_ends: Instant::now() + length,
            own: None,
        }
    }

    /// A piece of work in this phase that ends with `problem` after `length`.
    pub fn within(&self, length: Duration, problem: Problem) -> Self {
        Self {
            own: Some((Instant::now() + length, problem)),
            ..self.clone()
        }
    }

    /// Ends the phase; everything in it stops with `problem`. The first reason stands.
    pub fn end(&self, problem: Problem) {
        self.why.get_or_init(|| problem);
        self.token.cancel();
    }

    /// When the phase ends.
    pub fn phase_ends(&self) -> Instant {
        self.phase_ends
    }

    /// Time that is left, at most; zero when the scope has ended.
    pub fn remaining(&self) -> Duration {
        let ends = self
            .own
            .as_ref()
            .map_or(self.phase_ends, |(ends, _)| self.phase_ends.min(*ends));
        ends.saturating_duration_since(Instant::now())
    }

    /// The scope's end, if it has come.
    pub fn ended(&self) -> Option<Problem> {
        if self.token.is_cancelled() {
            return Some(self.reason());
        }
        self.own
            .as_ref()
            .filter(|(ends, _)| *ends <= Instant::now())
            .map(|(_, problem)| problem.clone())
    }

    /// Waits for `work`, or for the scope's end. A phase's own deadline is its owner's business: a
    /// piece of work that would outlast it is ended by the owner, with the owner's reason.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        let own = async {
            match &self.own {
                Some((ends, problem)) if *ends < self.phase_ends => {
                    sleep_until(*ends).await;
                    problem.clone()
                }
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.token.cancelled() => Err(self.reason()),
            done = work => Ok(done),
            problem = own => Err(problem),
        }
    }

    fn reason(&self) -> Problem {
        self.why
            .get()
            .cloned()
            .unwrap_or_else(|| Problem::new(ErrorCode::Cancelled, "the runner cancelled the step"))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn timeout() -> Problem {
        Problem::new(ErrorCode::StepTimeout, "too long")
    }

    #[tokio::test(start_paused = true)]
    async fn work_ends_by_itself_by_its_deadline_or_with_its_phase() {
        let root = CancellationToken::new();
        let body = Scope::phase(&root, Duration::from_secs(10));
        assert_eq!(body.run(async { 7 }).await, Ok(7));
        let step = body.within(Duration::from_secs(2), timeout());
        assert_eq!(step.remaining(), Duration::from_secs(2));
        assert_eq!(
            step.run(pending::<()>()).await.unwrap_err().code,
            ErrorCode::StepTimeout
        );
        assert_eq!(
            step.ended().map(|problem| problem.code),
            Some(ErrorCode::StepTimeout)
        );
        assert_eq!(body.ended(), None);

        let long = body.within(Duration::from_secs(60), timeout());
        assert_eq!(long.remaining(), Duration::from_secs(8));
        let ending = tokio::spawn({
            let body = body.clone();
            async move {
                sleep_until(body.phase_ends()).await;
                body.end(Problem::new(ErrorCode::TestTimeout, "test"));
                body.end(timeout());
            }
        });
        assert_eq!(
            long.run(pending::<()>()).await.unwrap_err().code,
            ErrorCode::TestTimeout
        );
        ending.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_parent_is_a_cancelled_step() {
        let root = CancellationToken::new();
        let body = Scope::phase(&root, Duration::from_secs(10));
        root.cancel();
        assert_eq!(
            body.run(pending::<()>()).await.unwrap_err().code,
            ErrorCode::Cancelled
        );
    }
}
