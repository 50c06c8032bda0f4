//! The harness of one attempt: it owns the page, the redactor, the secrets and what is remembered
//! between steps. Exact steps use it directly; goals get a [`StepHarness`](super::StepHarness).

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_engine::page::{Input, Pointer, Sink};
use muster_engine::{EngineError, Found, Gesture, Location, NodeId, Page, Travel};
use muster_proto::action::Direction;
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::{Place, Problem};
use muster_proto::secret::Secret;
use muster_proto::step::{Event, EventKind};
use muster_redact::Redactor;
use muster_suite::config::SecretSource;
use muster_suite::locator::Locator;
use tokio::time::{Instant, sleep};
use url::Url;

use super::beside::told;
use super::vault::{Resolved, Vault};
use super::{Denials, Denied, Files, Observation, Purse, Scope, location};
use crate::attempt::millis;

/// Longest time that one look at the page may take.
pub(crate) const LOOK: Duration = Duration::from_secs(15);

/// Most events of an attempt, and of a step.
pub(super) const MAX_EVENTS: usize = 1000;

/// Longest detail of an event, characters.
const MAX_DETAIL: usize = 300;

/// Most notes of an observation.
const MAX_NOTES: usize = 20;

/// Pause between two looks at a changing page.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// One attempt's door to page and secrets.
pub struct AttemptHarness {
    page: Arc<dyn Page>,
    app: Url,
    vault: Vault,
    declared: BTreeMap<String, SecretSource>,
    denials: Arc<Denials>,
    purse: Mutex<Purse>,
    files: Files,
    revision: AtomicU64,
    tainted: AtomicBool,
    /// Whether invisible characters were told of.
    invisible: AtomicBool,
    events: Mutex<Vec<Event>>,
    /// Notes for the next observation.
    notes: Mutex<Vec<String>>,
    began: Instant,
    /// Texts that were typed lately: one may be the user name that goes with a password.
    typed: Mutex<VecDeque<String>>,
}

/// Why a call to the page did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageError {
    /// What the engine says.
    Engine(EngineError),
    /// The scope ended first.
    Ended(Problem),
}

impl PageError {
    /// As a test sees it.
    pub fn problem(self) -> Problem {
        match self {
            PageError::Engine(error) => engine_problem(&error),
            PageError::Ended(problem) => problem,
        }
    }

    /// Whether a later try may succeed: the page was changing.
    pub fn passing(&self) -> bool {
        matches!(
            self,
            PageError::Engine(
                EngineError::NodeStale { .. }
                    | EngineError::Timeout { .. }
                    | EngineError::Navigation { .. }
            )
        )
    }
}

/// The engine's error under the code that a test sees.
pub fn engine_problem(error: &EngineError) -> Problem {
    let code = match error {
        EngineError::NodeStale { .. } => ErrorCode::LocatorNotFound,
        EngineError::NotActionable { .. }
        | EngineError::MayHaveCommitted { .. }
        | EngineError::Stuck(_)
        | EngineError::Timeout { .. } => ErrorCode::ActionFailed,
        EngineError::Navigation { reason, .. } if answered(reason) => ErrorCode::ActionFailed,
        EngineError::Navigation { .. } => ErrorCode::AppUnreachable,
        EngineError::Invalid(_) => ErrorCode::InvalidArgument,
        EngineError::Unfit { .. } => ErrorCode::PolicyDenied,
        EngineError::Dead(_) => ErrorCode::BrowserCrashed,
    };
    Problem::new(code, error.to_string())
}

/// Whether an address did not load though the app is there: it sent no document, it sends in
/// circles, or the test asked for what no app has. All else is an app that can't be reached, such as
/// `net::ERR_EMPTY_RESPONSE`, which the egress proxy makes of a dead one.
fn answered(reason: &str) -> bool {
    const ANSWERED: [&str; 5] = [
        "net::ERR_ABORTED",
        "net::ERR_TOO_MANY_REDIRECTS",
        "net::ERR_INVALID_",
        "net::ERR_UNSAFE_PORT",
        "it is a download",
    ];
    ANSWERED.iter().any(|start| reason.starts_with(start))
        || reason.ends_with("the history has no such page")
}

/// Where Chromium is when an address did not load.
pub(crate) const ERROR_PAGE: &str = "chrome-error:";

