//! Our end of the supervisor: starts children, registers them, reaps the ones that were dropped.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::supervise::READY;
use super::{Child, ChildError, CommandLine, CommandSpec, Pipe, TempFolder};

/// How long the supervisor's process may take to say that it is ready, and to leave.
const DEADLINE: Duration = Duration::from_secs(10);

/// Starts child processes that can't outlive us. Clones are the same supervisor.
///
/// [`Supervisor::close`] ends what is left and waits for it. Dropping the last clone ends the
/// same, without waiting.
#[derive(Clone, Debug)]
pub struct Supervisor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The pipe whose end ends everything; none = closed. Writes are short and never wait.
    pipe: Mutex<Option<File>>,
    process: tokio::sync::Mutex<tokio::process::Child>,
    reaper: TaskTracker,
    runtime: tokio::runtime::Handle,
}

impl Supervisor {
    /// Starts the supervisor's process; `command` must end up in [`super::supervise`].
    ///
    /// # Errors
    /// If it can't be started or is not ready within 10 s.
    pub async fn start(command: &CommandLine) -> Result<Self, ChildError> {
        let program = command.program.display().to_string();
        let not_ready = |reason: String| ChildError::SupervisorNotReady {
            program: program.clone(),
            reason,
        };
        let mut process = raw(command)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| ChildError::Spawn {
                program: program.clone(),
                source,
            })?;
        let stdin = process.stdin.take().expect("stdin was asked for");
        let stdout = process.stdout.take().expect("stdout was asked for");

        let mut lines = BufReader::new(stdout).lines();
        match timeout(DEADLINE, lines.next_line()).await {
            Ok(Ok(Some(line))) if line == READY => {}
            Ok(Ok(Some(line))) => return Err(not_ready(format!("it said {line:?}"))),
            Ok(Ok(None)) => return Err(not_ready("it ended at once".to_owned())),
            Ok(Err(error)) => return Err(not_ready(error.to_string())),
            Err(_) => {
                return Err(not_ready(format!(
                    "it was silent for {} s",
                    DEADLINE.as_secs()
                )));
            }
        }
        let pipe = stdin
            .into_owned_fd()
            .map_err(|error| not_ready(error.to_string()))?;
        Ok(Self {
            inner: Arc::new(Inner {
                pipe: Mutex::new(Some(File::from(pipe))),
                process: tokio::sync::Mutex::new(process),
                reaper: TaskTracker::new(),
                runtime: tokio::runtime::Handle::current(),
            }),
        })
    }

    /// Starts a child as the leader of a new process group and registers that group.
    ///
    /// # Errors
    /// If the program can't be started, or the supervisor is gone; then no child is left.
    pub fn spawn(&self, spec: &CommandSpec) -> Result<Child, ChildError> {
        let mut command = raw(&spec.command);
        command
            .process_group(0)
            .envs(&spec.env)
            .stdin(stdio(spec.stdin))
            .stdout(stdio(spec.stdout))
            .stderr(stdio(spec.stderr));
        if let Some(cwd) = &spec.cwd {
            command.current_dir(cwd);
        }
        let process = command.spawn().map_err(|source| ChildError::Spawn {
            program: spec.command.program.display().to_string(),
            source,
        })?;
        // Registered before anything is said to it. Dropping the child on an error kills it.
        let child = Child::new(process, self.clone());
        self.tell(&format!("+{}", child.id()))
            .map_err(ChildError::SupervisorGone)?;
        Ok(child)
    }

    /// A new empty folder that goes away with its handle, or with us.
    ///
    /// # Errors
    /// If it can't be made, or the supervisor is gone.
    pub fn temp_folder(&self, prefix: &str) -> Result<TempFolder, ChildError> {
        TempFolder::new(prefix, self.clone())
    }

    /// Waits for dropped children to be reaped, then ends the supervisor, which ends whatever is
    /// still registered. Nothing can be started afterwards.
    pub async fn close(&self) {
        self.inner.reaper.close();
        if timeout(DEADLINE, self.inner.reaper.wait()).await.is_err() {
            tracing::warn!(
                "dropped children are still being reaped after {} s",
                DEADLINE.as_secs()
            );
        }
        drop(self.pipe().take());
        let mut process = self.inner.process.lock().await;
        match timeout(DEADLINE, process.wait()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the supervisor could not be waited for"),
            Err(_) => tracing::warn!(
                "the supervisor is still at work after {} s",
                DEADLINE.as_secs()
            ),
        }
    }

    /// One command to the supervisor's process.
    pub(super) fn tell(&self, line: &str) -> std::io::Result<()> {
        match self.pipe().as_mut() {
            // One write of less than PIPE_BUF bytes: lines of several threads never mix.
            Some(pipe) => pipe.write_all(format!("{line}\n").as_bytes()),
            None => Err(std::io::Error::new(
                std::io::ErrorKind::NotConnected,
                "it was closed",
            )),
        }
    }

    /// Runs a clean-up that [`Supervisor::close`] waits for. May be called from `Drop`.
    pub(super) fn reap(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.reaper.spawn_on(work, &self.inner.runtime);
    }

    fn pipe(&self) -> std::sync::MutexGuard<'_, Option<File>> {
        self.inner
            .pipe
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command with an empty environment. A dropped child is not killed by tokio: groups are.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the one place that the ban points to"
)]
fn raw(command: &CommandLine) -> tokio::process::Command {
    let mut raw = tokio::process::Command::new(&command.program);
    raw.args(&command.args).env_clear();
    raw
}

fn stdio(pipe: Pipe) -> Stdio {
    match pipe {
        Pipe::Null => Stdio::null(),
        Pipe::Piped => Stdio::piped(),
        Pipe::Inherited => Stdio::inherit(),
    }
}
