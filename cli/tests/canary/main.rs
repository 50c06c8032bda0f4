//! A secret that everybody can recognize is typed into an app that tells it to everyone. Then every
//! byte that left is searched for it: prompts, traces, frames between the processes, files, logs and
//! the terminal.
//!
//! The value goes to the app and stands in the node's environment; both are no sinks. Forms are made
//! by [`forms`], not by the product's redactor. What is not searched for, because it is not masked,
//! stands in docs/security.md.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a canary that can't be set up has failed"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the canary starts the product as its user does"
)]

mod app;
mod forms;
mod sinks;

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use sinks::{Collector, Sinks};

/// Long, and with characters that every escape writes in its own way.
const SECRET: &str = "Zebra&\"Tulip\"<42>é-Quartz";

/// What the product writes instead.
const MARKER: &[u8] = b"<secret:canary>";

const SUITE: &str = r#"import { expect, secrets, test } from 'muster';

test('exact steps', async ({ app, screen }) => {
  await app.open('/');
  await screen.getByLabel('Password').fill(secrets.get('canary'));
  for (const name of ['plain', 'base64', 'hex', 'json', 'spaced']) {
    console.log(name, await screen.getByTestId(name).textContent());
  }
  await expect(screen.getByRole('heading', 'Nothing')).toBeVisible({ timeout: 500 });
});

test('a goal', async ({ app, screen, agent }) => {
  await app.open('/');
  await agent.act('Type the password', { params: { password: secrets.get('canary') } });
  await expect(screen.getByTestId('plain')).toHaveText('nothing', { timeout: 500 });
});

test('a throw', async ({ app, screen, browser }) => {
  await app.open('/');
  await screen.getByLabel('Password').fill(secrets.get('canary'));
  throw new Error(`${await screen.getByTestId('plain').textContent()} ${await browser.title()}`);
});
"#;

/// What was found, and in how much.
struct Found {
    hits: usize,
}

#[test]
fn nothing_that_leaves_holds_a_secret() {
    let found = watch(None);
    assert_eq!(found.hits, 0, "a secret left");
}

#[test]
fn a_planted_leak_is_found() {
    let found = watch(Some("redact.value"));
    assert!(found.hits > 0, "the canary sees nothing");
}

/// Runs the suite alone and on a fleet, and searches what was recorded. Prints one line, and one for
/// each sink and form that was hit.
fn watch(lifted: Option<&str>) -> Found {
    let sinks = Sinks::default();
    let collector = Collector::start(&sinks);
    let stage = tempfile::tempdir().unwrap();
    let world = World {
        sinks: &sinks,
        collector: &collector.address,
        lifted,
        dir: stage.path(),
    };
    world.alone();
    world.fleet();
    sinks.files("files", stage.path());

    let forms = forms::forms(SECRET);
    let recorded = sinks.recorded();
    let mut hits = 0;
    for (sink, bytes) in &recorded {
        for form in &forms {
            let places = forms::places(&form.bytes, bytes);
            let Some(first) = places.first() else {
                continue;
            };
            hits += places.len();
            let before =
                String::from_utf8_lossy(&bytes[first.saturating_sub(60)..*first]).into_owned();
            println!(
                "canary: {} in {sink} as {}, first after {before:?}",
                places.len(),
                form.name
            );
        }
    }
    for sink in ["files", "frames", "log", "prompts", "terminal", "traces"] {
        let bytes = recorded.get(sink).map(Vec::as_slice).unwrap_or_default();
        assert!(!bytes.is_empty(), "nothing was recorded of {sink}");
        // Where the value would have stood; traces carry no texts of an app.
        let masked = !forms::places(MARKER, bytes).is_empty();
        assert!(
            masked || sink == "traces" || lifted.is_some(),
            "{sink} tells nothing of the app"
        );
    }
    let bytes: usize = recorded.values().map(Vec::len).sum();
    let lifted = lifted
        .map(|guard| format!(", without {guard}"))
        .unwrap_or_default();
    println!(
        "canary: {hits} hits in {bytes} bytes of {} sinks, {} forms{lifted}",
        recorded.len(),
        forms.len()
    );
    Found { hits }
}

