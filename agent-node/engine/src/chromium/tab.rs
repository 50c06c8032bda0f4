//! One window of a browser context: its session, and calls into its script.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::deadline::Deadline;
use super::ids::Ids;
use super::script::{self, Answer};
use super::watch::{Gone, Progress, Watcher};
use super::wire::{CallError, Wire};
use crate::page::EngineError;
use crate::snapshot::NodeId;

/// Between two tries to reach a page that is just changing its document.
const REACH_AGAIN: Duration = Duration::from_millis(10);

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
    target: String,
    session: String,
    watcher: Arc<Watcher>,
    /// The execution context that holds the script; none = not installed yet.
    world: Mutex<Option<i64>>,
    /// The script's global name, unguessable for the page.
    key: String,
    ids: Arc<Ids>,
}

impl Tab {
    /// A window that `watcher` listens to.
    pub(super) fn new(
        wire: Arc<Wire>,
        target: &str,
        session: &str,
        watcher: Arc<Watcher>,
        ids: Arc<Ids>,
    ) -> Self {
        Self {
            wire,
            target: target.into(),
            session: session.into(),
            watcher,
            world: Mutex::new(None),
            key: format!("muster-{}", unguessable()),
            ids,
        }
    }

    /// The browser's name for it.
    pub(super) fn target(&self) -> &str {
        &self.target
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
            why = self.watcher.news.stuck() => Err(CallError::Refused(why)),
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
        let reply = self.call(method, params, deadline).await;
        reply.map_err(|error| match self.stuck_by() {
            Some(why) => EngineError::Stuck(why),
            None => deadline.explain(error, what),
        })
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
                Err(AskError::Lost) if self.closed() => {
                    return Err(EngineError::Dead(Gone::Closed.to_string()));
                }
                Err(AskError::Lost) if let Some(why) = self.stuck_by() => {
                    return Err(EngineError::Stuck(why));
                }
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
                "arguments": [{ "value": self.key }, { "value": call }, { "value": args }, { "value": self.ids.next() }],
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
                Err(CallError::Dead(_)) if self.closed() => return Err(AskError::Lost),
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

    /// The browser's own handle of an element.
    pub(super) async fn object(
        &self,
        id: NodeId,
        deadline: Deadline,
        what: &str,
    ) -> Result<String, EngineError> {
        let world = match self.world(deadline, what).await {
            Ok(world) => world,
            Err(AskError::Failed(error)) => return Err(error),
            Err(AskError::Late | AskError::Lost) => return Err(deadline.timeout(what)),
        };
        let params = json!({
            "functionDeclaration": script::ELEMENT,
            "executionContextId": world,
            "arguments": [{ "value": self.key }, { "value": id }],
        });
        let reply = self
            .explained("Runtime.callFunctionOn", params, deadline, what)
            .await?;
        let object = reply.pointer("/result/objectId").and_then(Value::as_str);
        object
            .map(str::to_owned)
            .ok_or_else(|| EngineError::NodeStale {
                id,
                was: what.to_owned(),
            })
    }

    fn understand<T: DeserializeOwned>(&self, answer: &str, what: &str) -> Result<T, AskError> {
        let broken = |why: &dyn std::fmt::Display| {
            AskError::Failed(EngineError::Invalid(format!(
                "{what}: the page script's answer makes no sense: {why}"
            )))
        };
        let answer: Answer<T> = serde_json::from_str(answer).map_err(|error| broken(&error))?;
        self.ids.taken(answer.next);
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
            CallError::Dead(_) if self.closed() => AskError::Lost,
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

    /// Ends when the window is gone though the browser lives; says why.
    pub(super) async fn gone(&self) -> String {
        let mut gone = self.watcher.gone.subscribe();
        match gone.wait_for(Option::is_some).await {
            Ok(reason) => reason.as_ref().unwrap_or(&Gone::Closed).to_string(),
            Err(_) => Gone::Closed.to_string(),
        }
    }

    /// Ends when the page is stuck; says why.
    pub(super) async fn stuck(&self) -> String {
        self.watcher.news.stuck().await
    }

    /// Why the page is stuck, if it is.
    pub(super) fn stuck_by(&self) -> Option<String> {
        self.watcher.news.stuck_by()
    }

    /// Whether it was closed, by itself, by its opener or with its context.
    pub(super) fn closed(&self) -> bool {
        *self.watcher.gone.borrow() == Some(Gone::Closed)
    }

    /// Its context was disposed.
    pub(super) fn close(&self) {
        self.watcher.gone.send_replace(Some(Gone::Closed));
    }

    /// Ends when the browser is gone; says why.
    pub(super) async fn browser_dead(&self) -> String {
        self.wire.dead().await
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.wire.unlisten(&self.session);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// 64 random bits, from the hasher's per-process keys and a counter.
fn unguessable() -> String {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{:016x}",
        RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
    )
}
