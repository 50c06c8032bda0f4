//! What a case is, and how it is run.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_proto::guard::{Guard, switches};

use crate::world::World;

/// Longest a case may take, once.
const LONGEST: Duration = Duration::from_secs(60);

/// One attack.
pub(crate) struct Case {
    /// As the corpus numbers it, e.g. `A19`.
    pub(crate) id: &'static str,
    /// What is tried.
    pub(crate) what: &'static str,
    /// What stops it.
    pub(crate) guard: Guard,
    /// Tries it.
    pub(crate) attack: Attack,
}

/// Tries an attack once, on a page of its own.
pub(crate) type Attack = for<'w> fn(&'w World) -> BoxFuture<'w, Outcome>;

/// What became of an attack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was stopped.
    Held,
    /// It succeeded; says how that is seen.
    Fell(String),
}

impl Outcome {
    /// Held where `held` is true, and otherwise fell in these words.
    pub(crate) fn of(held: bool, fell: impl Into<String>) -> Self {
        match held {
            true => Outcome::Held,
            false => Outcome::Fell(fell.into()),
        }
    }
}

/// What was seen of a case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Held,
    Fell(String),
    /// It could not be tried.
    Broken(String),
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Held => f.write_str("held"),
            Seen::Fell(how) => write!(f, "fell: {how}"),
            Seen::Broken(why) => write!(f, "could not be tried: {why}"),
        }
    }
}

/// Runs a case with every guard in force, then with its own one lifted. Cases run one at a time: a
/// guard is lifted in the whole process.
pub(crate) async fn run(case: &Case, world: &World) -> (Seen, Seen) {
    let guarded = once(case, world).await;
    let _lifted = switches::lift(case.guard);
    (guarded, once(case, world).await)
}

async fn once(case: &Case, world: &World) -> Seen {
    let attack = AssertUnwindSafe((case.attack)(world)).catch_unwind();
    match tokio::time::timeout(LONGEST, attack).await {
        Err(_) => Seen::Broken(format!("it took longer than {} s", LONGEST.as_secs())),
        Ok(Err(panic)) => Seen::Broken(words(panic.as_ref())),
        Ok(Ok(Outcome::Held)) => Seen::Held,
        Ok(Ok(Outcome::Fell(how))) => Seen::Fell(how),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
