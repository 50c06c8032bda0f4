//! Looking again until an expectation holds, or its time is up.

use std::future::Future;
use std::time::Duration;

use muster_engine::EngineError;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::locator::Locator;
use muster_suite::op::{BrowserMatcher, LocatorMatcher};
use tokio::time::{Instant, sleep_until};

use super::check::{self, NOTHING, Outcome};
use super::{near, words};
use crate::harness::{AttemptHarness, PageError, Scope};

/// From look to look.
pub const CADENCE: Duration = Duration::from_millis(100);

/// How long an opposite must hold without a break.
const HELD: Duration = Duration::from_millis(1000);

/// Checks a locator until the matcher (or, `negated`, its opposite) holds.
pub async fn expect_locator(
    harness: &AttemptHarness,
    scope: &Scope,
    locator: &Locator,
    matcher: &LocatorMatcher,
    negated: bool,
    budget: Duration,
) -> Result<(), Problem> {
    let attribute = check::attribute(matcher);
    let last = poll(scope, negated, budget, || async {
        let found = match harness.find(scope, locator, attribute).await {
            Ok(found) => found,
            Err(error) => return unreadable(error),
        };
        check::check(matcher, locator, &found).map(Some)
    })
    .await?;
    let Some(failure) = last else { return Ok(()) };
    let mut problem = failure.problem(&locator.to_string(), &words::wants(matcher), negated);
    if problem.actual.as_deref() == Some(NOTHING)
        && let Ok(screen) = harness.observe(scope).await
    {
        let missing = near::not_found(locator, screen.nodes());
        problem.message = format!("{}; {}", problem.message, missing.message);
        problem.near = missing.near;
    }
    Err(problem)
}

/// Checks the browser likewise.
pub async fn expect_browser(
    harness: &AttemptHarness,
    scope: &Scope,
    matcher: &BrowserMatcher,
    negated: bool,
    budget: Duration,
) -> Result<(), Problem> {
    let last = poll(scope, negated, budget, || async {
        match harness.location(scope).await {
            Ok(at) => check::check_browser(matcher, harness.app(), &at.url, &at.title).map(Some),
            Err(error) => unreadable(error),
        }
    })
    .await?;
    let wants = match matcher {
        BrowserMatcher::HaveUrl { want } => format!("to have URL {want}"),
        BrowserMatcher::HaveTitle { want } => format!("to have title {want}"),
    };
    last.map_or(Ok(()), |failure| {
        Err(failure.problem("the browser", &wants, negated))
    })
}

/// A page that can't be read this time is looked at again; a locator that is malformed, a dead
/// browser or an ended scope is final.
fn unreadable(error: PageError) -> Result<Option<Outcome>, Problem> {
    match error {
        error if error.passing() => Ok(None),
        PageError::Engine(EngineError::Invalid(why)) => {
            Err(Problem::new(ErrorCode::InvalidLocator, why))
        }
        error => Err(error.problem()),
    }
}

/// How long a look may take that begins at the very end of the budget: a real page never answers at
/// once.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// The last look of an expectation that did not come true.
struct Unmet {
    last: Option<Outcome>,
    waited: Duration,
}

impl Unmet {
    fn problem(self, what: &str, wants: &str, negated: bool) -> Problem {
        let not = if negated { "not " } else { "" };
        let (expected, actual) = match self.last {
            Some(last) => (last.expected, last.actual),
            None => (wants.to_owned(), "the page could not be read".to_owned()),
        };
        let message = format!(
            "expected {what} {not}{expected}, saw {actual} after {} ms",
            self.waited.as_millis()
        );
        Problem {
            expected: Some(format!("{not}{expected}")),
            actual: Some(actual),
            ..Problem::new(ErrorCode::AssertionFailed, message)
        }
    }
}