impl AttemptHarness {
    /// The harness of a fresh page; its budget has no limit.
    pub fn new(
        page: Arc<dyn Page>,
        app: Url,
        secrets: impl Into<Vault>,
        declared: BTreeMap<String, SecretSource>,
    ) -> Self {
        Self {
            page,
            app,
            vault: secrets.into(),
            declared,
            typed: Mutex::default(),
            denials: Arc::default(),
            purse: Mutex::default(),
            files: Files::none(),
            revision: AtomicU64::new(0),
            tainted: AtomicBool::new(false),
            invisible: AtomicBool::new(false),
            events: Mutex::default(),
            notes: Mutex::default(),
            began: Instant::now(),
        }
    }

    /// With what the attempt may spend, and what its page is denied on its way out as it happens.
    pub fn under(self, purse: Purse, denials: Arc<Denials>) -> Self {
        Self {
            purse: Mutex::new(purse),
            denials,
            ..self
        }
    }

    /// With the files that may be uploaded.
    pub fn with_files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// Whether there are files to upload.
    pub(super) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Files of the bundle, where the browser can read them.
    pub(super) async fn unpacked(
        &self,
        scope: &Scope,
        paths: &[String],
        limit: Duration,
    ) -> Result<Vec<PathBuf>, Denied> {
        let late = Problem::new(
            ErrorCode::ActionFailed,
            "the files could not be fetched in time",
        );
        let scope = scope.within(limit, late);
        match scope.run(self.files.unpacked(paths)).await {
            Ok(unpacked) => unpacked,
            Err(problem) => Err(Denied {
                code: problem.code,
                message: problem.message,
                guard: None,
            }),
        }
    }

    /// The same for an exact step.
    pub async fn upload(
        &self,
        scope: &Scope,
        paths: &[String],
        limit: Duration,
    ) -> Result<Gesture, Problem> {
        match self.unpacked(scope, paths, limit).await {
            Ok(files) => Ok(Gesture::Upload(files)),
            Err(denied) => Err(self.broken(&denied)),
        }
    }

    /// What the attempt may spend.
    pub(super) fn purse(&self) -> MutexGuard<'_, Purse> {
        self.purse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what a guard did outside of a step.
    pub fn note(&self, kind: EventKind, name: &str, detail: &str) {
        let event = self.event(kind, name, detail);
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MAX_EVENTS {
            events.push(event);
        }
    }

    /// Takes in what happened beside the page.
    fn heed(&self) {
        let redactor = self.redactor();
        for notice in self.page.notices() {
            let told = told(&notice, &redactor);
            self.note(told.kind, told.name, &told.line);
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            if notes.len() < MAX_NOTES {
                notes.push(told.line);
            }
        }
    }

    /// What happened outside of steps, in order: what guards did, connections that were denied, and
    /// what a page opened beside itself.
    pub fn events(&self) -> Vec<Event> {
        self.heed();
        let events = self.events.lock();
        let mut events = events.unwrap_or_else(PoisonError::into_inner).clone();
        events.extend(self.denials.all().into_iter().map(|denial| {
            let detail = format!("{}: {}", denial.server, denial.why);
            Event {
                at_ms: millis(denial.first.saturating_duration_since(self.began)),
                ..self.event(EventKind::Denied, denial.guard.as_str(), &detail)
            }
        }));
        events.sort_by_key(|event| event.at_ms);
        events
    }

    /// The connection for this address that was denied since then, as what ended its navigation.
    pub fn denied(&self, address: &str, since: Instant) -> Option<Problem> {
        let url = Url::parse(address).ok()?;
        let host = url.host_str()?.trim_matches(['[', ']']);
        let server = format!("{host}:{}", url.port_or_known_default()?);
        self.denials.of(&server, since).map(|denial| {
            let message = format!("{} is not reached: {}", denial.server, denial.why);
            Problem::new(ErrorCode::PolicyDenied, message)
        })
    }

    /// An event of now; redacted and cut.
    pub(super) fn event(&self, kind: EventKind, name: &str, detail: &str) -> Event {
        let detail = self.redactor().text(detail);
        Event {
            at_ms: millis(self.began.elapsed()),
            kind,
            name: name.to_owned(),
            detail: detail.chars().take(MAX_DETAIL).collect(),
        }
    }

    /// The app's address.
    pub fn app(&self) -> &Url {
        &self.app
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        self.page.engine()
    }

