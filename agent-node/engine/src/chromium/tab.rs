//! One tab in one browser context: its session, what its events told, and calls into its script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::deadline::Deadline;
use super::script::{self, Answer};
use super::wire::{CallError, Listener, Wire};
use super::{PageOptions, wire};
use crate::page::EngineError;
use crate::snapshot::{Node, NodeId};

/// Dialog messages kept until somebody asks; the oldest go first.
const DIALOGS: usize = 50;
/// Characters of each that are kept.
const DIALOG_LENGTH: usize = 2_000;
/// Loader ids kept: a load that waits may be overtaken by this many redirections of the page's own.
const LOADERS: usize = 16;
/// Between two tries to reach a page that is just changing its document.
const REACH_AGAIN: Duration = Duration::from_millis(10);
/// Elements whose role and name are remembered, so that a stale id can say what it was.
const REMEMBERED: usize = 10_000;
/// How long a tab that is being discarded may take.
const DISPOSAL: Duration = Duration::from_secs(5);

/// Ids given out by one page, whatever documents and tabs it goes through.
pub(super) struct Ids {
    /// The lowest that is free.
    next: AtomicU64,
    /// What ids stood for; ids grow, so the first are the oldest.
    seen: Mutex<BTreeMap<NodeId, String>>,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self {
            next: AtomicU64::new(1),
            seen: Mutex::default(),
        }
    }

    pub(super) fn remember<'a>(&self, nodes: impl Iterator<Item = &'a Node>) {
        let mut seen = lock(&self.seen);
        for node in nodes {
            let role = if node.role.is_empty() {
                &node.tag
            } else {
                &node.role
            };
            let label = if node.name.is_empty() {
                &node.text
            } else {
                &node.name
            };
            let was = if label.is_empty() {
                role.clone()
            } else {
                format!("{role} {label:?}")
            };
            seen.insert(node.id, was);
        }
        while seen.len() > REMEMBERED {
            seen.pop_first();
        }
    }

    /// Role and name when it was last told.
    pub(super) fn was(&self, id: NodeId) -> String {
        lock(&self.seen)
            .get(&id)
            .cloned()
            .unwrap_or_else(|| "an element that was never told".into())
    }
}

/// What the main frame has been through.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// New documents so far.
    pub(super) commits: u64,
    /// Moves within a document so far.
    pub(super) moves: u64,
    /// The current document has fired its load event, or gave up loading.
    pub(super) loaded: bool,
    /// A navigation is under way, or the newest document still loads.
    pub(super) loading: bool,
    /// Loader ids of the newest documents, oldest first.
    pub(super) loaders: VecDeque<String>,
}

/// The listener of a tab's events.
struct Watcher {
    /// The tab's own id; set before the first event can come.
    main_frame: OnceLock<String>,
    progress: watch::Sender<Progress>,
    gone: watch::Sender<Option<String>>,
    dialogs: Mutex<VecDeque<String>>,
}

