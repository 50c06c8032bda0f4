//! What every request shares: the planted bugs, the visitors, the id numberer and the templates.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::civil::Date;
use uuid::Uuid;

use crate::bug::Bug;
use crate::order::{Numberer, Order};
use crate::pages::Pages;
use crate::session::{Session, Sessions};

/// A handle to the shop's state; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<State>);

#[derive(Debug)]
struct State {
    bugs: BTreeSet<Bug>,
    pages: Pages,
    past_orders: Vec<Order>,
    numberer: Mutex<Numberer>,
    sessions: Mutex<Sessions>,
}

impl Shared {
    pub(crate) fn new(bugs: BTreeSet<Bug>, seed: u64) -> Self {
        let mut numberer = Numberer::new(seed);
        Self(Arc::new(State {
            bugs,
            pages: Pages::new(),
            past_orders: numberer.past_orders(today()),
            numberer: Mutex::new(numberer),
            sessions: Mutex::default(),
        }))
    }

    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.0.bugs.contains(&bug)
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.0.pages
    }

    /// The demo account's orders from before this start, newest first.
    pub(crate) fn past_orders(&self) -> &[Order] {
        &self.0.past_orders
    }

    pub(crate) fn order_id(&self) -> String {
        self.0
            .numberer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .order_id()
    }

    /// Runs `with` on the visitor's session. Sessions are plain data, so one request's panic leaves
    /// nothing half done that matters to the next.
    pub(crate) fn visit<T>(&self, id: Uuid, with: impl FnOnce(&mut Session) -> T) -> T {
        let mut sessions = self
            .0
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        with(sessions.visit(id))
    }
}

/// Today in UTC.
pub(crate) fn today() -> Date {
    jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
}