    /// Takes secrets out of what leaves the node.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.vault.redactor()
    }

    /// Whether a secret was filled: no pixels for the rest of the attempt.
    pub fn tainted(&self) -> bool {
        self.tainted.load(Ordering::Relaxed)
    }

    /// A problem whose texts hold no secret.
    pub fn redacted(&self, problem: Problem) -> Problem {
        let redactor = self.redactor();
        let clean = |text: String| redactor.text(&text);
        Problem {
            code: problem.code,
            message: cut(
                redactor.cut_bytes(&problem.message, MAX_MESSAGE),
                MAX_MESSAGE,
            ),
            place: problem.place.map(|place| Place {
                file: clean(place.file),
                ..place
            }),
            expected: problem.expected.map(clean),
            actual: problem.actual.map(clean),
            near: problem.near.into_iter().map(clean).collect(),
        }
    }

    /// Whether a declared secret is a password, for the project or for this machine;
    /// SECRET_UNAVAILABLE for an undeclared name.
    pub fn is_password(&self, name: &str) -> Result<bool, Problem> {
        let declared = self.declared.get(name).ok_or_else(|| {
            unavailable(format!(
                "secret {name:?} is not declared; add [secrets.{name}] to muster.toml"
            ))
        })?;
        let own = self.vault.own(name);
        Ok(declared.password || own.is_some_and(|own| own.password))
    }

    /// The origins that a declared secret may be filled on: those that this machine names, if it
    /// names any, else the app's own and what the project adds.
    pub(super) fn origins(&self, name: &str) -> Vec<String> {
        let own = self.vault.own(name).map(|own| &own.origins);
        let (app, listed) = match own.filter(|own| !own.is_empty()) {
            Some(own) => (None, Some(own)),
            None => (
                Some(self.app.clone()),
                self.declared.get(name).map(|source| &source.origins),
            ),
        };
        let listed = listed.into_iter().flatten();
        app.into_iter()
            .chain(listed.filter_map(|origin| Url::parse(origin).ok()))
            .map(|url| url.origin().ascii_serialization())
            .collect()
    }

    /// What the page checks when an exact step fills a secret: the test's author chose the field.
    pub fn exact_sink(&self, name: &str) -> Sink {
        Sink {
            origins: Guard::SecretOrigin.holds().then(|| self.origins(name)),
            ..Sink::default()
        }
    }

    /// The value of a declared secret, for its sink alone. It is known to the redactor, with all
    /// that is derived from it, before it is returned.
    pub async fn secret(&self, scope: &Scope, name: &str) -> Result<Secret, Problem> {
        self.is_password(name)?;
        let now = jiff::Timestamp::now().as_second();
        let now = u64::try_from(now).unwrap_or_default();
        let Resolved { value, beside } = scope.run(self.vault.resolve(name, now)).await??;
        if !muster_redact::protectable(&value) {
            return Err(unavailable(format!(
                "secret {name:?} is shorter than {} characters and can't be kept out of reports",
                muster_redact::MIN_LENGTH
            )));
        }
        let derived = Guard::SecretDerived.holds();
        if beside.is_empty() || derived {
            beside
                .iter()
                .chain([&value])
                .for_each(|known| self.vault.learn(name, known));
        }
        if derived {
            // The headers that a browser or an app would make of them (RFC 7617).
            let typed = self.typed.lock();
            let users = typed.unwrap_or_else(PoisonError::into_inner).clone();
            for user in users {
                let pair = STANDARD.encode(format!("{user}:{}", value.expose()));
                self.vault.learn(name, &Secret::new(pair));
            }
        }
        Ok(value)
    }

    /// The address that an exact step may go to, or the rule that it breaks.
    pub fn may_go(&self, url: Url) -> Result<Url, Problem> {
        location::anywhere(url).map_err(|denied| self.broken(&denied))
    }

    /// Writes down a broken rule; as an exact step's error.
    fn broken(&self, denied: &Denied) -> Problem {
        if let Some(guard) = denied.guard {
            self.note(EventKind::Denied, guard.as_str(), &denied.message);
        }
        Problem::new(denied.code, denied.message.clone())
    }

    /// Whether the page is on its way to another.
    pub(super) fn loading(&self) -> bool {
        self.page.loading()
    }

    /// The screen, redacted, with a revision of its own. While the page changes so fast that it
    /// can't be read, it is looked at again.
    pub async fn observe(&self, scope: &Scope) -> Result<Observation, PageError> {
        let ends = Instant::now() + LOOK;
        loop {
            match self.look(scope).await {
                Ok(seen) => return Ok(self.mint(seen)),
                Err(error) if error.passing() && Instant::now() < ends => {
                    scope
                        .run(sleep(BETWEEN_LOOKS))
                        .await
                        .map_err(PageError::Ended)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The screen, redacted, without a revision: for comparing.
    pub(super) async fn look(&self, scope: &Scope) -> Result<Observation, PageError> {
        let snapshot = self
            .ask(scope, LOOK, |deadline| self.page.snapshot(deadline))
            .await?;
        let (seen, found) = Observation::of(0, snapshot, &self.app, &self.redactor());
        if found.invisible && !self.invisible.swap(true, Ordering::Relaxed) {
            let what = "invisible characters were taken out of a screen";
            self.note(EventKind::Denied, Guard::PromptInvisible.as_str(), what);
        }
        if found.secret && !self.tainted.swap(true, Ordering::Relaxed) {
            let what = "a screen showed a secret value or a piece of one: no pixels from here on";
            self.note(EventKind::Denied, Guard::SecretPiece.as_str(), what);
        }
        Ok(seen)
    }

    /// Gives a look the next revision.
    pub(super) fn mint(&self, seen: Observation) -> Observation {
        self.heed();
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        Observation {
            notes: std::mem::take(&mut *notes),
            revision: self.revision.fetch_add(1, Ordering::Relaxed) + 1,
            ..seen
        }
    }

    /// Every match of a locator, with its real text: for comparing inside the harness only.
    pub async fn find(
        &self,
        scope: &Scope,
        locator: &Locator,
        attribute: Option<&str>,
    ) -> Result<Vec<Found>, PageError> {
        self.ask(scope, LOOK, |deadline| {
            self.page.find(locator, attribute, deadline)
        })
        .await
    }

    /// Does something to one element.
    pub async fn gesture(
        &self,
        scope: &Scope,
        node: NodeId,
        gesture: &Gesture,
        limit: Duration,
    ) -> Result<(), PageError> {
        match gesture {
            Gesture::Fill(Input::Secret(..)) => self.tainted.store(true, Ordering::Relaxed),
            Gesture::Fill(Input::Plain(text)) | Gesture::Append(text) => self.remember_typed(text),
            _ => {}
        }
        self.ask(scope, limit, |deadline| {
            self.page.perform(node, gesture, deadline)
        })
        .await
    }

    fn remember_typed(&self, text: &str) {
        if text.is_empty() || text.len() > MAX_USER {
            return;
        }
        let mut typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        if typed.len() == MAX_USERS {
            typed.pop_front();
        }
        typed.push_back(text.to_owned());
    }

    /// Presses a key on whatever has the focus.
    pub async fn press(&self, scope: &Scope, key: &str, limit: Duration) -> Result<(), PageError> {
        self.ask(scope, limit, |deadline| self.page.press(key, deadline))
            .await
    }

    /// Types on the keyboard, into what has the focus.
    pub(super) async fn type_text(
        &self,
        scope: &Scope,
        text: &str,
        limit: Duration,
    ) -> Result<(), PageError> {
        self.remember_typed(text);
        self.ask(scope, limit, |deadline| self.page.type_text(text, deadline))
            .await
    }

    /// Scrolls the page by most of a screen.
    pub(super) async fn scroll(
        &self,
        scope: &Scope,
        direction: Direction,
        limit: Duration,
    ) -> Result<(), PageError> {
        self.ask(scope, limit, |deadline| {
            self.page.scroll(direction, deadline)
        })
        .await
    }

    /// The elements at a point, the innermost first.
    pub(super) async fn hit(
        &self,
        scope: &Scope,
        x: u32,
        y: u32,
        limit: Duration,
    ) -> Result<Vec<NodeId>, PageError> {
        self.ask(scope, limit, |deadline| self.page.hit((x, y), deadline))
            .await
    }

    /// Sends the pointer to a point.
    pub(super) async fn point(
        &self,
        scope: &Scope,
        x: u32,
        y: u32,
        pointer: Pointer,
        limit: Duration,
    ) -> Result<(), PageError> {
        self.ask(scope, limit, |deadline| {
            self.page.point((x, y), pointer, deadline)
        })
        .await
    }

    /// Loads an address.
    pub async fn goto(&self, scope: &Scope, url: &Url, limit: Duration) -> Result<(), PageError> {
        self.ask(scope, limit, |deadline| {
            self.page.goto(url.as_str(), deadline)
        })
        .await
    }

    /// Moves in history.
    pub async fn travel(
        &self,
        scope: &Scope,
        travel: Travel,
        limit: Duration,
    ) -> Result<(), PageError> {
        self.ask(scope, limit, |deadline| self.page.travel(travel, deadline))
            .await
    }

    /// The real address and title: for comparing inside the harness, and for the test's own eyes.
    pub async fn location(&self, scope: &Scope) -> Result<Location, PageError> {
        self.ask(scope, LOOK, |deadline| self.page.location(deadline))
            .await
    }

    /// The viewport as a picture. Only for who has asked whether pixels are open.
    pub(super) async fn screenshot(&self, scope: &Scope) -> Result<Vec<u8>, PageError> {
        self.ask(scope, LOOK, |deadline| self.page.screenshot(deadline))
            .await
    }

    /// Forgets cookies and storage.
    pub async fn clear_state(&self, scope: &Scope, limit: Duration) -> Result<(), PageError> {
        self.ask(scope, limit, |deadline| self.page.clear_state(deadline))
            .await
    }

    /// One call to the page, within `limit`, what is left of the scope, and the scope's life.
    async fn ask<T, F>(
        &self,
        scope: &Scope,
        limit: Duration,
        call: impl FnOnce(Duration) -> F,
    ) -> Result<T, PageError>
    where
        F: Future<Output = Result<T, EngineError>>,
    {
        if let Some(problem) = scope.ended() {
            return Err(PageError::Ended(problem));
        }
        let deadline = limit.min(scope.remaining());
        scope
            .run(call(deadline))
            .await
            .map_err(PageError::Ended)?
            .map_err(PageError::Engine)
    }
}

/// How many typed texts are remembered, and the longest of them, bytes.
const MAX_USERS: usize = 8;
const MAX_USER: usize = 256;

/// Longest message of a problem, bytes.
const MAX_MESSAGE: usize = 8192;

fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

fn unavailable(message: String) -> Problem {
    Problem::new(ErrorCode::SecretUnavailable, message)
}

#[cfg(test)]
mod tests {
    use muster_engine::fake::{FakePage, node, screen};
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn harness(page: FakePage) -> AttemptHarness {
        let source = |password| SecretSource {
            env: Some("SHOP_SECRET".to_owned()),
            password,
            ..SecretSource::default()
        };
        AttemptHarness::new(
            Arc::new(page),
            Url::parse("http://shop.test/").unwrap(),
            Arc::new(
                [
                    ("pw".to_owned(), Secret::new("hunter22")),
                    ("pin".to_owned(), Secret::new("1234")),
                ]
                .into(),
            ),
            [
                ("pw".to_owned(), source(true)),
                ("pin".to_owned(), source(false)),
                ("key".to_owned(), source(false)),
            ]
            .into(),
        )
    }

    #[test]
    fn an_app_that_answers_is_not_unreachable() {
        let code = |reason: &str| {
            engine_problem(&EngineError::Navigation {
                url: "http://shop.test/".to_owned(),
                reason: reason.to_owned(),
            })
            .code
        };
        for dead in [
            "net::ERR_EMPTY_RESPONSE",
            "net::ERR_CONNECTION_REFUSED",
            "net::ERR_NAME_NOT_RESOLVED",
            "net::ERR_TUNNEL_CONNECTION_FAILED",
        ] {
            assert_eq!(code(dead), ErrorCode::AppUnreachable, "{dead}");
        }
        for answered in [
            "net::ERR_ABORTED: no document came, but a download or an empty answer",
            "it is a download",
            "net::ERR_TOO_MANY_REDIRECTS",
            "going back: the history has no such page",
        ] {
            assert_eq!(code(answered), ErrorCode::ActionFailed, "{answered}");
        }
    }

    #[tokio::test]
    async fn a_secret_is_declared_present_and_long_enough() {
        let harness = harness(FakePage::new(Vec::new()));
        let scope = Scope::phase(&CancellationToken::new(), Duration::from_secs(5));
        let value = harness.secret(&scope, "pw").await.unwrap();
        assert_eq!(value.expose(), "hunter22");
        for (name, why) in [
            ("pin", "shorter than 6"),
            ("key", "has no value on this node"),
            ("x", "not declared"),
        ] {
            let problem = harness.secret(&scope, name).await.unwrap_err();
            assert_eq!(problem.code, ErrorCode::SecretUnavailable);
            assert!(problem.message.contains(why), "{problem}");
        }
    }

    #[tokio::test]
    async fn a_secret_fill_taints_and_never_shows() {
        let page = FakePage::new(vec![screen(
            "http://shop.test/login",
            "Log in",
            vec![node(1, "textbox", "Name")],
        )]);
        let harness = harness(page);
        let scope = Scope::phase(&CancellationToken::new(), Duration::from_secs(5));
        assert!(!harness.tainted());
        let fill = Gesture::Fill(Input::Secret(
            harness.secret(&scope, "pw").await.unwrap(),
            Sink::default(),
        ));
        harness
            .gesture(&scope, NodeId(1), &fill, LOOK)
            .await
            .unwrap();
        assert!(harness.tainted());
        let seen = harness.observe(&scope).await.unwrap();
        assert_eq!(seen.nodes()[0].value.as_deref(), Some("<secret:pw>"));
        assert_eq!((seen.revision, seen.location.as_str()), (1, "/login"));
    }
}