impl Listener for Watcher {
    fn on_event(&self, method: &str, params: &Value) -> Option<(&'static str, Value)> {
        let text = |pointer: &str| {
            params
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let is_main = |frame: &str| self.main_frame.get().is_some_and(|main| main == frame);
        match method {
            "Page.frameNavigated" if is_main(text("/frame/id")) => {
                let restored = text("/type") == "BackForwardCacheRestore";
                self.progress.send_modify(|progress| {
                    progress.commits += 1;
                    progress.loaded = restored;
                    if progress.loaders.len() == LOADERS {
                        progress.loaders.pop_front();
                    }
                    progress.loaders.push_back(text("/frame/loaderId").into());
                });
            }
            "Page.navigatedWithinDocument" if is_main(text("/frameId")) => {
                self.progress.send_modify(|progress| progress.moves += 1);
            }
            "Page.frameStartedLoading" if is_main(text("/frameId")) => {
                self.progress
                    .send_modify(|progress| progress.loading = true);
            }
            "Page.loadEventFired" => self.progress.send_modify(|progress| progress.loaded = true),
            "Page.frameStoppedLoading" if is_main(text("/frameId")) => {
                self.progress.send_modify(|progress| {
                    progress.loaded = true;
                    progress.loading = false;
                });
            }
            "Inspector.targetCrashed" => {
                drop(self.gone.send_replace(Some("the page crashed".into())))
            }
            "Inspector.detached" | "Target.detachedFromTarget" => {
                drop(
                    self.gone
                        .send_replace(Some("the page was closed by the browser".into())),
                );
            }
            "Page.javascriptDialogOpening" => {
                let kind = text("/type");
                if kind != "beforeunload" {
                    let mut dialogs = lock(&self.dialogs);
                    if dialogs.len() == DIALOGS {
                        dialogs.pop_front();
                    }
                    dialogs.push_back(text("/message").chars().take(DIALOG_LENGTH).collect());
                }
                let accept = matches!(kind, "alert" | "beforeunload");
                return Some(("Page.handleJavaScriptDialog", json!({ "accept": accept })));
            }
            _ => {}
        }
        None
    }
}

/// Why the script did not answer.
#[derive(Debug)]
pub(super) enum AskError {
    /// The document went away while the script ran: it may have done its part.
    Lost,
    /// The wire's reasons, and a caller's fault in words.
    Failed(EngineError),
    /// The wire was too slow.
    Late,
}

/// See the module's text.
pub(super) struct Tab {
    wire: Arc<Wire>,
    context: String,
    target: String,
    session: String,
    watcher: Arc<Watcher>,
    /// The execution context that holds the script; none = not installed yet.
    world: Mutex<Option<i64>>,
    /// The script's global name, unguessable for the page.
    key: String,
    ids: Arc<Ids>,
    /// The browser has been told to dispose the context.
    disposed: AtomicBool,
}

impl Tab {
    /// Opens a blank tab in a new context.
    pub(super) async fn open(
        wire: Arc<Wire>,
        options: &PageOptions,
        ids: Arc<Ids>,
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
        let mut context = json!({ "disposeOnDetach": true });
        if let Some(proxy) = &options.proxy {
            context["proxyServer"] = json!(proxy);
            // Without this, Chromium goes to loopback addresses around the proxy.
            context["proxyBypassList"] = json!("<-loopback>");
        }
        let context = text(
            &call("Target.createBrowserContext", context).await?,
            "browserContextId",
        );
        // From here on the context must not leak: `Tab` disposes it when it is dropped.
        let watcher = Arc::new(Watcher {
            main_frame: OnceLock::new(),
            progress: watch::Sender::new(Progress::default()),
            gone: watch::Sender::new(None),
            dialogs: Mutex::default(),
        });
        let key = format!("muster-{}", unguessable());
        let mut tab = Self {
            wire: Arc::clone(&wire),
            context,
            target: String::new(),
            session: String::new(),
            watcher,
            world: Mutex::new(None),
            key,
            ids,
            disposed: AtomicBool::new(false),
        };
        let (width, height) = options.viewport;
        let blank = json!({ "url": "about:blank", "browserContextId": tab.context, "width": width, "height": height });
        tab.target = text(&call("Target.createTarget", blank).await?, "targetId");
        let attach = json!({ "targetId": tab.target, "flatten": true });
        tab.session = text(&call("Target.attachToTarget", attach).await?, "sessionId");
        tab.watcher.main_frame.get_or_init(|| tab.target.clone());
        wire.listen(
            &tab.session,
            Arc::clone(&tab.watcher) as Arc<dyn wire::Listener>,
        );
        let downloads = json!({ "behavior": "deny", "browserContextId": tab.context });
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        tokio::try_join!(
            call("Browser.setDownloadBehavior", downloads),
            tab.explained("Page.enable", json!({}), deadline, what),
            tab.explained("Inspector.enable", json!({}), deadline, what),
            tab.explained(
                "Emulation.setDeviceMetricsOverride",
                metrics,
                deadline,
                what
            ),
            // Pages side by side each believe that they have the focus.
            tab.explained(
                "Emulation.setFocusEmulationEnabled",
                json!({ "enabled": true }),
                deadline,
                what
            ),
        )?;
        Ok(tab)
    }

    /// Calls a method of the tab.
    pub(super) async fn call(
        &self,
        method: &'static str,
        params: Value,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        tokio::select! {
            biased;
            reason = self.gone() => Err(CallError::Dead(reason)),
            reply = self.wire.call(Some(&self.session), method, params, deadline.until) => reply,
        }
    }

    /// Likewise, for calls that change nothing in the app.
    pub(super) async fn explained(
        &self,
        method: &'static str,
        params: Value,
        deadline: Deadline,
        what: &str,
    ) -> Result<Value, EngineError> {
        self.call(method, params, deadline)
            .await
            .map_err(|error| deadline.explain(error, what))
    }

    /// Asks the script, again and again while the document changes under it: for questions.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        call: &str,
        args: Value,
        deadline: Deadline,
        what: &str,
    ) -> Result<T, EngineError> {
        loop {
            match self.ask_once(call, args.clone(), deadline, what).await {
                Ok(answer) => return Ok(answer),
                Err(AskError::Failed(error)) => return Err(error),
                Err(AskError::Late) => return Err(deadline.timeout(what)),
                Err(AskError::Lost) if deadline.passed() => return Err(deadline.timeout(what)),
                Err(AskError::Lost) => tokio::time::sleep(REACH_AGAIN.min(deadline.left())).await,
            }
        }
    }

