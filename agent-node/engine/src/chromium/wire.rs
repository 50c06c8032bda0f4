//! The DevTools wire of one browser: one socket, one task, replies matched to calls by id.
//!
//! Messages are chromiumoxide's; the socket is not its connection, which takes messages of any size,
//! nor is there its handler, which attaches to every target, hangs its callers when the browser dies
//! and has no deadlines. Here a message is bounded, every call has a deadline, and the first socket
//! error is the end of the browser. Parameters and replies stay plain JSON, so that a newer browser
//! with unknown enum values is no error.
//!
//! The task runs without a tracing subscriber: who traces whole messages traces a secret that is
//! being typed.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use async_tungstenite::tokio::{ConnectStream, connect_async_with_config};
use async_tungstenite::tungstenite::Message as Frame;
use async_tungstenite::tungstenite::protocol::WebSocketConfig;
use async_tungstenite::{WebSocketReceiver, WebSocketSender, WebSocketStream};
use chromiumoxide::types::{CallId, Message, Method, MethodCall, MethodId, Response};
use futures::StreamExt;
use muster_proto::guard::Guard;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Calls that may wait to be sent before senders wait too.
const INBOX: usize = 64;
/// Unanswered calls above which those whose caller left are forgotten.
const SWEEP: usize = 256;

/// Largest message, bytes. A picture of a large screen has a few million.
const MAX_MESSAGE: usize = 64 << 20;
/// Messages that are no DevTools messages, after which the peer is taken for none of ours.
const MAX_MALFORMED: u32 = 64;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The browser is gone.
    Dead(String),
    /// No reply within the deadline; it may have been done.
    Timeout,
    /// The browser said no.
    Refused(String),
}

/// What listens to the events of one session or download, or to the windows of one browser context. Called from
/// the wire's task: it must not block.
pub(super) trait Listener: Send + Sync {
    /// Takes one event; what it returns is sent at once, in order, the replies ignored.
    fn on_event(&self, method: &str, params: &Value) -> Vec<Command>;
}

/// A call that answers an event.
pub(super) struct Command {
    /// None = the browser itself.
    session: Option<String>,
    method: &'static str,
    params: Value,
    /// Sent once it is answered.
    then: Vec<Command>,
}

impl Command {
    /// To a session.
    pub(super) fn to(session: &str, method: &'static str, params: Value) -> Self {
        Self {
            session: Some(session.into()),
            method,
            params,
            then: Vec::new(),
        }
    }

    /// To the browser.
    pub(super) fn browser(method: &'static str, params: Value) -> Self {
        Self {
            session: None,
            method,
            params,
            then: Vec::new(),
        }
    }

    /// With what is sent once it is answered.
    pub(super) fn then(self, then: Vec<Command>) -> Self {
        Self { then, ..self }
    }
}

/// A handle on the wire; the socket closes when [`Wire::close`] is called or all are dropped.
pub(super) struct Wire {
    inbox: mpsc::Sender<Outgoing>,
    death: watch::Receiver<Option<String>>,
    listeners: Listeners,
    task: Mutex<Option<JoinHandle<()>>>,
}

type Listeners = Arc<Mutex<HashMap<String, Arc<dyn Listener>>>>;

enum Outgoing {
    Call(Call),
    Close,
}

struct Call {
    session: Option<String>,
    method: &'static str,
    params: Value,
    waits: Waits,
}

/// Who waits for an answer.
enum Waits {
    Nobody,
    Caller(oneshot::Sender<Result<Value, CallError>>),
    Commands(Vec<Command>),
}

impl From<Command> for Call {
    fn from(command: Command) -> Self {
        let waits = match command.then.is_empty() {
            true => Waits::Nobody,
            false => Waits::Commands(command.then),
        };
        Self {
            session: command.session,
            method: command.method,
            params: command.params,
            waits,
        }
    }
}

/// An event as it comes.
#[derive(Debug, Deserialize)]
struct Event {
    method: String,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(default)]
    params: Value,
}

impl Method for Event {
    fn identifier(&self) -> MethodId {
        Cow::Owned(self.method.clone())
    }
}

