//! What the events of one window told.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::news::News;
use super::windows::Windows;
use super::wire::{Command, Listener};
use crate::page::Notice;

/// Loader ids kept: a load that waits may be overtaken by this many redirections of the page's own.
const LOADERS: usize = 16;

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

/// Why a window can't be used any more though its browser lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    Closed,
    Crashed,
}

impl std::fmt::Display for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Gone::Closed => "the page was closed",
            Gone::Crashed => "the page crashed",
        })
    }
}

/// The listener of a window's session.
pub(super) struct Watcher {
    target: String,
    session: String,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) gone: watch::Sender<Option<Gone>>,
    windows: Weak<Windows>,
    pub(super) news: Arc<News>,
}

impl Watcher {
    /// Of a window that has yet to load its first document.
    pub(super) fn new(
        target: &str,
        session: &str,
        windows: Weak<Windows>,
        news: Arc<News>,
    ) -> Self {
        let progress = Progress {
            loading: true,
            ..Progress::default()
        };
        Self {
            target: target.into(),
            session: session.into(),
            progress: watch::Sender::new(progress),
            gone: watch::Sender::new(None),
            windows,
            news,
        }
    }
}

impl Listener for Watcher {
    fn on_event(&self, method: &str, params: &Value) -> Vec<Command> {
        let text = |pointer: &str| {
            params
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let is_main = |frame: &str| frame == self.target;
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
            "Page.loadEventFired" => self.progress.send_modify(|progress| {
                progress.loaded = true;
                // A window without an address of its own ends with no other event.
                progress.loading &= progress.commits > 0;
            }),
            "Page.frameStoppedLoading" if is_main(text("/frameId")) => {
                self.progress.send_modify(|progress| {
                    progress.loaded = true;
                    progress.loading = false;
                });
            }
            "Inspector.targetCrashed" => drop(self.gone.send_replace(Some(Gone::Crashed))),
            "Inspector.detached" | "Target.detachedFromTarget" => {
                // Who finds it gone must find its successor, too.
                if let Some(windows) = self.windows.upgrade() {
                    windows.closed(&self.target);
                }
                self.gone.send_if_modified(|gone| {
                    let first = gone.is_none();
                    gone.get_or_insert(Gone::Closed);
                    first
                });
            }
            "Page.downloadWillBegin" => {
                if let Some(windows) = self.windows.upgrade() {
                    return windows.download(&self.target, params);
                }
            }
            "Page.javascriptDialogOpening" => {
                if !self.news.dialog() {
                    return Vec::new();
                }
                let kind = text("/type");
                if kind != "beforeunload" {
                    self.news.tell(Notice::dialog(kind, text("/message")));
                }
                let accept = matches!(kind, "alert" | "beforeunload");
                let answer = json!({ "accept": accept });
                return vec![Command::to(
                    &self.session,
                    "Page.handleJavaScriptDialog",
                    answer,
                )];
            }
            _ => {}
        }
        Vec::new()
    }
}
