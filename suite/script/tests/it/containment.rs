//! What hostile or broken tests do to a worker: they end, say why, and their clean-up runs.

use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_script::{WorkerError, serve};
use muster_suite::codec::FrameError;
use muster_suite::frame::{FromWorker, Limits, MAX_FRAME, ToWorker, VERSION};
use tokio::io::AsyncWriteExt;

use crate::support::{Heard, Parent, Project, limits};

const TIME: &str = "JavaScript ran for more than 200 ms without a pause; a loop may not end, or it waits without await";

/// Runs `body` with an afterEach that says so; JavaScript gets 200 ms at a time.
async fn run(body: &str) -> Heard {
    run_within(body, 200).await
}

/// As [`run`], for what must not hit the clock first, however busy the machine is.
async fn run_slowly(body: &str) -> Heard {
    run_within(body, 50_000).await
}

async fn run_within(body: &str, slice_ms: u64) -> Heard {
    let project = Project::of(&format!(
        "import {{ afterEach, test }} from 'muster';\nafterEach(() => console.log('cleaned up'));\ntest('a', async ({{ app, screen }}) => {{\n{body}\n}});\n"
    ));
    let limits = Limits {
        slice_ms,
        memory_bytes: 32 * 1024 * 1024,
        ..limits()
    };
    project
        .run(
            "a",
            Parent {
                limits,
                ..Parent::default()
            },
        )
        .await
}

/// The outcome without the line: where a loop is cut, the interpreter knows only the last statement
/// that it noted.
fn ending(heard: &Heard) -> String {
    let [ending] = heard.story().try_into().expect("one failure");
    let (start, message) = ending.split_once(": ").expect("a place and a message");
    let (start, line) = start.rsplit_once(':').expect("a line");
    assert!((3..=5).contains(&line.parse::<u32>().unwrap()), "{ending}");
    format!("{start}: {message}")
}

fn cleaned_up(heard: &Heard) -> bool {
    heard
        .console()
        .last()
        .is_some_and(|line| line == "log: cleaned up")
}

#[tokio::test]
async fn an_endless_loop_is_stopped() {
    let heard = run("for (;;) Math.sqrt(2);").await;
    assert_eq!(
        ending(&heard),
        format!("TEST_TIMEOUT tests/a.e2e.ts: {TIME}")
    );
    assert!(cleaned_up(&heard));
}

#[tokio::test]
async fn no_catch_outlives_an_endless_loop() {
    let heard = run("for (;;) { try { for (;;) Math.sqrt(2); } catch { console.log('caught'); } finally { console.log('finally'); } }").await;
    assert_eq!(
        ending(&heard),
        format!("TEST_TIMEOUT tests/a.e2e.ts: {TIME}")
    );
    assert_eq!(heard.console(), ["log: cleaned up"]);
}

#[tokio::test]
async fn a_loop_in_a_helper_that_is_awaited_is_stopped_too() {
    let heard = run("const spin = async () => { for (;;) Math.sqrt(2); };\ntry { await spin(); } catch { for (;;); }").await;
    assert_eq!(
        ending(&heard),
        format!("TEST_TIMEOUT tests/a.e2e.ts: {TIME}")
    );
    assert!(cleaned_up(&heard));
}

#[tokio::test]
async fn endless_promises_end() {
    let heard = run("for (;;) await null;").await;
    assert!(
        heard.story()[0].starts_with("TEST_TIMEOUT tests/a.e2e.ts"),
        "{:?}",
        heard.story()
    );
    // Each of these waits for the next and is kept: time and memory race, and either ends it.
    let heard =
        run("const again = (): Promise<void> => Promise.resolve().then(again);\nawait again();")
            .await;
    let story = &heard.story()[0];
    let out_of_time = story.starts_with("TEST_TIMEOUT tests/a.e2e.ts");
    let out_of_memory =
        story.starts_with("ERROR tests/a.e2e.ts") && story.contains("out of memory");
    assert!(out_of_time || out_of_memory, "{story}");
}

#[tokio::test]
async fn a_loop_in_a_timer_ends_the_test() {
    let heard = run("setTimeout(() => { for (;;) Math.sqrt(2); }, 1);\nawait new Promise((resolve) => setTimeout(resolve, 50_000));").await;
    assert_eq!(
        ending(&heard),
        format!("TEST_TIMEOUT tests/a.e2e.ts: {TIME}")
    );
    assert!(cleaned_up(&heard));
}

#[tokio::test]
async fn a_catastrophic_pattern_is_stopped() {
    let heard = run("/^(a+)+$/.test('a'.repeat(40) + 'b');").await;
    assert_eq!(
        ending(&heard),
        format!("TEST_TIMEOUT tests/a.e2e.ts: {TIME}")
    );
    assert!(cleaned_up(&heard));
}

#[tokio::test]
async fn a_heap_bomb_bursts_alone() {
    let heard =
        run_slowly("const list: unknown[] = [];\nfor (;;) list.push(new Array(10_000).fill(1));")
            .await;
    assert_eq!(
        heard.story(),
        ["ERROR tests/a.e2e.ts:5: out of memory: a test may use 32 MiB"]
    );
    assert!(cleaned_up(&heard));
    let heard = run_slowly("'x'.repeat(2 ** 29);").await;
    assert_eq!(heard.story().len(), 1, "{:?}", heard.story());
}

#[tokio::test]
async fn a_heap_bomb_that_keeps_its_memory_ends_the_test() {
    let heard = run_slowly("const kept: unknown[] = ((globalThis as any).kept = []);\nfor (let size = 1_000_000; ; ) { try { kept.push(new Array(size).fill(1)); } catch { if (size === 1) break; size = Math.ceil(size / 2); } }").await;
    assert!(
        heard.story()[0].contains("out of memory: a test may use 32 MiB"),
        "{:?}",
        heard.story()
    );
}

