//! The conversation with the worker, and its ends.

use muster_suite::frame::VERSION;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::told::*;
use super::*;

#[tokio::test(start_paused = true)]
async fn the_worker_is_told_what_to_run_and_no_secret() {
    let story = Story::of(shop());
    let (output, first) = story
        .run(|mut worker| async move {
            let first = worker.next().await;
            worker
                .say(FromWorker::Console {
                    level: "warn".to_owned(),
                    text: "pw is hunter22".to_owned(),
                })
                .await;
            worker
                .done(TestOutcome::Skipped {
                    reason: "not today".to_owned(),
                })
                .await;
            first
        })
        .await;
    let ToWorker::Run {
        version,
        file,
        base_url,
        secrets,
        ..
    } = first
    else {
        panic!("{first:?}")
    };
    assert_eq!(
        (version, file.as_str(), base_url.as_str()),
        (VERSION, "tests/cart.e2e.ts", "http://shop.test/")
    );
    assert_eq!(secrets, ["pw", "token"]);
    assert_eq!(
        (output.status, output.skip_reason.as_str()),
        (Status::Skipped, "not today")
    );
    assert_eq!(output.record.console, ["[warn] pw is <secret:pw>"]);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_printed_in_pieces_is_in_no_line() {
    let story = Story::of(shop());
    let (output, ()) = story
        .run(|mut worker| async move {
            worker.next().await;
            let long = format!("{} hunter2", "x".repeat(8192 - 8));
            for text in ["pw: hun", "ter", "22.", &long] {
                let (level, text) = ("log".to_owned(), text.to_owned());
                worker.say(FromWorker::Console { level, text }).await;
            }
            worker.done(TestOutcome::Passed {}).await;
        })
        .await;
    let console = &output.record.console;
    assert_eq!(
        console[..3],
        ["pw: <secret:pw>", "<secret:pw>", "<secret:pw>."]
    );
    assert!(
        console[3].ends_with("x <secret:pw>"),
        "{}",
        console[3].len()
    );
}

#[tokio::test(start_paused = true)]
async fn calls_are_served_one_at_a_time_in_order_of_arrival() {
    let late = vec![node(7, "status", "Ready")];
    let page = FakePage::new(vec![
        screen("http://shop.test/", "Cart", Vec::new()),
        screen("http://shop.test/", "Cart", late),
    ]);
    let story = Story::of(page.after_looks(0, 5, 1));
    let (output, answers) = story
        .run(|mut worker| async move {
            worker.next().await;
            for op in [
                open(),
                sees("status", "Ready"),
                Op::BrowserTitle {},
                Op::BrowserUrl {},
            ] {
                worker.ask(op).await;
            }
            let mut answers = Vec::new();
            while answers.len() < 4 {
                if let ToWorker::Reply { id, .. } = worker.next().await {
                    answers.push(id);
                }
            }
            worker.done(TestOutcome::Passed {}).await;
            answers
        })
        .await;
    assert_eq!(answers, [1, 2, 3, 4]);
    let starts: Vec<_> = output
        .record
        .steps
        .iter()
        .map(|step| step.start_ms)
        .collect();
    assert_eq!(starts, [0, 0, 500, 500]);
}

#[tokio::test(start_paused = true)]
async fn a_test_that_takes_too_long_is_abandoned_and_may_clean_up() {
    let mut story = Story::of(shop());
    story.timeouts.test_ms = 3000;
    let (output, (told, cleaned)) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.ask(tap("Missing")).await;
            let told = [worker.next().await, worker.next().await];
            let cleaned = worker.call(tap("Pay now")).await;
            let ToWorker::Abandon { problem } = &told[0] else {
                panic!("{told:?}")
            };
            worker
                .done(TestOutcome::Failed {
                    problem: problem.clone(),
                })
                .await;
            (told, cleaned)
        })
        .await;
    let ToWorker::Reply {
        result: CallResult::Failed { problem, .. },
        ..
    } = &told[1]
    else {
        panic!("{told:?}")
    };
    assert_eq!(problem.code, ErrorCode::TestTimeout);
    assert_eq!(cleaned, CallResult::Ok { value: Value::Null });
    assert_eq!(
        (output.status, code(&output)),
        (Status::TimedOut, ErrorCode::TestTimeout)
    );
    assert_eq!(output.record.duration_ms, 3000);
    assert_eq!(
        output.record.steps[1].status,
        muster_proto::step::StepStatus::TimedOut
    );
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_does_not_end_is_left_behind() {
    let mut story = Story::of(shop());
    story.timeouts.test_ms = 3000;
    story.timeouts.cleanup_ms = 8000;
    let (output, _worker) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker
        })
        .await;
    assert_eq!(
        (output.status, output.record.duration_ms),
        (Status::TimedOut, 11_000)
    );
    assert_eq!(
        output.problem.unwrap().message,
        "the test took longer than 3000 ms"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_attempt_ends_at_once_and_stages_nothing() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    let cancel = story.cancel.clone();
    let (output, _worker) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.call(act("pay")).await;
            worker.ask(tap("Missing")).await;
            sleep(seconds(1)).await;
            cancel.cancel();
            worker
        })
        .await;
    assert_eq!(
        (output.status, code(&output)),
        (Status::Interrupted, ErrorCode::Interrupted)
    );
    assert_eq!(intents(&output), [Intent::NoChange]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_or_babbles_is_a_crashed_worker() {
    let (output, ()) = Story::of(shop())
        .run(|worker| async move { drop(worker) })
        .await;
    assert_eq!(
        (output.status, code(&output)),
        (Status::Failed, ErrorCode::WorkerCrashed)
    );
    let (output, _worker) = Story::of(shop())
        .run(|mut worker| async move {
            worker.next().await;
            worker
                .outgoing
                .get_mut()
                .write_all(b"\0\0\0\x02hi")
                .await
                .unwrap();
            worker
        })
        .await;
    assert_eq!(code(&output), ErrorCode::WorkerCrashed);
    let (output, _worker) = Story::of(shop())
        .run(|mut worker| async move {
            worker
                .say(FromWorker::Collected { files: Vec::new() })
                .await;
            worker
        })
        .await;
    assert_eq!(code(&output), ErrorCode::WorkerCrashed);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_nobody_waits_for_is_cancelled_when_the_test_is_done() {
    let (output, ()) = Story::of(shop())
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.ask(tap("Missing")).await;
            worker.done(TestOutcome::Passed {}).await;
        })
        .await;
    assert_eq!(output.status, Status::Passed);
    assert_eq!(
        output.record.steps[1].status,
        muster_proto::step::StepStatus::Cancelled
    );
}

