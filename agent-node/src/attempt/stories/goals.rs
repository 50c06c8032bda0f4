//! Goals: run live, verified, staged, replayed, handed off, evicted.

use muster_proto::recording::Envelope;
use muster_proto::step::{AgentStep, CacheMode, CacheReason, StepStatus, Tier};
use serde_json::json;

use super::told::*;
use super::*;

fn paid() -> Vec<Op> {
    vec![open(), act("pay the cart"), sees("status", "Paid")]
}

fn goal_step(output: &AttemptOutput) -> &AgentStep {
    output.record.steps[1]
        .agent
        .as_ref()
        .expect("the second step is a goal")
}

#[tokio::test(start_paused = true)]
async fn a_verified_goal_is_recorded_and_replays_with_no_executor() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    let first = story.test(paid()).await;
    assert_eq!(first.status, Status::Passed, "{:?}", first.problem);
    assert_eq!(intents(&first), [Intent::Write], "{:?}", first.staged);
    let step = goal_step(&first);
    assert!(step.verified);
    assert_eq!((step.usage.decisions, step.usage.actions), (1, 1));
    assert_eq!(step.actions, [r#"tap button "Pay now""#]);
    let cache = step.cache.as_ref().unwrap();
    assert_eq!(
        (cache.mode, cache.reason),
        (CacheMode::Missed, Some(CacheReason::NoEntry))
    );
    let envelope: Envelope = serde_json::from_slice(&first.staged[0].envelope).unwrap();
    assert_eq!(
        (envelope.provenance.step, envelope.provenance.verified_by),
        (1, Some(2))
    );

    let again = story.again(shop()).plan(never());
    let second = again.test(paid()).await;
    assert_eq!(second.status, Status::Passed, "{:?}", second.problem);
    let step = goal_step(&second);
    let cache = step.cache.as_ref().unwrap();
    assert_eq!(
        (cache.mode, cache.replayed_actions, cache.total_actions),
        (CacheMode::Replayed, 1, 1)
    );
    assert_eq!(
        (
            step.usage.decisions,
            step.usage.model_calls,
            step.usage.actions
        ),
        (0, 0, 1)
    );
    assert_eq!(cache.recorded_by_node.as_deref(), Some("node"));
    assert_eq!(intents(&second), [Intent::Keep]);
}

#[tokio::test(start_paused = true)]
async fn a_goal_without_a_check_is_unconfirmed() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    let output = story.test(vec![open(), act("pay the cart")]).await;
    assert_eq!(
        (output.status, intents(&output)),
        (Status::Passed, vec![Intent::Unconfirmed])
    );
    assert!(!goal_step(&output).verified);
}

#[tokio::test(start_paused = true)]
async fn the_test_learns_how_the_goal_went() {
    let (_, answer) = Story::of(shop())
        .plan(taps(&["Pay now"]))
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            let answer = worker.call(act("pay the cart")).await;
            worker.done(TestOutcome::Passed {}).await;
            answer
        })
        .await;
    let value = json!({
        "summary": "done", "modelCalls": 0, "decisions": 1, "actions": 1,
        "cache": {"mode": "missed", "reason": "no-entry"},
    });
    assert_eq!(answer, CallResult::Ok { value });
}

