//! How watchers learn that a run moved: facts by number (they read them from the store, so none is
//! lost however slow they are), progress by a bounded, lossy channel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_proto::id::RunId;
use muster_proto::v1;
use tokio::sync::{broadcast, watch};

/// Progress that a slow watcher may be behind before it loses some.
const PROGRESS: usize = 256;

/// A run that is going on here.
struct Feed {
    head: watch::Sender<u64>,
    progress: broadcast::Sender<v1::Progress>,
}

/// A watcher's ends of a feed.
pub(crate) struct Seat {
    /// Number of the last durable fact; closed when the run is over.
    pub(crate) head: watch::Receiver<u64>,
    /// What attempts are doing.
    pub(crate) progress: broadcast::Receiver<v1::Progress>,
}

/// The feeds of all runs that are going on.
#[derive(Clone, Default)]
pub(crate) struct Feeds {
    feeds: Arc<Mutex<HashMap<RunId, Feed>>>,
}

impl Feeds {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, run: &RunId, head: u64) {
        let feed = Feed {
            head: watch::Sender::new(head),
            progress: broadcast::Sender::new(PROGRESS),
        };
        self.lock().insert(run.clone(), feed);
    }

    /// Number of a run's last durable fact.
    pub(crate) fn head(&self, run: &RunId) -> u64 {
        self.lock().get(run).map_or(0, |feed| *feed.head.borrow())
    }

    pub(crate) fn advance(&self, run: &RunId, head: u64) {
        if let Some(feed) = self.lock().get(run) {
            feed.head.send_replace(head);
        }
    }

    pub(crate) fn progress(&self, run: &RunId, progress: v1::Progress) {
        if let Some(feed) = self.lock().get(run) {
            // Nobody watching is fine.
            feed.progress.send(progress).unwrap_or_default();
        }
    }

    pub(crate) fn close(&self, run: &RunId) {
        self.lock().remove(run);
    }

    /// Ends every watch: nothing moves any more.
    pub(crate) fn close_all(&self) {
        self.lock().clear();
    }

    /// `None` for a run that is not going on here.
    pub(crate) fn watch(&self, run: &RunId) -> Option<Seat> {
        let feeds = self.lock();
        let feed = feeds.get(run)?;
        Some(Seat {
            head: feed.head.subscribe(),
            progress: feed.progress.subscribe(),
        })
    }
}
