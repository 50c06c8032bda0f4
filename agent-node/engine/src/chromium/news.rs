//! What happened beside a page, until somebody asks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_proto::guard::Guard;
use tokio::sync::watch;

use crate::page::Notice;

/// Notices kept until somebody asks; later ones are dropped.
const KEPT: usize = 200;
/// Most dialogs of a page; one more and it is stuck.
const DIALOGS: u32 = 50;

/// See the module.
#[derive(Debug)]
pub(super) struct News {
    notices: Mutex<VecDeque<Notice>>,
    dialogs: AtomicU32,
    /// Why the page does nothing any more.
    stuck: watch::Sender<Option<String>>,
}

impl Default for News {
    fn default() -> Self {
        Self {
            notices: Mutex::default(),
            dialogs: AtomicU32::new(0),
            stuck: watch::Sender::new(None),
        }
    }
}

impl News {
    /// Keeps a notice.
    pub(super) fn tell(&self, notice: Notice) {
        let mut notices = self.notices();
        if notices.len() < KEPT {
            notices.push_back(notice);
        }
    }

    /// What is new since the last call.
    pub(super) fn take(&self) -> Vec<Notice> {
        self.notices().drain(..).collect()
    }

    /// Counts a dialog; whether it is to be answered. One that is not holds its page for ever.
    pub(super) fn dialog(&self) -> bool {
        let before = self.dialogs.fetch_add(1, Ordering::Relaxed);
        if before < DIALOGS || !Guard::DialogBound.holds() {
            return true;
        }
        let why = format!("it opened more than {DIALOGS} dialogs");
        if self.stuck.send_replace(Some(why.clone())).is_none() {
            self.tell(Notice::Denied {
                guard: Guard::DialogBound,
                what: format!("the page, for {why}"),
            });
        }
        false
    }

    /// Ends when the page is stuck; says why.
    pub(super) async fn stuck(&self) -> String {
        let mut stuck = self.stuck.subscribe();
        let why = stuck.wait_for(Option::is_some).await;
        let why = why.expect("the other end lives as long as this");
        why.clone().unwrap_or_default()
    }

    /// Why the page is stuck, if it is.
    pub(super) fn stuck_by(&self) -> Option<String> {
        self.stuck.borrow().clone()
    }

    fn notices(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