/// Where the product runs.
struct World<'a> {
    sinks: &'a Sinks,
    collector: &'a str,
    lifted: Option<&'a str>,
    dir: &'a Path,
}

impl World<'_> {
    /// One process that does everything.
    fn alone(&self) {
        let project = self.project("alone");
        let mut run = self.muster(&project, &["run"]);
        run.env("CANARY", SECRET);
        self.ran(run);
    }

    /// A coordinator, a node and a client, each a process of its own. Only the node has the secret.
    fn fleet(&self) {
        let project = self.project("fleet");
        // A TCP listener answers to its own address alone and so not to a recorder's; the same frames
        // go over a Unix socket.
        let listen = ["coordinator", "--listen", "unix:c.sock"];
        let coordinator = Running::start(self.muster(&project, &listen), "listening");
        self.sinks.wire(
            "frames",
            &project.join("recorder.sock"),
            project.join("c.sock"),
        );
        let known = ["--coordinator", "unix:recorder.sock"];
        let mut node = self.muster(
            &project,
            &[&["node", "--trust-project"], &known[..]].concat(),
        );
        node.env("CANARY", SECRET);
        let node = Running::start(node, "offers");
        self.ran(self.muster(&project, &[&["run"], &known[..]].concat()));
        for running in [node, coordinator] {
            let (out, err) = running.end();
            self.sinks.record("terminal", out.as_bytes());
            self.sinks.record("log", err.as_bytes());
        }
    }

    fn project(&self, name: &str) -> PathBuf {
        let folder = self.dir.join(name);
        std::fs::create_dir_all(folder.join("tests")).unwrap();
        std::fs::write(folder.join("tests/canary.e2e.ts"), SUITE).unwrap();
        let config = format!(
            "[project]\nid = \"canary\"\n[targets.web.app]\nurl = \"{}\"\n[secrets.canary]\nenv = \"CANARY\"\npassword = true\n\
             [agents.default]\nexecutor = \"agent\"\nmodel = {{ name = \"m\", base-url = \"{}\" }}\n",
            app::start(),
            self.sinks.model()
        );
        std::fs::write(folder.join("muster.toml"), config).unwrap();
        folder
    }

    /// The binary with a home and temporary files of its own.
    fn muster(&self, project: &Path, args: &[&str]) -> Command {
        let scratch = self.dir.join("tmp");
        std::fs::create_dir_all(&scratch).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command
            .args(args)
            .current_dir(project)
            .env_clear()
            .env("HOME", &scratch)
            .env("TMPDIR", &scratch)
            .env("MUSTER_LOG", "debug")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", self.collector)
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(self.lifted.map(|guard| ("MUSTER_LIFT", guard)))
            .stdin(Stdio::null());
        command
    }

    /// Runs a suite to its end. Its tests fail on purpose, so that the report tells of it.
    fn ran(&self, mut command: Command) {
        let ran = command.output().expect("muster starts");
        self.sinks.record("terminal", &ran.stdout);
        self.sinks.record("log", &ran.stderr);
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(
            ran.status.code(),
            Some(1),
            "the tests fail, all else works:\n{told}"
        );
    }
}

/// A child that ends with its test, and what it says.
struct Running {
    child: Child,
    said: String,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts it and reads on until it says `part`.
    fn start(mut command: Command, part: &str) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("muster starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let err = rest(child.stderr.take().expect("piped"));
        let mut running = Self {
            child,
            said: String::new(),
            out: None,
            err: Some(err),
        };
        while !running.said.contains(part) {
            let read = out.read_line(&mut running.said).expect("readable");
            assert!(
                read > 0,
                "it ended without saying {part:?}: {}",
                running.said
            );
        }
        running.out = Some(rest(out));
        running
    }

    /// Ends it as its user does; yields what it said on both streams.
    fn end(mut self) -> (String, String) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).expect("it runs");
        self.child.wait().expect("it was ours");
        let read = |thread: Option<JoinHandle<String>>| {
            thread
                .map(|thread| thread.join().expect("it only reads"))
                .unwrap_or_default()
        };
        let out = read(self.out.take());
        (std::mem::take(&mut self.said) + &out, read(self.err.take()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe to its end, in a thread of its own.
fn rest(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("readable");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
