//! The node's browser: one warm process that slots share, a context of its own for each attempt.
//!
//! It is replaced when it dies, after a number of contexts, and when it is old; attempts that
//! still use the one before keep it until they end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use muster_engine::chromium::{Chromium, PageOptions};
use muster_engine::{EngineError, Page};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::browser::{BrowserLease, BrowserProvider};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;
use url::Url;

use super::egress::{DeniedPort, Egress, EgressProxy};

/// When a browser is replaced by a fresh one, though it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recycling {
    /// Most contexts, over its life.
    pub contexts: u32,
    /// Longest life.
    pub age: Duration,
}

impl Default for Recycling {
    fn default() -> Self {
        Self {
            contexts: 100,
            age: Duration::from_secs(30 * 60),
        }
    }
}

/// How long closing a page or a proxy may take before its browser is left to sort it out.
const CLOSE: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Browsers {
    provider: Arc<dyn BrowserProvider>,
    egress: Egress,
    recycling: Recycling,
    /// The browser for new contexts; started by whoever needs it first.
    current: Mutex<Arc<OnceCell<Arc<Warm>>>>,
    /// Browsers that are being given back.
    leaving: TaskTracker,
}

/// A browser that runs. Dropped by its last user, it is given back.
struct Warm {
    lease: BrowserLease,
    chromium: Arc<Chromium>,
    contexts: AtomicU32,
    since: Instant,
    /// It opens no more contexts, though it may live.
    worn: AtomicBool,
    provider: Arc<dyn BrowserProvider>,
    leaving: TaskTracker,
    _port: Option<DeniedPort>,
}

/// A page in a context of its own, and the way out of it.
pub(super) struct Context {
    pub(super) page: Arc<dyn Page>,
    proxy: Option<EgressProxy>,
    warm: Arc<Warm>,
}

impl Browsers {
    /// Nothing is started yet.
    pub(super) fn new(
        provider: Arc<dyn BrowserProvider>,
        egress: Egress,
        recycling: Recycling,
    ) -> Self {
        Self {
            provider,
            egress,
            recycling,
            current: Mutex::default(),
            leaving: TaskTracker::new(),
        }
    }

    /// Opens a page within `deadline`, starting a browser if none is warm. A browser that turns
    /// out dead is replaced once.
    pub(super) async fn open(
        &self,
        viewport: (u32, u32),
        deadline: Duration,
    ) -> Result<Context, Problem> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        let mut replaced = false;
        loop {
            let warm = self.warm(left()).await?;
            let proxy = match self.provider.limits().egress {
                true => Some(self.egress.open().await.map_err(|error| {
                    unavailable(format!("the egress proxy can't listen: {error}"))
                })?),
                false => None,
            };
            let options = PageOptions {
                proxy: proxy.as_ref().map(EgressProxy::url),
                viewport,
            };
            match warm.chromium.open(options, left()).await {
                Ok(page) => return Ok(Context { page, proxy, warm }),
                Err(EngineError::Dead(reason)) if !replaced => {
                    tracing::warn!(reason, "the warm browser is dead: starting another");
                    warm.worn.store(true, Ordering::Relaxed);
                    replaced = true;
                }
                Err(EngineError::Dead(reason)) => {
                    return Err(Problem::new(ErrorCode::BrowserCrashed, reason));
                }
                Err(error) => return Err(unavailable(format!("no page could be opened: {error}"))),
            }
        }
    }

    /// Gives back what is warm and waits until every browser is gone.
    pub(super) async fn close(&self) {
        drop(std::mem::take(
            &mut *self.current.lock().unwrap_or_else(PoisonError::into_inner),
        ));
        self.leaving.close();
        self.leaving.wait().await;
    }

    /// The warm browser, with one of its contexts taken.
    async fn warm(&self, deadline: Duration) -> Result<Arc<Warm>, Problem> {
        let end = Instant::now() + deadline;
        loop {
            let cell = Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner));
            let start = || self.start(end.saturating_duration_since(Instant::now()));
            let warm = Arc::clone(cell.get_or_try_init(start).await?);
            if self.may_open(&warm) {
                return Ok(warm);
            }
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if Arc::ptr_eq(&current, &cell) {
                *current = Arc::default();
            }
        }
    }

    fn may_open(&self, warm: &Warm) -> bool {
        if warm.died_of().is_some() || warm.worn.load(Ordering::Relaxed) {
            return false;
        }
        let taken = warm.contexts.fetch_add(1, Ordering::Relaxed);
        // Where there is but one browser there is none to replace it with.
        let recycled = self.provider.limits().browsers > 1;
        !recycled || (taken < self.recycling.contexts && warm.since.elapsed() < self.recycling.age)
    }

    async fn start(&self, deadline: Duration) -> Result<Arc<Warm>, Problem> {
        let end = Instant::now() + deadline;
        let lease = self
            .provider
            .acquire(deadline)
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        let chromium =
            Chromium::connect(&lease.ws_url, end.saturating_duration_since(Instant::now())).await;
        let chromium = match chromium {
            Ok(chromium) => Arc::new(chromium),
            Err(error) => {
                if let Err(error) = self.provider.release(&lease.id).await {
                    tracing::warn!(%error, "a browser could not be given back");
                }
                return Err(unavailable(format!(
                    "the browser does not speak DevTools: {error}"
                )));
            }
        };
        tracing::info!(
            provider = self.provider.name(),
            product = lease.product,
            "a browser is ready"
        );
        let port = Url::parse(&lease.ws_url).ok().and_then(|url| url.port());
        Ok(Arc::new(Warm {
            _port: port.map(|port| self.egress.deny(port)),
            lease,
            chromium,
            contexts: AtomicU32::new(0),
            since: Instant::now(),
            worn: AtomicBool::new(false),
            provider: Arc::clone(&self.provider),
            leaving: self.leaving.clone(),
        }))
    }
}

impl Warm {
    /// Why it died; none = it lives, as far as its socket tells.
    fn died_of(&self) -> Option<String> {
        self.chromium.dead().now_or_never()
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        let (provider, chromium) = (Arc::clone(&self.provider), Arc::clone(&self.chromium));
        let id = std::mem::take(&mut self.lease.id);
        self.leaving.spawn(async move {
            timeout(CLOSE, chromium.close()).await.ok();
            if let Err(error) = provider.release(&id).await {
                tracing::warn!(%error, "a browser could not be given back");
            }
        });
    }
}

impl Context {
    /// Why its browser died; none = it lives.
    pub(super) fn died_of(&self) -> Option<String> {
        self.warm.died_of()
    }

    /// Closes the page, its context and the way out, and lets go of the browser.
    pub(super) async fn close(self) {
        if timeout(CLOSE, self.page.close()).await.is_err() {
            tracing::warn!("a page did not close in time; its browser will be replaced");
            self.warm.worn.store(true, Ordering::Relaxed);
        }
        if let Some(proxy) = self.proxy
            && timeout(CLOSE, proxy.close()).await.is_err()
        {
            tracing::warn!("an egress proxy did not close in time");
        }
    }
}

fn unavailable(message: String) -> Problem {
    Problem::new(ErrorCode::BrowserUnavailable, message)
}