#[tokio::test(start_paused = true)]
async fn hooks_have_their_own_time_after_the_bodys() {
    let mut story = Story::of(shop());
    story.timeouts.test_ms = 3000;
    story.timeouts.cleanup_ms = 8000;
    let (output, answers) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            sleep(seconds(2)).await;
            worker.say(FromWorker::BodyEnded { failed: false }).await;
            let mut missing = vec![];
            for _ in 0..2 {
                let Op::Act {
                    locator, gesture, ..
                } = tap("Missing")
                else {
                    unreachable!()
                };
                let step = Op::Act {
                    locator,
                    gesture,
                    timeout_ms: Some(2500),
                };
                missing.push(worker.call(step).await);
            }
            worker.done(TestOutcome::Passed {}).await;
            missing
        })
        .await;
    for answer in answers {
        let CallResult::Failed { problem, .. } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(problem.code, ErrorCode::LocatorNotFound, "{problem}");
    }
    assert_eq!(output.status, Status::Passed);
}

#[tokio::test(start_paused = true)]
async fn hooks_never_outlast_the_tests_time_and_their_own() {
    let mut story = Story::of(shop());
    story.timeouts.test_ms = 3000;
    story.timeouts.cleanup_ms = 8000;
    let (output, _worker) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.say(FromWorker::BodyEnded { failed: false }).await;
            worker
        })
        .await;
    assert_eq!(
        (output.status, output.record.duration_ms),
        (Status::TimedOut, 11_000)
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_body_left_under_way_ends_with_it() {
    let (output, cleaned) = Story::of(shop())
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.ask(tap("Missing")).await;
            worker.ask(tap("Pay now")).await;
            worker.say(FromWorker::BodyEnded { failed: true }).await;
            assert!(matches!(worker.next().await, ToWorker::Reply { id: 2, .. }));
            let cleaned = worker.call(tap("Help")).await;
            worker.done(TestOutcome::Passed {}).await;
            cleaned
        })
        .await;
    assert_eq!(cleaned, CallResult::Ok { value: Value::Null });
    let titles: Vec<_> = output
        .record
        .steps
        .iter()
        .map(|step| (step.title.as_str(), step.duration_ms))
        .collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    assert_eq!(titles[1].1, 0, "{titles:?}");
    assert_eq!(
        output.record.steps[1].status,
        muster_proto::step::StepStatus::Cancelled
    );
}

