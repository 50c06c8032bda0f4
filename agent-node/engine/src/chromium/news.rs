//! What happened beside a page, until somebody asks.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::page::Notice;

/// Notices kept until somebody asks; later ones are dropped.
const KEPT: usize = 200;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct News {
    notices: Mutex<VecDeque<Notice>>,
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

    fn notices(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
