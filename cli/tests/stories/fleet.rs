//! A coordinator and nodes as processes of their own, and what survives their deaths.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Project, Ran, alive, descendants};

/// Longest wait for something that another process does.
const PATIENCE: Duration = Duration::from_secs(60);

/// A child that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is fine.
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

fn start(project: &Project, args: &[&str]) -> Running {
    Running(
        project
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("muster starts"),
    )
}

/// Waits until it prints a line that holds this.
fn wait_for_line(running: &mut Running, part: &str) {
    let out = running.0.stdout.take().expect("piped");
    let found = BufReader::new(out)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains(part));
    assert!(found, "it ended without saying {part:?}");
}

#[test]
fn a_killed_node_costs_no_test_and_leaves_no_process() {
    let project = Project::shop(&[]);
    let mut coordinator = start(
        &project,
        &[
            "coordinator",
            "--listen",
            "unix:c.sock",
            "--lease-ms",
            "2000",
            "--beat-ms",
            "300",
        ],
    );
    wait_for_line(&mut coordinator, "listening");
    let node = |name| {
        start(
            &project,
            &[
                "node",
                "--coordinator",
                "unix:c.sock",
                "--name",
                name,
                "--slots",
                "2",
                "--trust-project",
            ],
        )
    };
    let mut victim = node("victim");
    wait_for_line(&mut victim, "offers");
    let mut survivor = node("survivor");
    wait_for_line(&mut survivor, "offers");

    let run = project
        .command(&["run", "--coordinator", "unix:c.sock", "--retries", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("muster starts");
    let mut run = Running(run);
    // The first result that the victim delivers: it is in the middle of its work.
    let mut err = BufReader::new(run.0.stderr.take().expect("piped"));
    let mut said = String::new();
    loop {
        let mut line = String::new();
        assert!(
            err.read_line(&mut line).expect("readable") > 0,
            "the run ended before the victim did anything:\n{said}"
        );
        said.push_str(&line);
        if line.contains("victim") {
            break;
        }
    }
    let family = descendants(victim.0.id());
    assert!(
        family.len() >= 3,
        "it has a supervisor, a browser and workers: {family:#?}"
    );
    kill(Pid::from_raw(victim.0.id() as i32), Signal::SIGKILL).expect("the victim lives");
    victim.0.wait().expect("it was ours");

    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut err, &mut rest).expect("readable");
        rest
    });
    let status = run.0.wait().expect("it was ours");
    let err = said + &rest.join().expect("it only reads");
    Ran {
        code: status.code(),
        out: String::new(),
        err,
    }
    .exits(0);

    let report = project.report();
    let units = report["units"].as_array().expect("units");
    let mut results: BTreeMap<&str, usize> = BTreeMap::new();
    for unit in units {
        let counted = unit["attempts"].as_array().expect("attempts").len();
        *results
            .entry(unit["unitId"].as_str().expect("an id"))
            .or_default() += counted;
    }
    assert!(units.len() >= 24);
    assert!(results.values().all(|count| *count == 1), "{results:?}");
    assert!(
        units.iter().any(|unit| unit["lost"].as_u64() > Some(0)),
        "the victim held a lease when it died"
    );

    let deadline = Instant::now() + PATIENCE;
    while !alive(&family).is_empty() {
        assert!(
            Instant::now() < deadline,
            "left behind: {:#?}",
            alive(&family)
        );
        std::thread::yield_now();
    }
}

#[test]
fn two_runs_and_a_look_at_the_cache_share_one_checkout() {
    let project = Project::shop(&[]);
    let one = |tag: &str| {
        project
            .command(&["run", "--tag", tag])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("muster starts")
    };
    let (first, second) = (one("smoke"), one("declined"));
    project.muster(&["cache", "ls"]).exits(0).says("recordings");
    Ran::new(first.wait_with_output().unwrap()).exits(0);
    Ran::new(second.wait_with_output().unwrap()).exits(0);
}

#[test]
fn tcp_needs_the_token_and_loopback() {
    let project = Project::shop(&[]);
    project
        .muster(&["coordinator", "--listen", "0.0.0.0:0"])
        .exits(2)
        .says("LISTEN_REFUSED");
    let mut coordinator = start(
        &project,
        &[
            "coordinator",
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            "token",
        ],
    );
    let out = coordinator.0.stdout.take().expect("piped");
    let line = BufReader::new(out)
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("listening"))
        .expect("it listens");
    let address = line
        .split_whitespace()
        .find(|word| word.starts_with("127.0.0.1:"))
        .expect("its address")
        .to_owned();
    let mut node = start(
        &project,
        &[
            "node",
            "--coordinator",
            &address,
            "--token-file",
            "token",
            "--trust-project",
        ],
    );
    wait_for_line(&mut node, "offers");
    project
        .muster(&[
            "run",
            "--coordinator",
            &address,
            "catalogue",
            "--tag",
            "smoke",
        ])
        .exits(2)
        .says("token");
    project
        .muster(&[
            "run",
            "--coordinator",
            &address,
            "--token-file",
            "token",
            "catalogue",
            "--tag",
            "smoke",
        ])
        .exits(0);
}

#[test]
fn a_taken_address_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let project = Project::shop(&[]);
    project
        .muster(&["coordinator", "--listen", &address])
        .exits(2)
        .says(&address)
        .says("LISTEN_REFUSED");
    project
        .muster(&["demo-app", "--listen", &address])
        .exits(2)
        .says(&address);
}
