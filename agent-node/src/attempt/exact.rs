//! Exact steps: what a test does and reads itself, by locators and addresses, with no model.

use std::time::Duration;

use muster_engine::page::Input;
use muster_engine::{EngineError, Found, Gesture, Travel};
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::step::EventKind;
use muster_suite::locator::{Locator, TextMatch};
use muster_suite::op::{self, BrowserMatcher, FillValue, LocatorMatcher, Read};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::expect::{self, CADENCE};
use crate::harness::{AttemptHarness, ERROR_PAGE, LOOK, PageError, Scope};

/// An attempt's harness for the length of one exact step.
pub(super) struct Exact<'a> {
    pub(super) harness: &'a AttemptHarness,
    pub(super) scope: &'a Scope,
}

impl Exact<'_> {
    /// Loads an address; a relative one resolves on the app's.
    pub(super) async fn goto(&self, address: &str, limit: Duration) -> Result<(), Problem> {
        let url = self.resolve(address)?;
        let began = Instant::now();
        self.harness
            .goto(self.scope, &url, limit)
            .await
            .map_err(|error| match error {
                PageError::Engine(EngineError::Navigation { url, reason }) => {
                    self.harness.denied(&url, began).unwrap_or_else(|| {
                        PageError::Engine(EngineError::Navigation { url, reason }).problem()
                    })
                }
                PageError::Engine(error @ EngineError::Timeout { .. }) => Problem::new(
                    ErrorCode::AppUnreachable,
                    format!("{error}; is the app running?"),
                ),
                error => error.problem(),
            })
    }

    /// Moves in history.
    pub(super) async fn travel(&self, travel: Travel, limit: Duration) -> Result<(), Problem> {
        self.harness
            .travel(self.scope, travel, limit)
            .await
            .map_err(PageError::problem)?;
        // A dead app is no error to a browser that moves in history: it arrives on a page of its own.
        let at = self.harness.location(self.scope).await;
        match at {
            Ok(at) if at.url.starts_with(ERROR_PAGE) => Err(Problem::new(
                ErrorCode::AppUnreachable,
                "the address did not load and the browser shows its own error page; is the app running?",
            )),
            Ok(_) => Ok(()),
            Err(error) if error.passing() => Ok(()),
            Err(error) => Err(error.problem()),
        }
    }

    /// Waits for the address.
    pub(super) async fn wait_for_url(
        &self,
        url: &TextMatch,
        limit: Duration,
    ) -> Result<(), Problem> {
        let matcher = BrowserMatcher::HaveUrl { want: url.clone() };
        expect::expect_browser(self.harness, self.scope, &matcher, false, limit).await
    }

    /// Does something to the one element that matches, as soon as there is one and it can be done.
    /// An element that goes while it is reached for is looked for again.
    pub(super) async fn act(
        &self,
        locator: &Locator,
        gesture: &op::Gesture,
        limit: Duration,
    ) -> Result<(), Problem> {
        let gesture = self.resolve_gesture(gesture, limit).await?;
        let ends = Instant::now() + limit;
        loop {
            let blocked = match self.one(locator, ends).await? {
                // A file field often hides behind what opens its chooser.
                Sight::One(one) if one.visible || matches!(gesture, Gesture::Upload(_)) => {
                    let left = ends.saturating_duration_since(Instant::now());
                    match self
                        .harness
                        .gesture(self.scope, one.node.id, &gesture, left)
                        .await
                    {
                        Ok(()) => return Ok(()),
                        Err(PageError::Engine(error @ EngineError::NodeStale { .. })) => {
                            Problem::new(ErrorCode::LocatorNotFound, error.to_string())
                        }
                        Err(PageError::Engine(error @ EngineError::Unfit { guard, .. })) => {
                            let why = error.to_string();
                            self.harness.note(EventKind::Denied, guard.as_str(), &why);
                            return Err(Problem::new(ErrorCode::PolicyDenied, why));
                        }
                        Err(error) => return Err(error.problem()),
                    }
                }
                Sight::One(_) => Problem::new(
                    ErrorCode::ActionFailed,
                    format!("{locator} matches, but it is hidden"),
                ),
                Sight::None => Problem::new(ErrorCode::LocatorNotFound, ""),
                Sight::Unreadable => {
                    Problem::new(ErrorCode::ActionFailed, "the page could not be read")
                }
            };
            self.again(locator, blocked, ends, limit).await?;
        }
    }

    /// Waits until the match is visible, or hidden or gone.
    pub(super) async fn wait_for(
        &self,
        locator: &Locator,
        visible: bool,
        limit: Duration,
    ) -> Result<(), Problem> {
        let ends = Instant::now() + limit;
        loop {
            let problem = match (self.one(locator, ends).await?, visible) {
                (Sight::One(one), true) if one.visible => return Ok(()),
                (Sight::One(one), false) if !one.visible => return Ok(()),
                (Sight::None, false) => return Ok(()),
                (Sight::None, true) => Problem::new(ErrorCode::LocatorNotFound, ""),
                (Sight::One(_), true) => Problem::new(
                    ErrorCode::ActionFailed,
                    format!("{locator} matches, but it is hidden"),
                ),
                (Sight::One(_), false) => Problem::new(
                    ErrorCode::ActionFailed,
                    format!("{locator} is still visible"),
                ),
                (Sight::Unreadable, _) => {
                    Problem::new(ErrorCode::ActionFailed, "the page could not be read")
                }
            };
            self.again(locator, problem, ends, limit).await?;
        }
    }

    /// Reads without waiting.
    pub(super) async fn read(&self, locator: &Locator, what: &Read) -> Result<Value, Problem> {
        let attribute = match what {
            Read::Attribute { name } => Some(name.as_str()),
            _ => None,
        };
        let found = self
            .harness
            .find(self.scope, locator, attribute)
            .await
            .map_err(find_problem)?;
        let secure = |one: &Found| one.node.states.secure;
        let content = matches!(
            what,
            Read::TextContent {}
                | Read::InputValue {}
                | Read::Attribute { .. }
                | Read::AllTextContents {}
        );
        if content && found.iter().any(secure) {
            return Err(Problem::new(
                ErrorCode::PolicyDenied,
                format!("{locator} is a secure field; its content can't be read, only its state"),
            ));
        }
        match (what, found.as_slice()) {
            (Read::Count {}, found) => return Ok(found.len().into()),
            (Read::AllTextContents {}, found) => {
                return Ok(found.iter().map(|one| one.text_content.as_str()).collect());
            }
            (_, [_, _, ..]) => return Err(expect::ambiguous(locator, &found)),
            _ => {}
        }
        let Some(one) = found.first() else {
            return match what {
                Read::IsVisible {} => Ok(false.into()),
                Read::IsHidden {} => Ok(true.into()),
                _ => Err(self.not_found(locator).await),
            };
        };
        Ok(match what {
            Read::TextContent {} => one.text_content.clone().into(),
            Read::InputValue {} => match &one.node.value {
                Some(value) => value.clone().into(),
                None => {
                    return Err(Problem::new(
                        ErrorCode::ActionFailed,
                        format!("{locator} is no field and has no value"),
                    ));
                }
            },
            Read::Attribute { .. } => one.attribute.clone().into(),
            Read::IsEnabled {} => (!one.node.states.disabled).into(),
            Read::IsChecked {} => (one.node.states.checked == Some(true)).into(),
            Read::IsVisible {} => one.visible.into(),
            Read::IsHidden {} => (!one.visible).into(),
            Read::BoundingBox {} if one.visible => {
                let (x, y, width, height) = one.node.rect;
                json!({"x": x, "y": y, "width": width, "height": height})
            }
            Read::BoundingBox {} => Value::Null,
            Read::Count {} | Read::AllTextContents {} => unreachable!("lists are answered above"),
        })
    }

    /// Checks a locator.
    pub(super) async fn expect(
        &self,
        locator: &Locator,
        matcher: &LocatorMatcher,
        negated: bool,
        limit: Duration,
    ) -> Result<(), Problem> {
        expect::expect_locator(self.harness, self.scope, locator, matcher, negated, limit).await
    }

    /// One look for one element.
    async fn one(&self, locator: &Locator, ends: Instant) -> Result<Sight, Problem> {
        let late = || {
            Problem::new(
                ErrorCode::ActionFailed,
                format!("{locator} could not be looked for in time"),
            )
        };
        let left = ends.saturating_duration_since(Instant::now()).max(CADENCE);
        let scope = self.scope.within(left.min(LOOK), late());
        match self.harness.find(&scope, locator, None).await {
            Ok(mut found) => match found.len() {
                0 => Ok(Sight::None),
                1 => Ok(Sight::One(Box::new(found.remove(0)))),
                _ => Err(expect::ambiguous(locator, &found)),
            },
            Err(error) if error.passing() => Ok(Sight::Unreadable),
            Err(error) => Err(find_problem(error)),
        }
    }

    /// Waits for the next look, or fails with `problem` when the time is up.
    async fn again(
        &self,
        locator: &Locator,
        problem: Problem,
        ends: Instant,
        limit: Duration,
    ) -> Result<(), Problem> {
        if Instant::now() + CADENCE > ends {
            let mut problem = match problem.message.as_str() {
                "" => self.not_found(locator).await,
                _ => problem,
            };
            problem.message = format!("{} (waited {} ms)", problem.message, limit.as_millis());
            return Err(problem);
        }
        self.scope.run(sleep(CADENCE)).await
    }

    async fn not_found(&self, locator: &Locator) -> Problem {
        match self.harness.observe(self.scope).await {
            Ok(screen) => expect::not_found(locator, screen.nodes()),
            Err(_) => expect::not_found(locator, &[]),
        }
    }

    /// An address that a test may go to.
    fn resolve(&self, address: &str) -> Result<Url, Problem> {
        let url = match address {
            "" => self.harness.app().clone(),
            address => self.harness.app().join(address).map_err(|error| {
                Problem::new(
                    ErrorCode::InvalidArgument,
                    format!("{address:?} is no address: {error}"),
                )
            })?,
        };
        self.harness.may_go(url)
    }

    async fn resolve_gesture(
        &self,
        gesture: &op::Gesture,
        limit: Duration,
    ) -> Result<Gesture, Problem> {
        Ok(match gesture {
            op::Gesture::Tap {} => Gesture::Tap,
            op::Gesture::Fill {
                value: FillValue::Plain { text },
            } => Gesture::Fill(Input::Plain(text.clone())),
            op::Gesture::Fill {
                value: FillValue::Secret { name },
            } => {
                let secret = self.harness.secret(self.scope, name).await?;
                self.harness
                    .note(EventKind::Allowed, Guard::SecretFill.as_str(), name);
                Gesture::Fill(Input::Secret(secret, self.harness.exact_sink(name)))
            }
            op::Gesture::Clear {} => Gesture::Fill(Input::Plain(String::new())),
            op::Gesture::Press { key } => Gesture::Press(key.clone()),
            op::Gesture::Check {} => Gesture::SetChecked(true),
            op::Gesture::Uncheck {} => Gesture::SetChecked(false),
            op::Gesture::SelectOption { choice } => Gesture::Select(choice.clone()),
            op::Gesture::SetInputFiles { files } => {
                self.harness.upload(self.scope, files, limit).await?
            }
            op::Gesture::Hover {} => Gesture::Hover,
            op::Gesture::Focus {} => Gesture::Focus,
            op::Gesture::ScrollIntoView {} => Gesture::ScrollIntoView,
        })
    }
}