/// Looks every [`CADENCE`] until satisfied. An opposite must be so for [`HELD`] without a break, or
/// for the whole budget where that is shorter. `None` = it holds.
async fn poll<F>(
    scope: &Scope,
    negated: bool,
    budget: Duration,
    look: impl Fn() -> F,
) -> Result<Option<Unmet>, Problem>
where
    F: Future<Output = Result<Option<Outcome>, Problem>>,
{
    let began = Instant::now();
    let ends = began + budget;
    let held = HELD.min(budget);
    let mut since: Option<Instant> = None;
    let mut last = None;
    loop {
        let looked = Instant::now();
        // A look that hangs must not outlast the budget by much.
        let outcome = tokio::select! {
            biased;
            outcome = look() => outcome?,
            () = sleep_until(ends.max(looked + LAST_LOOK)) => None,
        };
        let satisfied = outcome
            .as_ref()
            .is_some_and(|outcome| outcome.satisfied(negated));
        since = if satisfied {
            since.or(Some(looked))
        } else {
            None
        };
        last = outcome.or(last);
        if since.is_some_and(|since| !negated || since.elapsed() >= held) {
            return Ok(None);
        }
        if Instant::now() >= ends {
            return Ok(Some(Unmet {
                last,
                waited: began.elapsed(),
            }));
        }
        scope
            .run(sleep_until(
                (looked + CADENCE).max(Instant::now()).min(ends),
            ))
            .await?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio_util::sync::CancellationToken;

    use super::*;

    fn scope() -> Scope {
        Scope::phase(&CancellationToken::new(), Duration::from_secs(60))
    }

    fn seen(holds: bool) -> Result<Option<Outcome>, Problem> {
        Ok(Some(Outcome {
            holds: Some(holds),
            expected: "to be so".to_owned(),
            actual: format!("{holds}"),
        }))
    }

    /// Polls a condition that is a function of the milliseconds since the start.
    async fn run(negated: bool, budget: u64, holds: impl Fn(u128) -> bool) -> (bool, u128, u32) {
        let began = Instant::now();
        let looks = Cell::new(0);
        let result = poll(&scope(), negated, Duration::from_millis(budget), || {
            looks.set(looks.get() + 1);
            let now = began.elapsed().as_millis();
            let holds = holds(now);
            async move { seen(holds) }
        })
        .await
        .unwrap();
        (result.is_none(), began.elapsed().as_millis(), looks.get())
    }

    #[tokio::test(start_paused = true)]
    async fn it_holds_as_soon_as_it_is_seen() {
        assert_eq!(run(false, 5000, |_| true).await, (true, 0, 1));
        assert_eq!(run(false, 5000, |now| now >= 450).await, (true, 500, 6));
    }

    #[tokio::test(start_paused = true)]
    async fn it_fails_when_the_budget_is_spent() {
        assert_eq!(run(false, 1600, |_| false).await, (false, 1600, 17));
        assert_eq!(run(false, 0, |_| false).await, (false, 0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn an_opposite_must_hold_for_a_second() {
        assert_eq!(run(true, 5000, |_| false).await, (true, 1000, 11));
        // It flickers at 500 ms: the second starts again.
        assert_eq!(run(true, 5000, |now| now == 500).await, (true, 1600, 17));
        assert!(!run(true, 5000, |now| now > 300).await.0);
        // A shorter budget must be held whole.
        assert_eq!(run(true, 300, |_| false).await, (true, 300, 4));
        assert!(!run(true, 300, |now| now >= 300).await.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_takes_a_while_counts_at_the_end_too() {
        for (negated, budget) in [(true, 300), (true, 1000), (false, 0)] {
            let look = || async {
                tokio::time::sleep(Duration::from_millis(7)).await;
                seen(!negated)
            };
            let unmet = poll(&scope(), negated, Duration::from_millis(budget), look).await;
            assert!(unmet.unwrap().is_none(), "{negated} {budget}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_look_ends_with_the_budget() {
        let unmet = poll(&scope(), false, Duration::from_millis(700), || {
            std::future::pending()
        })
        .await
        .unwrap()
        .unwrap();
        assert_eq!(unmet.waited, Duration::from_millis(700));
        let problem = unmet.problem("status", "to be visible", false);
        assert_eq!(
            problem.message,
            "expected status to be visible, saw the page could not be read after 700 ms"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_final_error_ends_the_polling() {
        let result = poll(&scope(), false, Duration::from_secs(5), || async {
            Err(Problem::new(ErrorCode::LocatorAmbiguous, "two"))
        })
        .await;
        assert_eq!(
            result.err().map(|problem| problem.code),
            Some(ErrorCode::LocatorAmbiguous)
        );
    }
}
