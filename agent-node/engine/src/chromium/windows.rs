//! A browser context and its windows.
//!
//! The browser holds each new window until it has been made ready here, so that its first script
//! finds the same bounds and the same screen as every later one. The newest window is the current
//! one; when it closes, its opener is, and if that is gone, the newest that is left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use muster_proto::guard::Guard;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::PageOptions;
use super::deadline::Deadline;
use super::downloads::Loads;
use super::ids::Ids;
use super::news::News;
use super::tab::Tab;
use super::watch::Watcher;
use super::wire::{Command, Listener, Wire};
use crate::page::{EngineError, Notice};

/// Most windows at a time; a further one is closed before it loads anything.
const MOST: usize = 8;
/// How long a context that is being discarded may take.
const DISPOSAL: Duration = Duration::from_secs(5);

/// A browser context: no cookies, no storage, nothing shared with others. Dropped, it is disposed
/// with all its windows.
pub(super) struct Context {
    wire: Arc<Wire>,
    id: String,
    windows: Arc<Windows>,
    /// The browser has been told to dispose it.
    disposed: AtomicBool,
}

/// The windows of a context, and the listener that hears of new ones.
pub(super) struct Windows {
    itself: Weak<Self>,
    wire: Weak<Wire>,
    viewport: (u32, u32),
    ids: Arc<Ids>,
    news: Arc<News>,
    loads: Arc<Loads>,
    /// The last one is the current; the last of all stays when it is closed.
    live: watch::Sender<Vec<Window>>,
}

struct Window {
    tab: Arc<Tab>,
    /// The target that opened it.
    opener: Option<String>,
}

impl Context {
    /// Opens a context with one blank window.
    pub(super) async fn open(
        wire: Arc<Wire>,
        options: &PageOptions,
        ids: Arc<Ids>,
        news: Arc<News>,
        deadline: Deadline,
    ) -> Result<Self, EngineError> {
        let what = "opening a page";
        let call = |method, params| {
            let wire = &wire;
            async move {
                let reply = wire.call(None, method, params, deadline.until).await;
                reply.map_err(|error| deadline.explain(error, what))
            }
        };
        let mut params = json!({ "disposeOnDetach": true });
        if let Some(proxy) = &options.proxy {
            params["proxyServer"] = json!(proxy);
            // Without this, Chromium goes to loopback addresses around the proxy.
            params["proxyBypassList"] = json!("<-loopback>");
        }
        let reply = call("Target.createBrowserContext", params).await?;
        let id = reply
            .get("browserContextId")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let loads = Loads::new(&wire, &id, options.downloads.clone(), Arc::clone(&news));
        let windows = Arc::new_cyclic(|itself| Windows {
            itself: Weak::clone(itself),
            wire: Arc::downgrade(&wire),
            viewport: options.viewport,
            ids,
            news,
            loads,
            live: watch::Sender::new(Vec::new()),
        });
        wire.listen(&id, Arc::clone(&windows) as Arc<dyn Listener>);
        // From here on the context must not leak: it is disposed when it is dropped.
        let context = Self {
            wire: Arc::clone(&wire),
            id: id.clone(),
            windows,
            disposed: AtomicBool::new(false),
        };
        if Guard::PermissionDenied.holds() {
            // None is granted, which denies all of them at once.
            let none = json!({ "permissions": [], "browserContextId": id });
            call("Browser.grantPermissions", none).await?;
        }
        let behavior = context.windows.loads.behavior();
        call("Browser.setDownloadBehavior", behavior).await?;
        let (width, height) = options.viewport;
        let blank = json!({ "url": "about:blank", "browserContextId": id, "width": width, "height": height });
        call("Target.createTarget", blank).await?;
        let opened = async {
            let mut live = context.windows.live.subscribe();
            let opened = live.wait_for(|live| !live.is_empty()).await;
            drop(opened.expect("this context holds the other end"));
        };
        tokio::select! {
            biased;
            reason = wire.dead() => return Err(EngineError::Dead(reason)),
            opened = timeout_at(deadline.until, opened) => opened.map_err(|_| deadline.timeout(what))?,
        }
        context.current().blank(deadline, what).await?;
        Ok(context)
    }

    /// The window that is the page now.
    pub(super) fn current(&self) -> Arc<Tab> {
        let live = self.windows.live.borrow();
        let last = live.last().expect("a context opens with a window");
        Arc::clone(&last.tab)
    }

