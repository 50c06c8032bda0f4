//! The node's browser: one warm process that slots share, a context of its own for each attempt.
//!
//! It is replaced when it dies, after a number of contexts, and when it is old; attempts that
//! still use the one before keep it until they end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use muster_engine::chromium::{Chromium, Downloads, PageOptions};
use muster_engine::{EngineError, Page};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::browser::{BrowserLease, BrowserProvider};
use muster_providers::child::{Supervisor, TempFolder};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;
use url::Url;

use super::egress::{DeniedPort, Egress, EgressProxy, Policy};
use crate::harness::Denials;

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

/// Most files that an attempt downloads.
const DOWNLOADS: u32 = 20;
/// Most bytes of them together.
const DOWNLOADED: u64 = 100_000_000;

/// How long closing a page or a proxy may take before its browser is left to sort it out.
const CLOSE: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Browsers {
    provider: Arc<dyn BrowserProvider>,
    egress: Egress,
    recycling: Recycling,
    /// Removes what was downloaded, whatever becomes of us.
    supervisor: Supervisor,
    /// The browser for new contexts; started by whoever needs it first.
    current: Mutex<Arc<OnceCell<Arc<Warm>>>>,
    /// Browsers that are being given back.
    leaving: TaskTracker,
}

/// A browser that runs. Dropped by its last user, it is given back.
struct Warm {
    chromium: Arc<Chromium>,
    contexts: AtomicU32,
    since: Instant,
    /// It opens no more contexts, though it may live.
    worn: AtomicBool,
    _rented: Rented,
    _port: Option<DeniedPort>,
}

/// A lease that is given back when it is dropped, also by a start that is cancelled.
struct Rented {
    lease: BrowserLease,
    provider: Arc<dyn BrowserProvider>,
    /// Closed before the browser is given back.
    chromium: Option<Arc<Chromium>>,
    leaving: TaskTracker,
}

/// A page in a context of its own, and the way out of it.
pub(super) struct Context {
    pub(super) page: Arc<dyn Page>,
    proxy: Option<EgressProxy>,
    warm: Arc<Warm>,
    /// What its pages downloaded; none = they may not.
    downloads: Option<TempFolder>,
}

impl Browsers {
    /// Nothing is started yet.
    pub(super) fn new(
        provider: Arc<dyn BrowserProvider>,
        egress: Egress,
        recycling: Recycling,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            provider,
            egress,
            recycling,
            supervisor,
            current: Mutex::default(),
            leaving: TaskTracker::new(),
        }
    }

    /// Opens a page within `deadline`, starting a browser if none is warm. A browser that turns
    /// out dead is replaced once.
    pub(super) async fn open(
        &self,
        viewport: (u32, u32),
        policy: &Arc<Policy>,
        deadline: Duration,
    ) -> Result<Context, Problem> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        let mut replaced = false;
        loop {
            let warm = self.warm(left()).await?;
            let proxy = match self.provider.limits().egress {
                true => Some(
                    self.egress
                        .open(Arc::clone(policy))
                        .await
                        .map_err(|error| {
                            unavailable(format!("the egress proxy can't listen: {error}"))
                        })?,
                ),
                false => None,
            };
            // A browser that goes out by itself may be on another machine.
            let downloads = match &proxy {
                Some(_) => Some(self.supervisor.temp_folder("muster-downloads-").map_err(
                    |error| unavailable(format!("there is no room for downloads: {error}")),
                )?),
                None => None,
            };
            let options = PageOptions {
                proxy: proxy.as_ref().map(EgressProxy::url),
                viewport,
                downloads: downloads.as_ref().map(|folder| Downloads {
                    folder: folder.path().to_owned(),
                    files: DOWNLOADS,
                    bytes: DOWNLOADED,
                }),
            };
            match warm.chromium.open(options, left()).await {
                Ok(page) => {
                    return Ok(Context {
                        page,
                        proxy,
                        warm,
                        downloads,
                    });
                }
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
        let mut rented = Rented {
            lease,
            provider: Arc::clone(&self.provider),
            chromium: None,
            leaving: self.leaving.clone(),
        };
        let left = end.saturating_duration_since(Instant::now());
        let chromium = match Chromium::connect(&rented.lease.ws_url, left).await {
            Ok(chromium) => Arc::new(chromium),
            Err(error) => {
                // The next start must find its place free.
                if let Some(leaving) = rented.leave() {
                    leaving.await.ok();
                }
                return Err(unavailable(format!(
                    "the browser does not speak DevTools: {error}"
                )));
            }
        };
        let lease = &rented.lease;
        tracing::info!(
            provider = self.provider.name(),
            product = lease.product,
            "a browser is ready"
        );
        let port = Url::parse(&lease.ws_url).ok().and_then(|url| url.port());
        rented.chromium = Some(Arc::clone(&chromium));
        Ok(Arc::new(Warm {
            _port: port.map(|port| self.egress.deny(port)),
            chromium,
            contexts: AtomicU32::new(0),
            since: Instant::now(),
            worn: AtomicBool::new(false),
            _rented: rented,
        }))
    }
}