#[tokio::test(start_paused = true)]
async fn a_test_that_shrugs_off_a_dead_browser_has_no_verdict() {
    for outcome in [
        TestOutcome::Passed {},
        TestOutcome::Failed {
            problem: Problem::new(ErrorCode::AssertionFailed, "the reading did not come"),
        },
    ] {
        let story = Story::of(shop());
        story
            .page
            .fail_next(muster_engine::EngineError::Dead("killed".to_owned()));
        let failed = matches!(outcome, TestOutcome::Failed { .. });
        let (output, ()) = story
            .run(|mut worker| async move {
                worker.next().await;
                worker.call(open()).await;
                let tapped = worker.call(tap("Pay now")).await;
                assert!(matches!(tapped, CallResult::Failed { .. }));
                worker.done(outcome).await;
            })
            .await;
        assert_eq!(
            (output.status, code(&output)),
            (Status::Failed, ErrorCode::BrowserCrashed)
        );
        assert_eq!(output.record.secondary.len(), usize::from(failed));
    }
}

#[test]
fn a_secret_in_a_title_or_in_the_bundle_is_refused() {
    let redactor = Redactor::new(&[("pw".to_owned(), Secret::new("hunter22"))].into());
    let unit = |title: &str| v1::Unit {
        title_path: vec!["login".to_owned(), title.to_owned()],
        ..v1::Unit::default()
    };
    let modules = |js: &str| {
        let source = ModuleSource {
            js: js.to_owned(),
            map: String::new(),
        };
        BTreeMap::from([("tests/a.e2e.ts".to_owned(), source)])
    };
    let clean = modules("secrets.get('pw')");
    assert_eq!(exposed(&unit("works"), &clean, &redactor), None);
    for problem in [
        exposed(&unit("with hunter22"), &clean, &redactor),
        exposed(&unit("works"), &modules("fill('hunter22')"), &redactor),
    ] {
        let problem = problem.unwrap();
        assert_eq!(problem.code, ErrorCode::InvalidConfig);
        assert!(!problem.message.contains("hunter22"), "{problem}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_may_ask_for_any_time_and_gets_its_phases() {
    let mut story = Story::of(shop());
    story.timeouts.test_ms = 3000;
    let Op::Act {
        locator, gesture, ..
    } = tap("Missing")
    else {
        unreachable!()
    };
    let step = Op::Act {
        locator,
        gesture,
        timeout_ms: Some(u64::MAX),
    };
    let (output, ()) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.ask(step).await;
            let ToWorker::Abandon { problem } = worker.next().await else {
                panic!("the test's time is up")
            };
            worker.done(TestOutcome::Failed { problem }).await;
        })
        .await;
    assert_eq!(code(&output), ErrorCode::TestTimeout);
    assert_eq!(output.record.duration_ms, 3000);
}