#[tokio::test]
async fn deep_recursion_is_an_error_of_the_test() {
    let heard = run_slowly("const deep = (n: number): number => deep(n + 1) + 1;\ndeep(0);").await;
    let [ending] = heard.story().try_into().unwrap();
    assert!(
        ending.starts_with("ERROR tests/a.e2e.ts:4: RangeError"),
        "{ending}"
    );
    assert!(cleaned_up(&heard));
    let heard = run_slowly("let nested = '';\nfor (let i = 0; i < 200_000; i += 1) nested += '[';\nJSON.parse(nested);").await;
    assert!(
        heard.story()[0].starts_with("ERROR tests/a.e2e.ts:6"),
        "{:?}",
        heard.story()
    );
}

#[tokio::test]
async fn a_step_that_is_too_large_is_refused_where_it_stands() {
    let heard = run_slowly("await screen.getByLabel('x').fill('x'.repeat(2 ** 21));").await;
    let [ending] = heard.story().try_into().unwrap();
    assert!(
        ending.starts_with("INVALID_ARGUMENT tests/a.e2e.ts:4: a step has 2097"),
        "{ending}"
    );
    assert!(heard.calls().is_empty());
}

#[tokio::test]
async fn a_flood_of_steps_is_refused() {
    let project = Project::of(
        "import { test } from 'muster';\n\n\ntest('a', ({ app }) => Promise.all(Array.from({ length: 1100 }, () => app.open('/'))));\n",
    );
    let heard = project.run("a", Parent::default()).await;
    assert!(
        heard.story()[0].starts_with("INVALID_ARGUMENT tests/a.e2e.ts:4: too many steps at once"),
        "{:?}",
        heard.story()
    );
    assert_eq!(heard.calls().len(), 1024);
}

#[tokio::test]
async fn a_flood_of_words_is_cut() {
    let heard = run_slowly(
        "console.log('é'.repeat(10_000));\nfor (let i = 0; i < 5000; i += 1) console.log(i);",
    )
    .await;
    assert_eq!(heard.story(), ["passed"]);
    assert_eq!(heard.console().len(), 1001);
    assert_eq!(heard.console()[1000], "log: … only 1000 lines are kept");
    assert!(heard.console()[0].len() <= 8192 + "log: ".len());
}

#[tokio::test]
async fn a_flood_of_timers_is_refused() {
    let project = Project::of(
        "import { afterEach, test } from 'muster';\nafterEach(() => console.log('cleaned up'));\ntest('a', () => {\n  for (let i = 0; i < 20_000; i += 1) setTimeout(() => {}, 60_000);\n});\n",
    );
    let heard = project.run("a", Parent::default()).await;
    assert_eq!(
        heard.story(),
        ["ERROR tests/a.e2e.ts:4: RangeError: more than 10000 timers run at once"]
    );
    assert!(cleaned_up(&heard));
}

#[tokio::test]
async fn a_hook_that_loops_is_stopped_as_well() {
    let project = Project::of(
        "import { afterEach, test } from 'muster';\nafterEach(() => console.log('cleaned up'));\nafterEach(() => {\n  for (;;) Math.sqrt(2);\n});\ntest('a', () => {\n  for (;;) Math.sqrt(2);\n});\n",
    );
    let limits = Limits {
        slice_ms: 200,
        ..limits()
    };
    let heard = project
        .run(
            "a",
            Parent {
                limits,
                ..Parent::default()
            },
        )
        .await;
    let story = heard.story();
    assert_eq!(story[0], format!("TEST_TIMEOUT tests/a.e2e.ts:7: {TIME}"));
    assert_eq!(story.len(), 2, "{story:?}");
    assert!(cleaned_up(&heard));
}

/// What `serve` says to raw bytes.
async fn said_to(bytes: &[u8], close: bool) -> WorkerError {
    let (mut ours, theirs) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(theirs);
    let served = async {
        ours.write_all(bytes).await.unwrap();
        if close {
            ours.shutdown().await.unwrap();
        }
        serve(reader, writer).await
    };
    tokio::time::timeout(Duration::from_secs(10), served)
        .await
        .expect("the worker ends")
        .unwrap_err()
}

#[tokio::test]
async fn a_frame_over_the_cap_ends_the_worker_before_it_is_read() {
    let length = u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes();
    let error = said_to(&length, false).await;
    assert!(
        matches!(error, WorkerError::Frame(FrameError::TooLarge { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn a_worker_without_a_parent_ends() {
    assert!(matches!(said_to(&[], true).await, WorkerError::ParentGone));
}

#[tokio::test]
async fn a_worker_of_another_version_says_so() {
    let request = ToWorker::Collect {
        version: VERSION + 1,
        modules: Default::default(),
        files: Vec::new(),
        limits: Limits::default(),
    };
    let heard = Parent::default().talk(request).await;
    let FromWorker::Broken { problem } = heard.end() else {
        panic!("{:?}", heard.end())
    };
    assert_eq!(problem.code, ErrorCode::WorkerCrashed);
    assert_eq!(
        problem.message,
        format!(
            "the parent speaks worker.v{}, this worker speaks worker.v{VERSION}",
            VERSION + 1
        )
    );
}

#[tokio::test]
async fn a_worker_serves_from_any_task() {
    let (ours, theirs) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(theirs);
    let worker = tokio::spawn(serve(reader, writer));
    drop(ours);
    assert!(matches!(
        worker.await.unwrap(),
        Err(WorkerError::ParentGone)
    ));
}