impl chromiumoxide::types::EventMessage for Event {
    fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

impl Wire {
    /// Connects to a browser's DevTools address (`ws://…/devtools/browser/…`).
    pub(super) async fn connect(address: &str, until: Instant) -> Result<Self, CallError> {
        let most = Guard::PeerBound.holds().then_some(MAX_MESSAGE);
        let bounds = WebSocketConfig::default()
            .max_message_size(most)
            .max_frame_size(most);
        let connecting = connect_async_with_config(address, Some(bounds))
            .with_subscriber(NoSubscriber::default());
        let (socket, _) = match tokio::time::timeout_at(until, connecting).await {
            Err(_) => return Err(CallError::Timeout),
            Ok(Err(error)) => return Err(CallError::Dead(format!("no connection: {error}"))),
            Ok(Ok(connected)) => connected,
        };
        let (inbox, outgoing) = mpsc::channel(INBOX);
        let (dying, death) = watch::channel(None);
        let listeners = Listeners::default();
        let exchange = Exchange {
            outgoing,
            listeners: Arc::clone(&listeners),
            next: 0,
            unsent: VecDeque::new(),
            pending: HashMap::new(),
            malformed: 0,
        };
        let task = tokio::spawn(
            async move {
                let reason = exchange.run(socket).await;
                dying.send_replace(Some(reason));
            }
            .with_subscriber(NoSubscriber::default()),
        );
        let wire = Self {
            inbox,
            death,
            listeners,
            task: Mutex::new(Some(task)),
        };
        // Each new window is held until its context's listener has made it ready: no script of it
        // runs, and nothing is loaded, before that.
        let windows = json!({
            "autoAttach": true,
            "waitForDebuggerOnStart": true,
            "flatten": true,
            "filter": [{ "type": "page" }],
        });
        wire.cast("Target.setAutoAttach", windows);
        Ok(wire)
    }

    /// Calls a method, of the browser itself when `session` is none.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
        until: Instant,
    ) -> Result<Value, CallError> {
        let (reply, answer) = oneshot::channel();
        let call = Call {
            session: session.map(Into::into),
            method,
            params,
            waits: Waits::Caller(reply),
        };
        let exchange = async {
            if self.inbox.send(Outgoing::Call(call)).await.is_err() {
                return Err(CallError::Dead(self.death_reason()));
            }
            answer
                .await
                .unwrap_or_else(|_| Err(CallError::Dead(self.death_reason())))
        };
        tokio::select! {
            biased;
            reason = self.dead() => Err(CallError::Dead(reason)),
            answer = tokio::time::timeout_at(until, exchange) => answer.unwrap_or(Err(CallError::Timeout)),
        }
    }

    /// Sends a call that nobody waits for; dropped when the queue is full.
    pub(super) fn cast(&self, method: &'static str, params: Value) {
        let call = Call {
            session: None,
            method,
            params,
            waits: Waits::Nobody,
        };
        // A full or closed queue means that the browser is busy dying.
        let _ = self.inbox.try_send(Outgoing::Call(call));
    }

    /// Ends when the browser is gone; says why.
    pub(super) async fn dead(&self) -> String {
        let mut death = self.death.clone();
        match death.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the connection's task ended".into(),
        }
    }

    /// Closes the socket and waits for the task.
    pub(super) async fn close(&self) {
        // Fails only if the task has ended already.
        let _ = self.inbox.send(Outgoing::Close).await;
        let task = self
            .task
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take();
        if let Some(task) = task {
            // A panic in there has been reported by the panic hook.
            let _ = task.await;
        }
    }

    /// Sends the events of a session or of a download, or the new windows of a browser context, to
    /// `listener`.
    pub(super) fn listen(&self, id: &str, listener: Arc<dyn Listener>) {
        lock(&self.listeners).insert(id.into(), listener);
    }

    /// Stops that.
    pub(super) fn unlisten(&self, id: &str) {
        // Dropped without the lock: what it holds may unlisten, too.
        let listener = lock(&self.listeners).remove(id);
        drop(listener);
    }

    fn death_reason(&self) -> String {
        self.death
            .borrow()
            .clone()
            .unwrap_or_else(|| "the connection is closed".into())
    }
}

fn lock(listeners: &Listeners) -> MutexGuard<'_, HashMap<String, Arc<dyn Listener>>> {
    listeners
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What the task owns.
struct Exchange {
    outgoing: mpsc::Receiver<Outgoing>,
    listeners: Listeners,
    /// The next call's number.
    next: usize,
    /// Calls that the socket has yet to take.
    unsent: VecDeque<Frame>,
    pending: HashMap<CallId, Waits>,
    malformed: u32,
}

/// Sends frames until the socket ends; returns why. It reads on meanwhile: a browser that waits for
/// us to read may be waited for.
async fn write(
    mut socket: WebSocketSender<ConnectStream>,
    mut frames: mpsc::Receiver<Frame>,
) -> String {
    while let Some(frame) = frames.recv().await {
        if let Err(error) = socket.send(frame).await {
            return error.to_string();
        }
    }
    "the connection was closed".into()
}

