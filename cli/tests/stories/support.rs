//! A project on disk, the `muster` binary, and what it printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The demo customer's password, as the shop's suite names it.
const SHOP_PASSWORD: (&str, &str) = ("SHOP_PASSWORD", muster_shop::DEMO_PASSWORD);

/// A project in a folder of its own.
pub(crate) struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    /// An empty project with this `muster.toml`.
    pub(crate) fn new(config: &str) -> Self {
        let project = Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
        };
        project.file("muster.toml", config);
        project
    }

    /// The shop's suite against a shop with these faults.
    pub(crate) fn shop(bugs: &[&str]) -> Self {
        let project = Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
        };
        copy(
            &root().join("examples/shop/tests"),
            &project.path().join("tests"),
        );
        project.replant(bugs);
        project
    }

    /// The same project against a shop with other faults: the app has changed.
    pub(crate) fn replant(&self, bugs: &[&str]) {
        let config = std::fs::read_to_string(root().join("examples/shop/muster.toml"))
            .expect("the shop's configuration");
        let args: String = bugs
            .iter()
            .map(|bug| format!(", \"--bug\", \"{bug}\""))
            .collect();
        let planted = config.replace(
            "\"127.0.0.1:{port}\"]",
            &format!("\"127.0.0.1:{{port}}\"{args}]"),
        );
        assert!(
            bugs.is_empty() || planted != config,
            "the shop's configuration has its args where they are planted"
        );
        self.file("muster.toml", &planted);
    }

    /// Writes a file.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("inside the project")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A command here, with nothing of the build machine's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = muster(args);
        command.current_dir(self.path());
        command
    }

    /// Runs it to its end.
    pub(crate) fn muster(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).output().expect("muster starts"))
    }

    /// The last report.
    pub(crate) fn report(&self) -> Value {
        let text =
            std::fs::read_to_string(self.path().join(".muster/report.json")).expect("a report");
        serde_json::from_str(&text).expect("JSON")
    }
}

/// The binary, away from any project, with nothing of the build machine's environment.
pub(crate) fn muster(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command
        .args(args)
        .env_clear()
        .env(SHOP_PASSWORD.0, SHOP_PASSWORD.1)
        .stdin(Stdio::null());
    for name in ["PATH", "HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// What a command did.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts the exit code, showing everything where it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\n--- out\n{}\n--- err\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Asserts that both streams together hold this.
    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(
            self.out.contains(part) || self.err.contains(part),
            "nothing says {part:?}\n--- out\n{}\n--- err\n{}",
            self.out,
            self.err
        );
        self
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("cli stands in the workspace")
        .to_path_buf()
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.expect("readable");
        let target = to.join(entry.path().strip_prefix(from).expect("below"));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).expect("a folder");
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// A process of this machine, told apart from a later one with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pid: u32,
    parent: u32,
    /// In clock ticks since the machine's start.
    started: String,
    /// For people.
    command: String,
}

/// Every process that runs below `pid` now.
pub(crate) fn descendants(pid: u32) -> Vec<Process> {
    let all = running();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// Those that still run.
pub(crate) fn alive(processes: &[Process]) -> Vec<Process> {
    let now = running();
    let same = |one: &Process| {
        now.iter()
            .any(|other| other.pid == one.pid && other.started == one.started)
    };
    processes
        .iter()
        .filter(|process| same(process))
        .cloned()
        .collect()
}

/// Every process that is not just waiting to be reaped.
fn running() -> Vec<Process> {
    std::fs::read_dir("/proc")
        .expect("proc")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid = path.file_name()?.to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            // The name is in parentheses and may hold anything.
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            let command = std::fs::read(path.join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let process = Process {
                pid,
                parent: fields.get(1)?.parse().ok()?,
                started: (*fields.get(19)?).to_owned(),
                command,
            };
            (*fields.first()? != "Z").then_some(process)
        })
        .collect()
}
