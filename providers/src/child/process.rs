//! One child process and the group that it leads.

use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep, timeout};

use super::{Supervisor, TempFolder};

/// How long killed processes may take to disappear before we stop looking.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// How often we look.
const LOOK: Duration = Duration::from_millis(2);

/// A child process, leader of its group. Dropping it kills the group and leaves the reaping to
/// the supervisor's tasks; [`Child::kill_group`] does it with a grace, and waits.
#[derive(Debug)]
pub struct Child {
    group: Pid,
    supervisor: Supervisor,
    /// None = the group is ended and reaped.
    process: Option<tokio::process::Child>,
    folders: Vec<TempFolder>,
}

impl Child {
    pub(super) fn new(process: tokio::process::Child, supervisor: Supervisor) -> Self {
        let id = process
            .id()
            .expect("a child that was never waited for has an id");
        let group = Pid::from_raw(i32::try_from(id).expect("process ids fit pid_t"));
        Self {
            group,
            supervisor,
            process: Some(process),
            folders: Vec::new(),
        }
    }

    /// Its process id, which is also its group's.
    pub fn id(&self) -> u32 {
        self.group.as_raw().unsigned_abs()
    }

    /// Takes charge of a folder that the group writes to: it is removed when the group is gone.
    pub fn adopt(&mut self, folder: TempFolder) {
        self.folders.push(folder);
    }

    /// Its standard input, once, if it was piped.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.process
            .as_mut()
            .and_then(|process| process.stdin.take())
    }

    /// Its standard output, once, if it was piped.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.process
            .as_mut()
            .and_then(|process| process.stdout.take())
    }

    /// Its standard error, once, if it was piped.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.process
            .as_mut()
            .and_then(|process| process.stderr.take())
    }

    /// Waits for the leader's end; the rest of its group may go on. May be dropped and called
    /// again.
    ///
    /// # Errors
    /// If the operating system can't tell.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.process
            .as_mut()
            .expect("only the end of a child takes its process")
            .wait()
            .await
    }

    /// Asks the group to end (SIGTERM), kills it after `grace` (0 = at once), and waits until it
    /// is gone. The leader's status; none = it could not be told. Takes 4 s longer than the grace
    /// at most: what the kernel holds on to is left to the supervisor's tasks, as by a drop.
    pub async fn kill_group(mut self, grace: Duration) -> Option<ExitStatus> {
        if !grace.is_zero() && killpg(self.group, Signal::SIGTERM).is_ok() {
            // Whether it ended or the grace did, the rest of the group is killed next.
            timeout(grace, self.wait()).await.ok();
        }
        killpg(self.group, Signal::SIGKILL).ok();
        let Ok(status) = timeout(GONE_WITHIN, self.wait()).await else {
            tracing::warn!(
                group = self.group.as_raw(),
                "a killed process is still there"
            );
            return None;
        };
        self.process = None;
        let folders = std::mem::take(&mut self.folders);
        gone(self.group, &self.supervisor, folders).await;
        status.ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let (group, supervisor) = (self.group, self.supervisor.clone());
            let folders = std::mem::take(&mut self.folders);
            killpg(group, Signal::SIGKILL).ok();
            self.supervisor.reap(async move {
                process.wait().await.ok();
                gone(group, &supervisor, folders).await;
            });
        }
    }
}

/// Waits until a killed group whose leader is reaped has no member, then removes its folders and
/// forgets it. A group that stays (processes stuck in the kernel) stays registered.
async fn gone(group: Pid, supervisor: &Supervisor, folders: Vec<TempFolder>) {
    let start = Instant::now();
    while killpg(group, Signal::SIGKILL) != Err(Errno::ESRCH) {
        // Orphans become ours where we are the init of a container; elsewhere there are none.
        let everyone = Pid::from_raw(-group.as_raw());
        while matches!(waitpid(everyone, Some(WaitPidFlag::WNOHANG)), Ok(status) if status != WaitStatus::StillAlive)
        {
        }
        if start.elapsed() > GONE_WITHIN {
            tracing::warn!(group = group.as_raw(), "killed processes are still there");
            return;
        }
        sleep(LOOK).await;
    }
    drop(folders);
    // A supervisor that is gone has nothing to forget.
    supervisor.tell(&format!("-{group}")).ok();
}
