//! A node against a scripted coordinator, real sockets, a real browser and real processes.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod cluster;
mod coordinator;
mod egress;
mod leases;
mod live;
mod runner;
mod shutdown;
mod stream;
mod vault;
mod windows;

use std::time::Duration;

/// The longest that anything here may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// What `future` gives, within [`DEADLINE`].
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(DEADLINE, future).await;
    done.unwrap_or_else(|_| panic!("not within {DEADLINE:?}: {what}"))
}
