//! Browsers that we start on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::{BrowserError, BrowserLease, BrowserProvider, Limits, devtools, launch};
use crate::child::{Child, Supervisor, Tail};

/// How often we look whether a starting browser has told its port.
const LOOK: Duration = Duration::from_millis(5);

/// How local browsers are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSettings {
    /// The binary; none = the headless shell or Chromium where Debian puts them.
    pub path: Option<PathBuf>,
    /// Width and height of a new window, CSS px.
    pub window: (u32, u32),
    /// Most browsers at a time, at least 1.
    pub limit: u32,
}

/// Starts Chromium, one process group and one profile folder a lease. Both are gone when
/// [`BrowserProvider::release`] returns; when this is dropped they go too, without a wait.
#[derive(Debug)]
pub struct LocalBrowsers {
    settings: LocalSettings,
    supervisor: Supervisor,
    free: Arc<Semaphore>,
    out: Mutex<BTreeMap<String, Running>>,
    started: AtomicU64,
}

/// A lease that is out. Dropping it ends its browser.
#[derive(Debug)]
struct Running {
    lease: BrowserLease,
    alive: watch::Receiver<bool>,
    /// Tells the watcher to end the browser.
    stop: DropGuard,
    watcher: JoinHandle<()>,
    _place: OwnedSemaphorePermit,
}

impl LocalBrowsers {
    /// Nothing is started yet.
    pub fn new(settings: LocalSettings, supervisor: Supervisor) -> Self {
        let free = Arc::new(Semaphore::new(settings.limit as usize));
        Self {
            settings,
            supervisor,
            free,
            out: Mutex::default(),
            started: AtomicU64::new(0),
        }
    }

    fn out(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(&self, binary: &Path) -> Result<(Child, PathBuf, Tail), String> {
        let profile = self
            .supervisor
            .temp_folder("muster-browser-")
            .map_err(|error| error.to_string())?;
        let path = profile.path().to_owned();
        let spec = launch::command(binary, &path, self.settings.window)
            .map_err(|error| error.to_string())?;
        let mut child = self
            .supervisor
            .spawn(&spec)
            .map_err(|error| error.to_string())?;
        child.adopt(profile);
        let tail = Tail::of(child.take_stderr().expect("stderr was asked for"));
        Ok((child, path, tail))
    }
}

#[async_trait]
impl BrowserProvider for LocalBrowsers {
    fn name(&self) -> &'static str {
        "local"
    }

    fn limits(&self) -> Limits {
        Limits {
            browsers: self.settings.limit,
            egress: true,
        }
    }

    async fn acquire(&self, deadline: Duration) -> Result<BrowserLease, BrowserError> {
        let place =
            Arc::clone(&self.free)
                .try_acquire_owned()
                .map_err(|_| BrowserError::Exhausted {
                    limit: self.settings.limit,
                })?;
        let binary = launch::find(self.settings.path.as_deref())?;
        let failed = |reason| BrowserError::StartFailed {
            path: binary.display().to_string(),
            reason,
        };
        let (mut child, profile, tail) = self.spawn(&binary).map_err(failed)?;

        let ready = tokio::select! {
            ready = timeout(deadline, ready(&profile)) => {
                ready.unwrap_or_else(|_| Err(format!("it was not ready within {} ms", deadline.as_millis())))
            }
            status = child.wait() => Err(match status {
                Ok(status) => format!("it ended at once ({status})"),
                Err(error) => error.to_string(),
            }),
        };
        let (ws_url, product) = match ready {
            Ok(ready) => ready,
            Err(reason) => {
                child.kill_group(Duration::ZERO).await;
                let words = tail.last_lines().await;
                return Err(failed(if words.is_empty() {
                    reason
                } else {
                    format!("{reason}: {words}")
                }));
            }
        };

        let id = format!("local-{}", self.started.fetch_add(1, Ordering::Relaxed) + 1);
        let lease = BrowserLease {
            id: id.clone(),
            ws_url,
            product,
            pid: Some(child.id()),
        };
        let stop = CancellationToken::new();
        let (dead, alive) = watch::channel(true);
        let watcher = tokio::spawn(watch_over(child, tail, id.clone(), stop.clone(), dead));
        let running = Running {
            lease: lease.clone(),
            alive,
            stop: stop.drop_guard(),
            watcher,
            _place: place,
        };
        self.out().insert(id, running);
        Ok(lease)
    }

    async fn status(&self, id: &str) -> Result<bool, BrowserError> {
        Ok(self
            .out()
            .get(id)
            .is_some_and(|running| *running.alive.borrow()))
    }

    async fn list(&self) -> Vec<BrowserLease> {
        self.out()
            .values()
            .map(|running| running.lease.clone())
            .collect()
    }

    async fn release(&self, id: &str) -> Result<(), BrowserError> {
        let running = self.out().remove(id);
        if let Some(Running { stop, watcher, .. }) = running {
            drop(stop);
            if let Err(error) = watcher.await {
                tracing::error!(id, %error, "a browser's watcher broke");
            }
        }
        Ok(())
    }
}

/// Waits until the browser tells its port and answers there: its DevTools address and product.
async fn ready(profile: &Path) -> Result<(String, String), String> {
    // Faster and free of races, against reading the address off its stderr.
    let file = profile.join("DevToolsActivePort");
    let (port, path) = loop {
        let text = tokio::fs::read_to_string(&file).await.unwrap_or_default();
        // Line 1 is the port, line 2 the path; a half-written file lacks one.
        if let Some((port, path)) = text.split_once('\n')
            && let Ok(port) = port.trim().parse::<u16>()
            && path.starts_with("/devtools/")
        {
            break (port, path.trim().to_owned());
        }
        tokio::time::sleep(LOOK).await;
    };
    let base = Url::parse(&format!("http://127.0.0.1:{port}")).expect("a port makes an address");
    let version = devtools::version(&base)
        .await
        .map_err(|error| format!("it told port {port} but {error}"))?;
    Ok((format!("ws://127.0.0.1:{port}{path}"), version.product))
}

/// Holds a browser until it is stopped or dies; then ends what is left of it.
async fn watch_over(
    mut child: Child,
    tail: Tail,
    id: String,
    stop: CancellationToken,
    dead: watch::Sender<bool>,
) {
    let died = tokio::select! {
        () = stop.cancelled() => None,
        status = child.wait() => Some(status),
    };
    dead.send_replace(false);
    child.kill_group(Duration::ZERO).await;
    if let Some(status) = died {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let stderr = tail.last_lines().await;
        tracing::warn!(id, status, stderr, "a browser died");
    }
}