impl Warm {
    /// Why it died; none = it lives, as far as its socket tells.
    fn died_of(&self) -> Option<String> {
        self.chromium.dead().now_or_never()
    }
}

impl Rented {
    /// Starts to give it back; none = that was done before.
    fn leave(&mut self) -> Option<JoinHandle<()>> {
        let id = std::mem::take(&mut self.lease.id);
        if id.is_empty() {
            return None;
        }
        let (provider, chromium) = (Arc::clone(&self.provider), self.chromium.take());
        Some(self.leaving.spawn(async move {
            if let Some(chromium) = chromium {
                timeout(CLOSE, chromium.close()).await.ok();
            }
            if let Err(error) = provider.release(&id).await {
                tracing::warn!(%error, "a browser could not be given back");
            }
        }))
    }
}

impl Drop for Rented {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Context {
    /// What its pages were denied.
    pub(super) fn denials(&self) -> Arc<Denials> {
        self.proxy
            .as_ref()
            .map_or_else(Arc::default, EgressProxy::denials)
    }

    /// Why its browser died; none = it lives.
    pub(super) fn died_of(&self) -> Option<String> {
        self.warm.died_of()
    }

    /// Closes the page, its context and the way out, forgets its downloads, and lets go of the
    /// browser.
    pub(super) async fn close(self) {
        if timeout(CLOSE, self.page.close()).await.is_err() {
            tracing::warn!("a page did not close in time; its browser will be replaced");
            self.warm.worn.store(true, Ordering::Relaxed);
        }
        drop(self.downloads);
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use muster_providers::browser::{BrowserError, Limits};
    use muster_providers::child::CommandLine;
    use tokio::net::TcpListener;

    use super::super::egress::EgressLimits;
    use super::*;

    /// Rents out an address where somebody listens and never says a word.
    struct Mute {
        address: String,
        out: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl BrowserProvider for Mute {
        fn name(&self) -> &'static str {
            "mute"
        }
        fn limits(&self) -> Limits {
            Limits {
                browsers: 1,
                egress: false,
            }
        }
        async fn acquire(&self, _: Duration) -> Result<BrowserLease, BrowserError> {
            self.out.lock().unwrap().push("one".to_owned());
            Ok(BrowserLease {
                id: "one".to_owned(),
                ws_url: self.address.clone(),
                product: String::new(),
                pid: None,
            })
        }
        async fn status(&self, _: &str) -> Result<bool, BrowserError> {
            Ok(true)
        }
        async fn list(&self) -> Vec<BrowserLease> {
            Vec::new()
        }
        async fn release(&self, id: &str) -> Result<(), BrowserError> {
            self.out.lock().unwrap().retain(|out| out != id);
            Ok(())
        }
    }

    /// A lease that is revoked while its browser starts.
    #[tokio::test]
    async fn a_browser_whose_start_is_cancelled_is_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mute = Arc::new(Mute {
            address: format!("ws://{}/devtools", listener.local_addr().unwrap()),
            out: Mutex::default(),
        });
        // It has nothing to look after here.
        let supervisor = CommandLine {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "echo ready; cat >/dev/null".into()],
        };
        let browsers = Browsers::new(
            Arc::clone(&mute) as Arc<dyn BrowserProvider>,
            Egress::new([], EgressLimits::default()),
            Recycling::default(),
            Supervisor::start(&supervisor).await.unwrap(),
        );
        let app = Url::parse("http://127.0.0.1:1/").unwrap();
        let policy = Arc::new(Policy::new(&app, &Default::default(), Default::default()));
        let open = browsers.open((800, 600), &policy, Duration::from_secs(60));
        tokio::select! {
            _ = open => panic!("a mute browser opens nothing"),
            _ = listener.accept() => {}
        }
        assert_eq!(*mute.out.lock().unwrap(), ["one"]);
        browsers.close().await;
        assert!(mute.out.lock().unwrap().is_empty());
    }
}
