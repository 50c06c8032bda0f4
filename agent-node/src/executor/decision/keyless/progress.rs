//! How far a goal has come: kept in the request's memory, so that deciding stays a function of it.

use serde::{Deserialize, Serialize};

/// The state between two turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Index of the clause at hand.
    pub clause: usize,
    /// The clause is read as a list; index of the object at hand.
    pub part: Option<usize>,
    /// What was done for the clause (or its part) at hand.
    pub here: Here,
    /// The action that was asked for last and not yet judged.
    pub pending: Option<Pending>,
    /// Actions that had an effect.
    pub effects: u32,
    /// Dialogs that were open before the last action.
    pub dialogs: Vec<u64>,
    /// Dialogs that an action of this goal opened.
    pub opened: Vec<u64>,
}

/// What was done for one clause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Here {
    /// Parts that are done, by key.
    pub done: Vec<String>,
    /// Ways that were taken to reach the clause's target, by key.
    pub detours: Vec<String>,
    /// Elements that were tried without effect.
    pub tried: Vec<u64>,
}

impl Here {
    /// Whether a part is done.
    pub fn is_done(&self, key: &str) -> bool {
        self.done.iter().any(|done| done == key)
    }

    /// Whether nothing was done for the clause.
    pub fn untouched(&self) -> bool {
        self == &Self::default()
    }
}

/// An action that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The part of the clause that it does.
    pub key: String,
    /// The element.
    pub target: Option<u64>,
    /// The screen has to change for it to count.
    pub needs_change: bool,
    /// The clause is consumed by it.
    pub finishes: bool,
    /// It leads to the clause's target rather than doing it.
    pub detour: bool,
}