    /// Asks the script; it runs at most once.
    pub(super) async fn ask_once<T: DeserializeOwned>(
        &self,
        call: &str,
        args: Value,
        deadline: Deadline,
        what: &str,
    ) -> Result<T, AskError> {
        loop {
            let world = self.world(deadline, what).await?;
            let params = json!({
                "functionDeclaration": script::CALL,
                "executionContextId": world,
                "arguments": [{ "value": self.key }, { "value": call }, { "value": args }, { "value": self.ids.next.load(Ordering::Relaxed) }],
                "awaitPromise": true,
                "returnByValue": true,
            });
            let reply = match self.call("Runtime.callFunctionOn", params, deadline).await {
                Ok(reply) => reply,
                Err(CallError::Refused(why)) => {
                    self.leave_world(world);
                    // The context was gone before the script could start.
                    if why.contains("Cannot find context") && !deadline.passed() {
                        continue;
                    }
                    return Err(AskError::Lost);
                }
                Err(CallError::Timeout) => return Err(AskError::Late),
                Err(error) => return Err(AskError::Failed(deadline.explain(error, what))),
            };
            if let Some(details) = reply.get("exceptionDetails") {
                let why = script::exception(details);
                return Err(AskError::Failed(EngineError::Invalid(format!(
                    "{what}: the page script failed: {why}"
                ))));
            }
            let Some(answer) = reply.pointer("/result/value").and_then(Value::as_str) else {
                self.leave_world(world);
                if deadline.passed() {
                    return Err(AskError::Late);
                }
                continue;
            };
            return self.understand(answer, what);
        }
    }

    fn understand<T: DeserializeOwned>(&self, answer: &str, what: &str) -> Result<T, AskError> {
        let broken = |why: &dyn std::fmt::Display| {
            AskError::Failed(EngineError::Invalid(format!(
                "{what}: the page script's answer makes no sense: {why}"
            )))
        };
        let answer: Answer<T> = serde_json::from_str(answer).map_err(|error| broken(&error))?;
        self.ids.next.fetch_max(answer.next, Ordering::Relaxed);
        match (answer.answer, answer.invalid) {
            (_, Some(fault)) => Err(AskError::Failed(EngineError::Invalid(fault))),
            (Some(answer), None) => Ok(answer),
            (None, None) => Err(broken(&"it is empty")),
        }
    }

    /// The context that holds the script, in the current document.
    async fn world(&self, deadline: Deadline, what: &str) -> Result<i64, AskError> {
        if let Some(world) = *lock(&self.world) {
            return Ok(world);
        }
        let sort = |error| match error {
            CallError::Refused(_) => AskError::Lost,
            CallError::Timeout => AskError::Late,
            CallError::Dead(_) => AskError::Failed(deadline.explain(error, what)),
        };
        let params = json!({ "frameId": self.target, "worldName": "muster" });
        let reply = self
            .call("Page.createIsolatedWorld", params, deadline)
            .await
            .map_err(sort)?;
        let world = reply
            .get("executionContextId")
            .and_then(Value::as_i64)
            .ok_or(AskError::Lost)?;
        let params = json!({ "expression": script::install(&self.key), "contextId": world, "returnByValue": true });
        let reply = self
            .call("Runtime.evaluate", params, deadline)
            .await
            .map_err(sort)?;
        if let Some(details) = reply.get("exceptionDetails") {
            let why = script::exception(details);
            return Err(AskError::Failed(EngineError::Invalid(format!(
                "the page script does not install: {why}"
            ))));
        }
        *lock(&self.world) = Some(world);
        Ok(world)
    }

    fn leave_world(&self, world: i64) {
        let mut current = lock(&self.world);
        if *current == Some(world) {
            *current = None;
        }
    }

    /// What the main frame has been through so far, and from now on.
    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.watcher.progress.subscribe()
    }

    /// Ends when the tab is gone though the browser lives; says why.
    pub(super) async fn gone(&self) -> String {
        let mut gone = self.watcher.gone.subscribe();
        match gone.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the page was closed".into(),
        }
    }

    /// Ends when the browser is gone; says why.
    pub(super) async fn browser_dead(&self) -> String {
        self.wire.dead().await
    }

    /// Messages of dialogs since the last call.
    pub(super) fn dialogs(&self) -> Vec<String> {
        lock(&self.watcher.dialogs).drain(..).collect()
    }

    /// Closes the tab, its popups and its context.
    pub(super) async fn dispose(&self) {
        if self.disposed.swap(true, Ordering::Relaxed) {
            return;
        }
        let params = json!({ "browserContextId": self.context });
        let deadline = Deadline::after(DISPOSAL);
        // A browser that does not answer is ended by its provider.
        let _ = self
            .wire
            .call(None, "Target.disposeBrowserContext", params, deadline.until)
            .await;
        self.watcher
            .gone
            .send_replace(Some("the page was closed".into()));
    }
}

impl Drop for Tab {
    /// Hands the context to the browser for disposal, unless [`Tab::dispose`] has done it.
    fn drop(&mut self) {
        self.wire.unlisten(&self.session);
        if !self.disposed.swap(true, Ordering::Relaxed) {
            self.wire.cast(
                "Target.disposeBrowserContext",
                json!({ "browserContextId": self.context }),
            );
        }
    }
}

fn text(reply: &Value, field: &str) -> String {
    reply
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// 64 random bits, from the hasher's per-process keys and a counter.
fn unguessable() -> String {
    use std::hash::{BuildHasher, RandomState};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{:016x}",
        RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
    )
}
