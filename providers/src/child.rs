//! Child processes: each leads a group of its own, and a supervisor kills the groups when we die.
//!
//! [`Supervisor`] starts them and is the only way to; [`Child`] is one of them; [`supervise`] is
//! the supervisor's own `main`, a small process that holds nothing but a list of groups and
//! folders. When its input closes, for whatever reason and `kill -9` among them, it ends the
//! groups and removes the folders, so that nothing outlives us.
//!
//! What is absent: an inherited environment (a child gets exactly what [`CommandSpec::env`] says)
//! and a shell.

mod folder;
mod process;
mod supervise;
mod supervisor;
mod tail;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

pub use folder::TempFolder;
pub use process::Child;
pub use supervise::supervise;
pub use supervisor::Supervisor;
pub use tail::Tail;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Path of the program, or a name to look up in our own `PATH`.
    pub program: PathBuf,
    /// Its arguments, the program's name excluded.
    pub args: Vec<OsString>,
}

/// How to start a child.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// What to start.
    pub command: CommandLine,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory; none = ours.
    pub cwd: Option<PathBuf>,
    /// Its standard input.
    pub stdin: Pipe,
    /// Its standard output.
    pub stdout: Pipe,
    /// Its standard error.
    pub stderr: Pipe,
}

impl CommandSpec {
    /// With an empty environment, our working directory and no streams.
    pub fn new(command: CommandLine) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            cwd: None,
            stdin: Pipe::Null,
            stdout: Pipe::Null,
            stderr: Pipe::Null,
        }
    }
}

/// Where a standard stream leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Nowhere.
    Null,
    /// To us: see [`Child::take_stdin`] and its like.
    Piped,
    /// To the same place as ours.
    Inherited,
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The operating system refused.
    #[error("{program} did not start: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// Not found, not executable, too many processes, …
        source: std::io::Error,
    },
    /// The supervisor's process never said that it is ready.
    #[error("the supervisor ({program}) did not become ready: {reason}")]
    SupervisorNotReady {
        /// Its program.
        program: String,
        /// What it did instead.
        reason: String,
    },
    /// The supervisor is gone, so that a child would not be reaped if we died.
    #[error(
        "the supervisor is gone ({0}): no process can be started safely any more; restart this node"
    )]
    SupervisorGone(std::io::Error),
    /// A temporary folder could not be made.
    #[error("no temporary folder can be made: {0}; set TMPDIR to a writable folder")]
    Folder(std::io::Error),
}