impl Exchange {
    /// Runs until the socket ends; returns why.
    async fn run(mut self, socket: WebSocketStream<ConnectStream>) -> String {
        let (sink, stream) = socket.split();
        let (frames, written) = mpsc::channel(1);
        tokio::select! {
            reason = self.exchange(stream, frames) => reason,
            reason = write(sink, written) => reason,
        }
    }

    async fn exchange(
        &mut self,
        mut socket: WebSocketReceiver<ConnectStream>,
        frames: mpsc::Sender<Frame>,
    ) -> String {
        loop {
            tokio::select! {
                frame = socket.next() => match frame {
                    Some(Ok(Frame::Text(text))) => self.take(&text),
                    Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                    Some(Ok(Frame::Close(_))) | None => return "the browser closed the connection".into(),
                    Some(Ok(_)) => self.malformed = self.malformed.saturating_add(1),
                    Some(Err(error)) => return error.to_string(),
                },
                call = self.outgoing.recv() => match call {
                    Some(Outgoing::Call(call)) => self.send(call),
                    Some(Outgoing::Close) | None => return "the connection was closed".into(),
                },
                Ok(place) = frames.reserve(), if !self.unsent.is_empty() => {
                    if let Some(frame) = self.unsent.pop_front() {
                        place.send(frame);
                    }
                },
            }
            // One message that is no DevTools message says nothing about the socket; many do.
            if Guard::PeerBound.holds() && self.malformed > MAX_MALFORMED {
                let many = self.malformed;
                return format!("it sent {many} messages that are no DevTools messages");
            }
        }
    }

    fn take(&mut self, text: &str) {
        match serde_json::from_str::<Message<Event>>(text) {
            Ok(Message::Response(response)) => self.answer(response),
            Ok(Message::Event(event)) => self.tell(&event),
            Err(_) => self.malformed = self.malformed.saturating_add(1),
        }
    }

    fn send(&mut self, call: Call) {
        let id = CallId::new(self.next);
        self.next = self.next.wrapping_add(1);
        let message = MethodCall {
            id,
            method: Cow::Borrowed(call.method),
            session_id: call.session,
            params: call.params,
        };
        let Ok(message) = serde_json::to_string(&message) else {
            return;
        };
        self.unsent.push_back(Frame::text(message));
        if matches!(call.waits, Waits::Nobody) {
            return;
        }
        if self.pending.len() >= SWEEP {
            let left = |waits: &Waits| matches!(waits, Waits::Caller(reply) if reply.is_closed());
            self.pending.retain(|_, waits| !left(waits));
        }
        self.pending.insert(id, call.waits);
    }

    fn answer(&mut self, response: Response) {
        let reply = match self.pending.remove(&response.id) {
            Some(Waits::Caller(reply)) => reply,
            Some(Waits::Commands(then)) => {
                then.into_iter()
                    .for_each(|command| self.send(command.into()));
                return;
            }
            Some(Waits::Nobody) | None => return,
        };
        let result = match response.error {
            Some(error) => Err(CallError::Refused(error.message)),
            None => Ok(response.result.unwrap_or_default()),
        };
        // The caller may have given up.
        let _ = reply.send(result);
    }

    fn tell(&mut self, event: &Event) {
        let text = |pointer: &str| event.params.pointer(pointer).and_then(Value::as_str);
        let attached = event.session.is_none() && event.method == "Target.attachedToTarget";
        // Browser-wide events tell of a context's windows, of a session's end and of downloads; whose
        // they are is the one to know.
        let id = match (&event.session, attached) {
            (Some(session), _) => Some(session.as_str()),
            (None, true) => text("/targetInfo/browserContextId"),
            (None, false) => text("/sessionId").or_else(|| text("/guid")),
        };
        let listener = id.and_then(|id| lock(&self.listeners).get(id).cloned());
        let commands = match listener {
            Some(listener) => listener.on_event(&event.method, &event.params),
            None if attached && text("/targetInfo/type") == Some("page") => {
                text("/sessionId").map(stranger).unwrap_or_default()
            }
            None => Vec::new(),
        };
        for command in commands {
            self.send(command.into());
        }
    }
}

/// A window of somebody else's context is let go. Told to run, it runs for all who hold it: one
/// browser is for one of us.
fn stranger(session: &str) -> Vec<Command> {
    let params = json!({ "sessionId": session });
    vec![
        Command::to(session, "Runtime.runIfWaitingForDebugger", json!({})),
        Command::browser("Target.detachFromTarget", params),
    ]
}