    /// Closes the windows and the context.
    pub(super) async fn dispose(&self) {
        if self.disposed.swap(true, Ordering::Relaxed) {
            return;
        }
        let params = json!({ "browserContextId": self.id });
        let deadline = Deadline::after(DISPOSAL);
        // A browser that does not answer is ended by its provider.
        let _ = self
            .wire
            .call(None, "Target.disposeBrowserContext", params, deadline.until)
            .await;
        for window in self.windows.live.borrow().iter() {
            window.tab.close();
        }
    }
}

impl Drop for Context {
    /// Hands it to the browser for disposal, unless [`Context::dispose`] has done it.
    fn drop(&mut self) {
        self.wire.unlisten(&self.id);
        self.windows.loads.forget();
        if !self.disposed.swap(true, Ordering::Relaxed) {
            let params = json!({ "browserContextId": self.id });
            self.wire.cast("Target.disposeBrowserContext", params);
        }
    }
}

impl Windows {
    /// A window closed.
    pub(super) fn closed(&self, target: &str) {
        self.live.send_if_modified(|live| {
            let Some(at) = live.iter().position(|window| window.tab.target() == target) else {
                return false;
            };
            if live.len() == 1 {
                return false;
            }
            let was_current = at + 1 == live.len();
            let gone = live.remove(at);
            if was_current {
                let opener = live
                    .iter()
                    .position(|window| Some(window.tab.target()) == gone.opener.as_deref());
                if let Some(opener) = opener {
                    let opener = live.remove(opener);
                    live.push(opener);
                }
                self.news.tell(Notice::WindowClosed);
            }
            true
        });
    }

    /// A download begins in one of the windows, for its whole page or for a part of it.
    pub(super) fn download(&self, target: &str, params: &Value) -> Vec<Command> {
        let text = |field: &str| {
            let text = params.get(field).and_then(Value::as_str);
            text.unwrap_or_default()
        };
        let begun = self.loads.begins(text("guid"), text("suggestedFilename"));
        // A window that was opened for a download alone has nothing to show.
        let empty = (text("frameId") == target).then(|| self.empty(target));
        begun.into_iter().chain(empty.flatten()).collect()
    }

    /// Closes a window that has loaded nothing, unless it is the only one.
    fn empty(&self, target: &str) -> Option<Command> {
        let live = self.live.borrow();
        let found = live.iter().find(|window| window.tab.target() == target)?;
        let empty = live.len() > 1 && found.tab.progress().borrow().commits == 0;
        let params = json!({ "targetId": target });
        empty.then(|| Command::browser("Target.closeTarget", params))
    }

    fn opened(
        &self,
        session: &str,
        target: &str,
        opener: Option<&str>,
        wire: Arc<Wire>,
    ) -> Vec<Command> {
        let to = |method, params| Command::to(session, method, params);
        let run = || to("Runtime.runIfWaitingForDebugger", json!({}));
        if self.live.borrow().len() >= MOST && Guard::WindowBound.holds() {
            self.news.tell(Notice::Denied {
                guard: Guard::WindowBound,
                what: format!("a window beyond {MOST} at a time"),
            });
            // Held, it can't close; let go, it would load: so its requests wait for ever.
            let close = Command::browser("Target.closeTarget", json!({ "targetId": target }));
            return vec![to("Fetch.enable", json!({})).then(vec![run(), close])];
        }
        let watcher = Watcher::new(
            target,
            session,
            Weak::clone(&self.itself),
            Arc::clone(&self.news),
        );
        let watcher = Arc::new(watcher);
        wire.listen(session, Arc::clone(&watcher) as Arc<dyn Listener>);
        let tab = Tab::new(wire, target, session, watcher, Arc::clone(&self.ids));
        self.live.send_modify(|live| {
            if !live.is_empty() {
                self.news.tell(Notice::WindowOpened);
            }
            live.push(Window {
                tab: Arc::new(tab),
                opener: opener.map(str::to_owned),
            });
        });
        let (width, height) = self.viewport;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        vec![
            to("Page.enable", json!({})),
            to("Inspector.enable", json!({})),
            to("Emulation.setDeviceMetricsOverride", metrics),
            // Pages side by side each believe that they have the focus.
            to(
                "Emulation.setFocusEmulationEnabled",
                json!({ "enabled": true }),
            ),
            run(),
        ]
    }
}

impl Listener for Windows {
    fn on_event(&self, method: &str, params: &Value) -> Vec<Command> {
        let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str);
        let (Some(session), Some(target), Some(wire)) = (
            text("/sessionId"),
            text("/targetInfo/targetId"),
            self.wire.upgrade(),
        ) else {
            return Vec::new();
        };
        match (method, text("/targetInfo/type")) {
            ("Target.attachedToTarget", Some("page")) => {
                self.opened(session, target, text("/targetInfo/openerId"), wire)
            }
            _ => Vec::new(),
        }
    }
}
