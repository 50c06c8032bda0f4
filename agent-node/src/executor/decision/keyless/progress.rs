//! How far a goal has come: kept in the request's memory, so that deciding stays a function of it.

use serde::{Deserialize, Serialize};

/// The state between two turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Index of the clause at hand.
    pub(super) clause: usize,
    /// The clause is read as a list; index of the object at hand.
    pub(super) part: Option<usize>,
    /// What was done for the clause (or its part) at hand.
    pub(super) here: Here,
    /// The action that was asked for last and not yet judged.
    pub(super) pending: Option<Pending>,
    /// Actions that had an effect.
    pub(super) effects: u32,
    /// Dialogs that were open before the last action.
    pub(super) dialogs: Vec<u64>,
    /// Dialogs that an action of this goal opened.
    pub(super) opened: Vec<u64>,
}

/// What was done for one clause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Here {
    /// Parts that are done, by key.
    pub(super) done: Vec<String>,
    /// Ways that were taken to reach the clause's target, by key.
    pub(super) detours: Vec<String>,
    /// Elements that were tried without effect.
    pub(super) tried: Vec<u64>,
}

impl Here {
    /// Whether a part is done.
    pub(super) fn is_done(&self, key: &str) -> bool {
        self.done.iter().any(|done| done == key)
    }

    /// Whether nothing was done for the clause.
    pub(super) fn untouched(&self) -> bool {
        self == &Self::default()
    }
}

/// An action that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    /// The part of the clause that it does.
    pub(super) key: String,
    /// The element.
    pub(super) target: Option<u64>,
    /// The screen has to change for it to count.
    pub(super) needs_change: bool,
    /// The clause is consumed by it.
    pub(super) finishes: bool,
    /// It leads to the clause's target rather than doing it.
    pub(super) detour: bool,
}