/// What one look for one element saw.
enum Sight {
    None,
    One(Box<Found>),
    Unreadable,
}

fn find_problem(error: PageError) -> Problem {
    match error {
        PageError::Engine(EngineError::Invalid(why)) => {
            Problem::new(ErrorCode::InvalidLocator, why)
        }
        error => error.problem(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_engine::fake::FakePage;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::harness::{Denials, Purse};

    #[tokio::test(start_paused = true)]
    async fn only_its_own_denial_explains_a_navigation() {
        let denials = Arc::<Denials>::default();
        let page = Arc::new(FakePage::new(Vec::new()));
        let app = Url::parse("http://shop.test/").unwrap();
        let secrets = Arc::new(Default::default());
        let harness = AttemptHarness::new(page, app, secrets, Default::default())
            .under(Purse::default(), Arc::clone(&denials));
        let scope = Scope::phase(&CancellationToken::new(), Duration::from_secs(5));
        let exact = Exact {
            harness: &harness,
            scope: &scope,
        };
        let code = async || exact.goto("/gone", LOOK).await.unwrap_err().code;
        // By a picture of the page before, at this very moment.
        denials.note("cdn.test:80", Guard::EgressPolicy, "no");
        assert_eq!(code().await, ErrorCode::AppUnreachable);
        denials.note("shop.test:80", Guard::EgressPolicy, "no");
        assert_eq!(code().await, ErrorCode::PolicyDenied);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(code().await, ErrorCode::AppUnreachable);
    }
}
