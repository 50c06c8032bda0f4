//! What goes wrong in a user's hands: each gets one clear error and its exit code.

use crate::support::{Project, Ran, muster};

/// A project that needs no app command: its pages are never opened.
const PLAIN: &str = "[project]\nid = \"plain\"\n[targets.web.app]\nurl = \"http://127.0.0.1:9\"\n";

const PASSING: &str = "import { test, expect } from 'muster';\ntest('adds', async () => { expect(1 + 1).toBe(2); });\n";

#[test]
fn a_suite_without_goals_needs_no_agent_and_no_model() {
    let project = Project::new(PLAIN);
    project.file("tests/sum.e2e.ts", PASSING);
    project.muster(&["run"]).exits(0);
    let report = project.report();
    assert_eq!(report["counts"]["passed"], 1);
    assert_eq!(report["totals"]["ai"]["modelCalls"], 0);
}

#[test]
fn no_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Ran::new(
        muster(&["run"])
            .current_dir(folder.path())
            .output()
            .unwrap(),
    );
    ran.exits(2).says("CONFIG_NOT_FOUND").says("muster.toml");
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let project = Project::new(&PLAIN.replace("[project]", "retrys = 1\n[project]"));
    project
        .muster(&["run"])
        .exits(2)
        .says("INVALID_CONFIG")
        .says("retrys")
        .says("`retries`")
        .says("muster.toml:1");
}

#[test]
fn no_tests_and_an_empty_selection() {
    let project = Project::new(PLAIN);
    project
        .muster(&["run"])
        .exits(2)
        .says("NO_TESTS")
        .says("tests/**/*.e2e.ts");
    project.file("tests/sum.e2e.ts", PASSING);
    project
        .muster(&["run", "--grep", "multiplies"])
        .exits(2)
        .says("NO_TESTS")
        .says("multiplies");
    project
        .muster(&["run", "--grep", "("])
        .exits(2)
        .says("--grep");
    project
        .muster(&["run", "--target", "wbe"])
        .exits(2)
        .says("UNKNOWN_TARGET")
        .says("`web`");
    project
        .muster(&["run", "--last-failed"])
        .exits(2)
        .says("NO_LAST_RUN");
}

#[test]
fn only_is_refused_on_a_build_machine() {
    let project = Project::new(PLAIN);
    project.file(
        "tests/sum.e2e.ts",
        &PASSING.replace("test('", "test.only('"),
    );
    project.muster(&["run"]).exits(0);
    let ran = Ran::new(
        project
            .command(&["run"])
            .env("CI", "true")
            .output()
            .unwrap(),
    );
    ran.exits(2).says("ONLY_IN_CI").says("tests/sum.e2e.ts:2");
}

#[test]
fn a_syntax_error_has_its_place() {
    let project = Project::new(PLAIN);
    project.file(
        "tests/sum.e2e.ts",
        "import { test } from 'muster';\ntest('adds', async () => {\n  const = 2;\n});\n",
    );
    project
        .muster(&["run"])
        .exits(2)
        .says("COLLECTION_ERROR")
        .says("tests/sum.e2e.ts:3");
}

#[test]
fn a_failure_shows_its_line_what_was_wanted_and_how_to_run_it_again() {
    let project = Project::new(PLAIN);
    project.file("tests/sum.e2e.ts", &PASSING.replace("toBe(2)", "toBe(3)"));
    let ran = project.muster(&["run"]).exits(1);
    ran.says("tests/sum.e2e.ts:2")
        .says("ASSERTION_FAILED")
        .says("expect(1 + 1).toBe(3)")
        .says("muster run tests/sum.e2e.ts:2");
    let report = project.report();
    assert_eq!(report["exitCode"], 1);
    assert_eq!(
        report["units"][0]["attempts"][0]["problem"]["code"],
        "ASSERTION_FAILED"
    );
    let junit = std::fs::read_to_string(project.path().join(".muster/junit.xml")).unwrap();
    assert!(
        junit.contains("<failure") && junit.contains("failures=\"1\""),
        "{junit}"
    );

    project.file("tests/sum.e2e.ts", PASSING);
    project.muster(&["run", "--last-failed"]).exits(0);
}

#[test]
fn an_app_that_does_not_start() {
    let command = "[targets.web.app.command]\nprogram = \"sh\"\nargs = [\"-c\", \"echo no database; exit 7\"]\n";
    let project = Project::new(&format!("{}{command}", PLAIN.replace(":9", ":0")));
    project.file("tests/sum.e2e.ts", PASSING);
    project
        .muster(&["run"])
        .exits(3)
        .says("APP_UNREACHABLE")
        .says("no database")
        .says("exit status: 7");
}

#[test]
fn an_app_that_runs_already() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in taken.incoming().flatten() {
            use std::io::{Read as _, Write as _};
            let mut stream = stream;
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let command = "[targets.web.app.command]\nprogram = \"sh\"\nargs = [\"-c\", \"exit 0\"]\n";
    let project = Project::new(&format!(
        "{}{command}",
        PLAIN.replace(":9", &format!(":{port}"))
    ));
    project.file("tests/sum.e2e.ts", PASSING);
    project
        .muster(&["run"])
        .exits(3)
        .says("APP_ALREADY_RUNNING");
}

#[test]
fn no_browser_is_an_infrastructure_fault() {
    let project = Project::new(&format!("{PLAIN}[browser]\npath = \"/no/such/browser\"\n"));
    project.file("tests/sum.e2e.ts", PASSING);
    project
        .muster(&["run"])
        .exits(3)
        .says("BROWSER_UNAVAILABLE")
        .says("/no/such/browser");
}

#[test]
fn an_unreadable_recording_is_shown_and_can_be_cleared() {
    let project = Project::shop(&[]);
    project
        .muster(&["run", "cart", "--grep", "added from the list"])
        .exits(0);
    let cache = project.path().join(".muster/cache");
    let entry = walkdir::WalkDir::new(&cache)
        .into_iter()
        .filter_map(Result::ok)
        .find(|entry| entry.path().extension().is_some_and(|end| end == "entry"))
        .expect("one recording");
    std::fs::write(entry.path(), "damaged").unwrap();
    project.muster(&["cache", "ls"]).exits(0).says("damaged");
    project
        .muster(&["run", "cart", "--grep", "added from the list"])
        .exits(0);
    project.muster(&["cache", "clear"]).exits(0);
    project
        .muster(&["cache", "ls"])
        .exits(0)
        .says("0 recordings");
}

#[test]
fn a_test_that_never_ends_is_stopped() {
    let project = Project::new(PLAIN);
    project.file(
        "tests/loop.e2e.ts",
        "import { test } from 'muster';\ntest('waits', { timeout: 300 }, async () => { await new Promise((done) => setTimeout(done, 600000)); });\n",
    );
    project.muster(&["run"]).exits(1).says("TEST_TIMEOUT");
}
