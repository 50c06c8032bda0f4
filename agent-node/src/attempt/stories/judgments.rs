//! Statements and data that a model judges.

use super::told::*;
use super::*;

fn judged(page: FakePage) -> Story {
    let mut story = Story::of(page);
    story.agent.judge = Some(Model::new("echo", "http://m.test"));
    story
}

#[tokio::test(start_paused = true)]
async fn a_statement_holds_or_fails_or_is_inconclusive() {
    let asserts = |text: &str| vec![open(), Op::AgentAssert(goal(text))];
    assert_eq!(
        Story::of(shop()).test(asserts("Pay now")).await.status,
        Status::Passed
    );
    let output = Story::of(shop()).test(asserts("Paid")).await;
    assert_eq!(code(&output), ErrorCode::AssertionFailed);
    assert_eq!(
        output.problem.unwrap().message,
        "\"Paid\" does not hold: looked at /"
    );
    assert_eq!(
        code(&Story::of(shop()).test(asserts("?")).await),
        ErrorCode::AssertionInconclusive
    );
}

#[tokio::test(start_paused = true)]
async fn a_statement_that_holds_verifies_the_goals_before_it() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    let output = story
        .test(vec![open(), act("pay"), Op::AgentAssert(goal("Paid"))])
        .await;
    assert_eq!(intents(&output), [Intent::Write]);
}

#[tokio::test(start_paused = true)]
async fn waiting_judges_changed_screens_only() {
    let page = FakePage::new(vec![
        screen(
            "http://shop.test/",
            "Cart",
            vec![node(1, "status", "Working")],
        ),
        screen("http://shop.test/", "Cart", vec![node(2, "status", "Paid")]),
    ]);
    let wait = |text: &str| Op::AgentWaitFor {
        call: goal(text),
        interval_ms: Some(1000),
    };
    // Each wait looks twice at a changed screen (its own look, the judge's), once at a same one.
    let output = judged(page.after_looks(0, 5, 1))
        .test(vec![open(), wait("Paid")])
        .await;
    assert_eq!(
        (output.status, output.record.duration_ms),
        (Status::Passed, 4000),
        "{:?}",
        output.problem
    );

    let mut call = goal("Shipped");
    call.timeout_ms = Some(2500);
    let output = judged(shop())
        .test(vec![
            open(),
            Op::AgentWaitFor {
                call,
                interval_ms: None,
            },
        ])
        .await;
    let problem = output.problem.unwrap();
    assert_eq!(problem.code, ErrorCode::StepTimeout);
    assert_eq!(
        problem.message,
        "the step took longer than 2500 ms; last judgment: looked at /"
    );
}

#[tokio::test(start_paused = true)]
async fn data_is_read_or_is_not_there() {
    let extract = |what: &str| Op::AgentExtract {
        call: goal(what),
        schema: serde_json::json!({"type": "string"}),
    };
    let (_, answers) = judged(shop())
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            let answers = [
                worker.call(extract("button")).await,
                worker.call(extract("slider")).await,
            ];
            worker.done(TestOutcome::Passed {}).await;
            answers
        })
        .await;
    assert_eq!(
        answers[0],
        CallResult::Ok {
            value: "Help".into()
        }
    );
    let CallResult::Failed { problem, .. } = &answers[1] else {
        panic!("{answers:?}")
    };
    assert_eq!(problem.code, ErrorCode::AssertionInconclusive);
}

#[tokio::test(start_paused = true)]
async fn waiting_and_reading_need_a_model() {
    for op in [
        Op::AgentWaitFor {
            call: goal("Paid"),
            interval_ms: None,
        },
        Op::AgentExtract {
            call: goal("button"),
            schema: Value::Null,
        },
    ] {
        let output = Story::of(shop()).test(vec![open(), op]).await;
        assert_eq!(
            (code(&output), output.stop_run),
            (ErrorCode::ModelUnavailable, true)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_picture_may_change_where_the_text_does_not() {
    let page = FakePage::new(vec![
        screen(
            "http://shop.test/",
            "Cart",
            vec![node(1, "status", "Working")],
        ),
        screen("http://shop.test/", "Cart", vec![node(2, "status", "Paid")]),
    ]);
    let mut story = judged(page.after_looks(0, 5, 1));
    story.agent.judge.as_mut().unwrap().vision = true;
    let wait = Op::AgentWaitFor {
        call: AgentCall {
            vision: Vision::Also,
            ..goal("Paid")
        },
        interval_ms: Some(1000),
    };
    // Each wait looks twice, its own look and the judge's; by text alone it took 4000.
    let output = story.test(vec![open(), wait]).await;
    assert_eq!(
        (output.status, output.record.duration_ms),
        (Status::Passed, 2000),
        "{:?}",
        output.problem
    );
}

#[tokio::test(start_paused = true)]
async fn pictures_need_a_model_that_takes_them() {
    let sees = || AgentCall {
        vision: Vision::Only,
        ..goal("Pay now")
    };
    let output = judged(shop())
        .test(vec![open(), Op::AgentAssert(sees())])
        .await;
    assert_eq!(code(&output), ErrorCode::InvalidConfig);
    let message = output.problem.unwrap().message;
    assert!(message.contains("[agents.default.judge]"), "{message}");

    let output = Story::of(shop())
        .test(vec![open(), Op::AgentAssert(sees())])
        .await;
    assert_eq!(code(&output), ErrorCode::ModelUnavailable);
}
