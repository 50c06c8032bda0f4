//! The providers against real processes and a real browser.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod browser_conformance;
mod browser_local;
mod child;

use std::path::PathBuf;
use std::time::Duration;

use muster_providers::child::{CommandLine, Supervisor};

/// The longest that anything here may take.
const DEADLINE: Duration = Duration::from_secs(30);

fn fixture(role: &str) -> CommandLine {
    CommandLine {
        program: PathBuf::from(env!("CARGO_BIN_EXE_muster-child-fixture")),
        args: vec![role.into()],
    }
}

async fn supervisor() -> Supervisor {
    Supervisor::start(&fixture("supervisor")).await.unwrap()
}

/// Waits until `fact` holds; only for what nothing announces, such as a folder's end.
async fn eventually(what: &str, fact: impl Fn() -> bool) {
    let held = async {
        while !fact() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(
        tokio::time::timeout(DEADLINE, held).await.is_ok(),
        "not within {DEADLINE:?}: {what}"
    );
}

/// The command lines of running processes that hold `text`.
fn processes_with(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let lines = entries
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok());
    lines
        .map(|line| line.replace('\0', " "))
        .filter(|line| line.contains(text))
        .collect()
}
