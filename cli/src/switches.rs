//! Lifts the guard that `MUSTER_LIFT` names. Only in builds that show what a guard is good for.

use muster_proto::guard::{Guard, switches};

use crate::env::Env;

/// The guard stays lifted for as long as this is kept.
pub(crate) fn lifted(env: &Env) -> Option<switches::Lifted> {
    let name = env.vars.get("MUSTER_LIFT")?;
    let mut guards = Guard::ALL.iter().copied();
    let guard = guards.find(|guard| guard.as_str() == name)?;
    eprintln!("muster: the guard {guard} is lifted");
    Some(switches::lift(guard))
}
