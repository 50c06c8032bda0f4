//! What is left of a run that ends before its time: nothing.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Process, Project, alive, descendants};

/// Longest wait for something that other processes do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run in the middle of its work, with a temporary folder of its own.
struct Run {
    process: Child,
    said: BufReader<ChildStderr>,
    /// What ran below it when it was signalled.
    family: Vec<Process>,
    temp: tempfile::TempDir,
    _project: Project,
}

impl Run {
    /// Starts the shop's suite and waits for its first result.
    fn begun() -> Self {
        let project = Project::shop(&[]);
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut command = project.command(&["run", "--nodes", "2", "--slots", "1"]);
        command
            .env("TMPDIR", temp.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = command.spawn().expect("muster starts");
        let mut said = BufReader::new(process.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("passed") {
            line.clear();
            assert!(
                said.read_line(&mut line).expect("readable") > 0,
                "the run ended before its first result"
            );
        }
        assert!(
            !entries(temp.path()).is_empty(),
            "its state is in a temporary folder"
        );
        let family = descendants(process.id());
        assert!(
            family.len() >= 3,
            "it has a supervisor, browsers and workers: {family:#?}"
        );
        Self {
            process,
            said,
            family,
            temp,
            _project: project,
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).expect("it lives");
    }

    /// Its exit code; none = a signal ended it.
    fn code(&mut self) -> Option<i32> {
        std::io::copy(&mut self.said, &mut std::io::sink()).expect("readable");
        self.process.wait().expect("it was ours").code()
    }

    /// Waits until no process and no file of the run is left.
    #[track_caller]
    fn leaves_nothing(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (left, files) = (alive(&self.family), entries(self.temp.path()));
            if left.is_empty() && files.is_empty() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "left behind: {left:#?} {files:#?}"
            );
            std::thread::yield_now();
        }
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("readable");
    entries
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn a_killed_run_leaves_no_folder_socket_or_process() {
    let mut run = Run::begun();
    run.signal(Signal::SIGKILL);
    assert_eq!(run.code(), None);
    run.leaves_nothing();
}

#[test]
fn an_interrupted_run_ends_in_order_with_130() {
    let mut run = Run::begun();
    run.signal(Signal::SIGINT);
    assert_eq!(run.code(), Some(130));
    run.leaves_nothing();
}

#[test]
fn a_second_signal_leaves_at_once_and_still_leaves_nothing() {
    let mut run = Run::begun();
    run.signal(Signal::SIGTERM);
    run.signal(Signal::SIGINT);
    assert_eq!(run.code(), Some(130));
    run.leaves_nothing();
}

#[test]
fn a_signal_while_the_app_starts_ends_at_once_with_130() {
    let project = Project::new(
        "[project]\nid = \"slow\"\n[targets.web.app]\nurl = \"http://127.0.0.1:0\"\n\
         [targets.web.app.command]\nprogram = \"sleep\"\nargs = [\"600\"]\n",
    );
    project.file(
        "tests/a.e2e.ts",
        "import { test } from 'muster';\ntest('a', async () => {});\n",
    );
    let mut process = project
        .command(&["run"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("muster starts");
    let mut said = BufReader::new(process.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("starting the app") {
        line.clear();
        assert!(
            said.read_line(&mut line).expect("readable") > 0,
            "it ended before it started the app"
        );
    }
    let family = descendants(process.id());
    kill(Pid::from_raw(process.id() as i32), Signal::SIGINT).expect("it lives");
    assert_eq!(process.wait().expect("it was ours").code(), Some(130));
    assert_eq!(alive(&family), []);
}
