//! The downloads of a context: counted, bounded, told.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use muster_proto::guard::Guard;
use serde_json::{Value, json};

use super::news::News;
use super::wire::{Command, Listener, Wire};
use crate::page::Notice;

/// Where downloads go, and how much of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downloads {
    /// An existing folder on the browser's machine; files in it have names of the browser's making.
    pub folder: PathBuf,
    /// Most files.
    pub files: u32,
    /// Most bytes of all together; the browser tells about twice a second how much has come.
    pub bytes: u64,
}

/// A context's downloads. The browser tells of the progress of all of them, whosever they are, so
/// each is listened to by its name once a window of the context has begun it.
pub(super) struct Loads {
    itself: Weak<Self>,
    wire: Weak<Wire>,
    /// The context.
    context: String,
    /// None = none are taken.
    bounds: Option<Downloads>,
    news: Arc<News>,
    /// Those under way, and the ended with their size, by the browser's name for them.
    known: Mutex<HashMap<String, Load>>,
}

#[derive(Default)]
struct Load {
    name: String,
    bytes: u64,
    ended: bool,
    /// It was stopped, and what had come is not kept.
    stopped: bool,
}

impl Loads {
    pub(super) fn new(
        wire: &Arc<Wire>,
        context: &str,
        bounds: Option<Downloads>,
        news: Arc<News>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            itself: Weak::clone(itself),
            wire: Arc::downgrade(wire),
            context: context.into(),
            bounds,
            news,
            known: Mutex::default(),
        })
    }

    /// Listens to none of them any more.
    pub(super) fn forget(&self) {
        let Some(wire) = self.wire.upgrade() else {
            return;
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys().for_each(|id| wire.unlisten(id));
    }

    /// What the browser is told of them.
    pub(super) fn behavior(&self) -> Value {
        let mut behavior =
            json!({ "behavior": "deny", "browserContextId": self.context, "eventsEnabled": true });
        if let Some(bounds) = &self.bounds {
            behavior["behavior"] = json!("allowAndName");
            behavior["downloadPath"] = json!(bounds.folder);
        }
        behavior
    }

    /// A download begins; the answer ends it.
    pub(super) fn begins(&self, id: &str, name: &str) -> Option<Command> {
        let Some(bounds) = &self.bounds else {
            self.news.tell(Notice::download(name, None));
            return None;
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let most = usize::try_from(bounds.files).unwrap_or(usize::MAX);
        let bytes: u64 = known.values().map(|load| load.bytes).sum();
        let many = known.values().filter(|load| !load.stopped).count();
        let over = match (many >= most, bytes >= bounds.bytes) {
            (true, _) => Some(format!("{} files", bounds.files)),
            (false, true) => Some(format!("{} bytes", bounds.bytes)),
            (false, false) => None,
        };
        if let Some(over) = over.filter(|_| Guard::DownloadBound.holds()) {
            // Told and listened to up to a number: a page without end must not fill this either.
            if known.len() >= most.saturating_mul(2) {
                return Some(self.cancel(id));
            }
            self.listen(id);
            let stopped = Load {
                stopped: true,
                ..Load::default()
            };
            known.insert(id.to_owned(), stopped);
            return Some(self.stop(id, name, &over));
        }
        self.listen(id);
        let name = name.to_owned();
        known.insert(
            id.to_owned(),
            Load {
                name,
                ..Load::default()
            },
        );
        None
    }

    fn goes_on(&self, id: &str, received: u64, state: &str) -> Option<Command> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let bounds = self.bounds.as_ref()?;
        let load = known.get_mut(id).filter(|load| !load.ended)?;
        if load.stopped {
            // A small one may have been quicker than its end.
            if state == "completed" {
                load.ended = true;
                std::fs::remove_file(bounds.folder.join(id)).ok();
            }
            return None;
        }
        load.bytes = load.bytes.max(received);
        let name = load.name.clone();
        match state {
            "completed" => {
                load.ended = true;
                self.news.tell(Notice::download(&name, Some(received)));
            }
            "canceled" => {
                load.ended = true;
                self.news.tell(Notice::download(&name, None));
            }
            _ => {
                let all: u64 = known.values().map(|load| load.bytes).sum();
                if all > bounds.bytes && Guard::DownloadBound.holds() {
                    if let Some(load) = known.get_mut(id) {
                        load.stopped = true;
                    }
                    return Some(self.stop(id, &name, &format!("{} bytes", bounds.bytes)));
                }
            }
        }
        None
    }

    fn stop(&self, id: &str, name: &str, over: &str) -> Command {
        let name: String = name.chars().take(100).collect();
        self.news.tell(Notice::Denied {
            guard: Guard::DownloadBound,
            what: format!("the download {name:?}: an attempt takes {over}"),
        });
        self.cancel(id)
    }

    fn listen(&self, id: &str) {
        if let (Some(wire), Some(itself)) = (self.wire.upgrade(), self.itself.upgrade()) {
            wire.listen(id, itself);
        }
    }

    fn cancel(&self, id: &str) -> Command {
        let params = json!({ "guid": id, "browserContextId": self.context });
        Command::browser("Browser.cancelDownload", params)
    }
}

impl Listener for Loads {
    fn on_event(&self, method: &str, params: &Value) -> Vec<Command> {
        let text = |field: &str| {
            let text = params.get(field).and_then(Value::as_str);
            text.unwrap_or_default()
        };
        if method != "Browser.downloadProgress" {
            return Vec::new();
        }
        let received = params.get("receivedBytes").and_then(Value::as_f64);
        // Whole numbers, as JavaScript writes them.
        let received = received.unwrap_or_default().max(0.0) as u64;
        let next = self.goes_on(text("guid"), received, text("state"));
        next.into_iter().collect()
    }
}
