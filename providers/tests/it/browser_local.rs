//! Local browsers leave nothing behind and tell why they don't start.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use muster_providers::browser::{BrowserProvider, LocalBrowsers, LocalSettings};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{DEADLINE, eventually, processes_with, supervisor};

pub(crate) fn settings(limit: u32) -> LocalSettings {
    LocalSettings {
        path: None,
        window: (800, 600),
        limit,
    }
}

/// The profile folder that a browser's process was started with.
fn profile(pid: u32) -> PathBuf {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    let flag = line
        .split('\0')
        .find_map(|arg| arg.strip_prefix("--user-data-dir="));
    PathBuf::from(flag.unwrap())
}

#[tokio::test]
async fn a_released_browser_leaves_no_process_and_no_folder() {
    let supervisor = supervisor().await;
    let browsers = LocalBrowsers::new(settings(1), supervisor.clone());
    let lease = browsers.acquire(DEADLINE).await.unwrap();
    let profile = profile(lease.pid.unwrap());
    assert!(profile.is_dir());
    assert!(!processes_with(profile.to_str().unwrap()).is_empty());

    browsers.release(&lease.id).await.unwrap();

    assert_eq!(
        processes_with(profile.to_str().unwrap()),
        Vec::<String>::new()
    );
    assert!(!profile.exists());
    supervisor.close().await;
}

#[tokio::test]
async fn a_dropped_provider_leaves_none_either() {
    let supervisor = supervisor().await;
    let browsers = LocalBrowsers::new(settings(1), supervisor.clone());
    let lease = browsers.acquire(DEADLINE).await.unwrap();
    let profile = profile(lease.pid.unwrap());
    drop(browsers);
    eventually("the folder is removed", || !profile.exists()).await;
    assert_eq!(
        processes_with(profile.to_str().unwrap()),
        Vec::<String>::new()
    );
    supervisor.close().await;
}

#[tokio::test]
async fn a_browser_that_died_is_known_to_be_dead_and_is_cleaned_up() {
    let supervisor = supervisor().await;
    let browsers = LocalBrowsers::new(settings(1), supervisor.clone());
    let lease = browsers.acquire(DEADLINE).await.unwrap();
    let profile = profile(lease.pid.unwrap());
    kill(
        Pid::from_raw(i32::try_from(lease.pid.unwrap()).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    eventually("its folder is removed", || !profile.exists()).await;
    assert!(!browsers.status(&lease.id).await.unwrap());
    assert_eq!(
        processes_with(profile.to_str().unwrap()),
        Vec::<String>::new()
    );
    browsers.release(&lease.id).await.unwrap();
    supervisor.close().await;
}

/// What `acquire` says of a browser that is a shell script.
async fn refusal(script: &str, deadline: Duration) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("browser");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let supervisor = supervisor().await;
    let browsers = LocalBrowsers::new(
        LocalSettings {
            path: Some(path.clone()),
            ..settings(1)
        },
        supervisor.clone(),
    );
    let error = browsers.acquire(deadline).await.unwrap_err().to_string();
    assert!(browsers.list().await.is_empty());
    supervisor.close().await;
    error.replace(path.to_str().unwrap(), "BROWSER")
}

#[tokio::test]
async fn a_browser_that_does_not_start_tells_why() {
    assert_eq!(
        refusal("echo 'libnss3.so: cannot open' >&2; exit 127", DEADLINE).await,
        "the browser BROWSER did not start: it ended at once (exit status: 127): libnss3.so: cannot open"
    );
    assert_eq!(
        refusal("exec sleep 1000", Duration::from_millis(50)).await,
        "the browser BROWSER did not start: it was not ready within 50 ms"
    );
}