#[tokio::test(start_paused = true)]
async fn a_replay_whose_effect_is_gone_fails_the_test_and_is_evicted() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    story.test(paid()).await;
    assert_eq!(story.shelf.len(), 1);
    // The button does nothing any more; the executor believes that all is well.
    let broken = FakePage::new(vec![screen(
        "http://shop.test/",
        "Cart",
        vec![node(2, "button", "Pay now")],
    )]);
    let again = story.again(broken).plan(says(passed("looks fine")));
    let output = again.test(paid()).await;
    assert_eq!(
        (output.status, code(&output)),
        (Status::Failed, ErrorCode::AssertionFailed)
    );
    let cache = goal_step(&output).cache.clone().unwrap();
    assert_eq!(
        (cache.mode, cache.reason),
        (CacheMode::HandedOff, Some(CacheReason::EndMismatch))
    );
    assert_eq!(intents(&output), [Intent::Evict]);
    assert_eq!(again.shelf.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_renamed_button_is_handed_over_and_recorded_anew() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    story.test(paid()).await;
    let renamed = || {
        FakePage::new(vec![
            screen(
                "http://shop.test/",
                "Cart",
                vec![node(1, "button", "Help"), node(2, "button", "Check out")],
            ),
            screen(
                "http://shop.test/done",
                "Thanks",
                vec![node(9, "status", "Paid")],
            ),
        ])
        .on(0, NodeId(2), Gesture::Tap, 1)
    };
    let again = story.again(renamed()).plan(taps(&["Check out"]));
    let output = again.test(paid()).await;
    assert_eq!(
        (output.status, intents(&output)),
        (Status::Passed, vec![Intent::Write])
    );
    let cache = goal_step(&output).cache.clone().unwrap();
    assert_eq!(
        (cache.mode, cache.reason),
        (CacheMode::Missed, Some(CacheReason::TargetNotFound))
    );
    let third = again.again(renamed()).plan(never()).test(paid()).await;
    assert_eq!(
        (third.status, intents(&third)),
        (Status::Passed, vec![Intent::Keep])
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_records_and_never_replays() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    story.test(paid()).await;
    let mut retry = story.again(shop());
    retry.try_ = 1;
    let output = retry.test(paid()).await;
    let cache = goal_step(&output).cache.clone().unwrap();
    assert_eq!(
        (cache.mode, cache.reason),
        (CacheMode::Missed, Some(CacheReason::Retry))
    );
    assert_eq!(goal_step(&output).usage.decisions, 1);
    // It is the flow that is there already.
    assert_eq!(
        (intents(&output), output.staged[0].generation),
        (vec![Intent::NoChange], 1)
    );
}

#[tokio::test(start_paused = true)]
async fn modes_of_the_cache() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    story.test(paid()).await;
    let mut read_only = story.again(shop()).plan(never());
    read_only.cache = v1::CacheMode::ReadOnly;
    let output = read_only.test(paid()).await;
    assert_eq!(
        goal_step(&output).cache.as_ref().unwrap().mode,
        CacheMode::Replayed
    );
    assert!(output.staged.is_empty());

    let mut off = read_only.again(shop()).plan(taps(&["Pay now"]));
    off.cache = v1::CacheMode::Off;
    let output = off.test(paid()).await;
    assert_eq!(
        goal_step(&output).cache.as_ref().unwrap().mode,
        CacheMode::Off
    );
    assert!(output.staged.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_costs_a_live_run_and_no_more() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    story
        .shelf
        .away
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let output = story.test(paid()).await;
    assert_eq!(output.status, Status::Passed);
    assert_eq!(
        goal_step(&output).cache.as_ref().unwrap().reason,
        Some(CacheReason::StoreUnavailable)
    );
}

#[tokio::test(start_paused = true)]
async fn only_what_was_verified_before_the_first_failure_is_kept() {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    let mut ops = paid();
    ops.extend([act("ask for help"), tap("Missing")]);
    let output = story.test(ops).await;
    assert_eq!(output.status, Status::Failed);
    assert_eq!(intents(&output), [Intent::Write, Intent::Unconfirmed]);
}

#[tokio::test(start_paused = true)]
async fn verdicts_are_checked() {
    let verdict = |status, code| {
        says(Ok(Verdict {
            status,
            summary: "no".to_owned(),
            code,
        }))
    };
    for (plan, expected, status) in [
        (
            verdict(VerdictStatus::Failed, None),
            ErrorCode::ActionFailed,
            StepStatus::Failed,
        ),
        (
            verdict(
                VerdictStatus::Blocked,
                Some(ErrorCode::AutomationUnsupported),
            ),
            ErrorCode::AutomationUnsupported,
            StepStatus::Blocked,
        ),
        // Forged.
        (
            verdict(VerdictStatus::Blocked, Some(ErrorCode::StepTimeout)),
            ErrorCode::ModelOutputInvalid,
            StepStatus::Failed,
        ),
        (
            says(Err(StepError::Stop(Problem::new(
                ErrorCode::Cancelled,
                "x",
            )))),
            ErrorCode::ModelOutputInvalid,
            StepStatus::Failed,
        ),
    ] {
        let output = Story::of(shop()).plan(plan).test(paid()).await;
        assert_eq!(
            (code(&output), output.record.steps[1].status),
            (expected, status)
        );
        assert!(!output.stop_run);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_ends_when_its_time_or_budget_is_spent() {
    let idle: Plan = Arc::new(|_| Box::pin(std::future::pending()));
    let mut call = goal("pay the cart");
    call.timeout_ms = Some(2000);
    let output = Story::of(shop())
        .plan(idle)
        .test(vec![open(), Op::AgentAct(call)])
        .await;
    assert_eq!(
        (code(&output), output.record.duration_ms),
        (ErrorCode::StepTimeout, 2000)
    );
    assert_eq!(output.record.steps[1].status, StepStatus::TimedOut);

    let mut call = goal("pay the cart");
    call.max_steps = Some(1);
    let output = Story::of(shop())
        .plan(taps(&["Help", "Pay now"]))
        .test(vec![open(), Op::AgentAct(call)])
        .await;
    assert_eq!(code(&output), ErrorCode::StepBudgetExhausted);
    assert_eq!(output.usage.actions, 1);
    assert_eq!(output.record.steps[1].status, StepStatus::Blocked);

    let mut call = goal("pay the cart");
    call.max_model_calls = Some(1);
    let output = Story::of(shop())
        .plan(taps(&["Help", "Pay now"]))
        .test(vec![open(), Op::AgentAct(call)])
        .await;
    assert_eq!(
        (code(&output), output.usage.decisions),
        (ErrorCode::StepBudgetExhausted, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_aborts_ends_the_run() {
    let stop = Problem::new(
        ErrorCode::AutomationUnsupported,
        "asked, though everything should replay",
    );
    let mut story = Story::of(shop()).plan(says(Err(StepError::Stop(stop))));
    story.agent = agent(ExecutorKind::Abort);
    let output = story.test(paid()).await;
    assert!(output.stop_run);
    assert_eq!(
        (output.status, intents(&output)),
        (Status::Failed, vec![Intent::NoChange])
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_there_stops_the_run() {
    let asks: Plan = Arc::new(|context| {
        Box::pin(async move {
            let request = ModelRequest {
                system: String::new(),
                messages: Vec::new(),
                tools: Vec::new(),
                force_tool: false,
                max_output_tokens: 1,
                continues: false,
                timeout: seconds(9),
            };
            context.harness.complete(Tier::Act, &request).await?;
            passed("asked")
        })
    });
    let mut story = Story::of(shop()).plan(asks);
    let output = story.test(vec![open(), act("pay")]).await;
    assert_eq!(
        (code(&output), output.stop_run),
        (ErrorCode::ModelUnavailable, true)
    );

    story.agent.model = Some(Model::new("echo", "http://m.test"));
    let output = story.test(vec![open(), act("pay")]).await;
    assert_eq!((output.status, output.stop_run), (Status::Passed, false));
    let usage = output.usage;
    assert_eq!(
        (
            usage.model_calls,
            usage.input_tokens,
            usage.cached_tokens,
            usage.output_tokens
        ),
        (1, 10, 4, 2)
    );

    // Who declines is not asked again, though what it read is to be paid.
    story.agent.model = Some(Model::new("coy", "http://m.test"));
    let output = story.test(vec![open(), act("pay")]).await;
    assert_eq!(
        (code(&output), output.usage.input_tokens),
        (ErrorCode::ModelOutputInvalid, 10)
    );
}

#[tokio::test(start_paused = true)]
async fn a_goal_gets_its_secrets_by_name_and_only_those_it_declares() {
    use muster_proto::action::Typed;
    let types: Plan = Arc::new(|context| {
        Box::pin(async move {
            assert_eq!(
                context.params,
                &json!({"password": {"kind": "secret", "name": "pw"}, "note": "<secret:token>"})
            );
            let screen = context.harness.observe().await?;
            let field = screen
                .nodes()
                .iter()
                .find(|node| node.name == "Password")
                .expect("it is there");
            let secret = |name: &str| Action::Type {
                target: field.id,
                value: Typed::Secret {
                    name: name.to_owned(),
                },
                replace: true,
            };
            let denied = context.harness.perform(secret("token")).await;
            assert!(
                matches!(
                    denied,
                    Err(StepError::Refused {
                        code: ErrorCode::PolicyDenied,
                        ..
                    })
                ),
                "{denied:?}"
            );
            let done = context.harness.perform(secret("pw")).await?;
            assert_eq!(
                done.after
                    .node(field.id)
                    .and_then(|field| field.value.as_deref()),
                Some("<secure>")
            );
            passed("typed")
        })
    });
    let mut call = goal("log in");
    call.params = json!({"password": {"kind": "secret", "name": "pw"}, "note": "tok-tok-tok"});
    let output = Story::of(shop())
        .plan(types)
        .test(vec![open(), Op::AgentAct(call)])
        .await;
    assert_eq!(output.status, Status::Passed, "{:?}", output.problem);
    assert_eq!(
        goal_step(&output).actions,
        [r#"type <secret:pw> into textbox "Password""#]
    );
}

#[tokio::test(start_paused = true)]
async fn later_goals_know_what_was_done() {
    let told = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&told);
    let plan: Plan = Arc::new(move |context| {
        context.ledger.clone_into(&mut heard.lock().unwrap());
        Box::pin(async { passed("paid with the first card") })
    });
    let story = Story::of(shop()).plan(plan);
    story
        .test(vec![open(), act("pay the cart"), act("look around")])
        .await;
    assert_eq!(
        *told.lock().unwrap(),
        "1. open the app\n2. agent.act \"pay the cart\": paid with the first card\n"
    );
}

#[tokio::test(start_paused = true)]
async fn bad_calls_are_refused() {
    let mut deep = json!(1);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    for change in [
        (|call: &mut AgentCall| call.instruction = " ".to_owned()) as fn(&mut AgentCall),
        |call| call.instruction = "x".repeat(9000),
        |call| call.agent = Some("nobody".to_owned()),
        |call| call.max_steps = Some(0),
        |call| call.params = json!({"text": "x".repeat(70_000)}),
    ] {
        let mut call = goal("pay");
        change(&mut call);
        let output = Story::of(shop())
            .test(vec![open(), Op::AgentAct(call)])
            .await;
        assert_eq!(code(&output), ErrorCode::InvalidArgument);
    }
    let mut call = goal("pay");
    call.params = deep;
    assert_eq!(
        code(
            &Story::of(shop())
                .test(vec![open(), Op::AgentAct(call)])
                .await
        ),
        ErrorCode::InvalidArgument
    );
}

#[tokio::test(start_paused = true)]
async fn a_recording_that_would_hold_a_secret_is_refused() {
    use muster_proto::action::Typed;
    let leaks: Plan = Arc::new(|context| {
        Box::pin(async move {
            let screen = context.harness.observe().await?;
            for (name, text) in [("Name", Some("tok-tok-tok")), ("Pay now", None)] {
                let target = screen
                    .nodes()
                    .iter()
                    .find(|node| node.name == name)
                    .expect("it is there")
                    .id;
                let action = match text {
                    Some(text) => Action::Type {
                        target,
                        value: Typed::Literal {
                            text: text.to_owned(),
                        },
                        replace: true,
                    },
                    None => Action::Tap { target },
                };
                context.harness.perform(action).await?;
            }
            passed("paid")
        })
    });
    let output = Story::of(shop()).plan(leaks).test(paid()).await;
    assert_eq!(output.status, Status::Passed, "{:?}", output.problem);
    assert_eq!(
        intents(&output),
        [Intent::NotWritten],
        "{:?}",
        output.staged
    );
    let told = serde_json::to_string(&output.record).unwrap();
    assert!(!told.contains("tok-tok-tok"), "{told}");
}

/// A goal and, in this order, what the worker tells beside it and a check that passes.
async fn checked_after(frame: Option<FromWorker>) -> AttemptOutput {
    let story = Story::of(shop()).plan(taps(&["Pay now"]));
    let (output, ()) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.call(act("pay the cart")).await;
            if let Some(frame) = frame {
                worker.say(frame).await;
            }
            let checked = worker.call(sees("status", "Paid")).await;
            assert_eq!(checked, CallResult::Ok { value: Value::Null });
            let problem = Problem::new(ErrorCode::AssertionFailed, "expected 1 to be 2");
            worker.done(TestOutcome::Failed { problem }).await;
        })
        .await;
    output
}

#[tokio::test(start_paused = true)]
async fn a_check_after_a_failure_outside_of_steps_verifies_nothing() {
    let before = checked_after(None).await;
    assert_eq!(intents(&before), [Intent::Write]);
    for frame in [
        FromWorker::Failed {},
        FromWorker::BodyEnded { failed: true },
    ] {
        let output = checked_after(Some(frame)).await;
        assert_eq!(intents(&output), [Intent::Unconfirmed]);
        assert!(!goal_step(&output).verified);
    }
    // A hook's check of a body that went well is a check like any other.
    let hook = checked_after(Some(FromWorker::BodyEnded { failed: false })).await;
    assert_eq!(intents(&hook), [Intent::Write]);
}

#[tokio::test(start_paused = true)]
async fn a_check_after_the_tests_time_verifies_nothing() {
    let mut story = Story::of(shop()).plan(taps(&["Pay now"]));
    story.timeouts.test_ms = 3000;
    let (output, ()) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            worker.call(act("pay the cart")).await;
            let ToWorker::Abandon { problem } = worker.next().await else {
                panic!("the test's time is up")
            };
            worker.call(sees("status", "Paid")).await;
            worker.done(TestOutcome::Failed { problem }).await;
        })
        .await;
    assert_eq!(intents(&output), [Intent::Unconfirmed]);
}

#[tokio::test(start_paused = true)]
async fn an_executor_whose_step_is_over_cannot_pass_it() {
    let stubborn: Plan = Arc::new(|context| {
        Box::pin(async move {
            let screen = context.harness.observe().await?;
            for _ in 0..2 {
                let tap = Action::Tap {
                    target: screen.nodes()[0].id,
                };
                let _ = context.harness.perform(tap).await;
            }
            passed("fine")
        })
    });
    let mut call = goal("ask for help");
    call.max_steps = Some(1);
    let output = Story::of(shop())
        .plan(stubborn)
        .test(vec![open(), Op::AgentAct(call)])
        .await;
    assert_eq!(code(&output), ErrorCode::StepBudgetExhausted);
    assert_eq!(output.record.steps[1].status, StepStatus::Blocked);
}

#[tokio::test(start_paused = true)]
async fn a_replay_does_not_wait_for_what_changed_nothing_when_it_was_recorded() {
    let story = Story::of(shop()).plan(taps(&["Help", "Pay now"]));
    let live = story.test(paid()).await;
    assert_eq!(intents(&live), [Intent::Write]);
    let replayed = story.again(shop()).plan(never()).test(paid()).await;
    assert_eq!(intents(&replayed), [Intent::Keep]);
    assert!(
        live.record.duration_ms >= 2000,
        "{}",
        live.record.duration_ms
    );
    assert!(
        replayed.record.duration_ms < 600,
        "{}",
        replayed.record.duration_ms
    );
}

#[tokio::test(start_paused = true)]
async fn a_look_up_ends_with_its_step() {
    let story = Story::of(shop());
    story
        .shelf
        .hangs
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let mut call = goal("pay the cart");
    call.timeout_ms = Some(1000);
    let output = story.test(vec![open(), Op::AgentAct(call)]).await;
    assert_eq!(
        (code(&output), output.record.duration_ms),
        (ErrorCode::StepTimeout, 1000)
    );
    assert!(output.staged.is_empty());
}
