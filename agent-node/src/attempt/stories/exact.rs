//! Steps that no model touches.

use muster_engine::EngineError;
use muster_engine::page::{Input, Sink};
use muster_proto::step::StepStatus;
use muster_suite::op::{BrowserMatcher, FillValue, Read};

use super::told::*;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_test_without_a_goal_passes_and_is_written_down() {
    let story = Story::of(shop());
    let name = FillValue::Plain {
        text: "Ada".to_owned(),
    };
    let url = BrowserMatcher::HaveUrl {
        want: TextMatch::Exact {
            text: "/done".to_owned(),
        },
    };
    let output = story
        .test(vec![
            open(),
            fill("Name", name),
            tap("Pay now"),
            sees("status", "Paid"),
            Op::ExpectBrowser {
                matcher: url,
                negated: false,
                soft: false,
                timeout_ms: None,
            },
        ])
        .await;
    assert_eq!((output.status, &output.problem), (Status::Passed, &None));
    let told: Vec<_> = output
        .record
        .steps
        .iter()
        .map(|step| (step.title.as_str(), step.status))
        .collect();
    assert_eq!(
        told,
        [
            ("open the app", StepStatus::Passed),
            (r#"fill textbox "Name" with "Ada""#, StepStatus::Passed),
            (r#"tap button "Pay now""#, StepStatus::Passed),
            (r#"expect status "Paid" to be visible"#, StepStatus::Passed),
            (r#"expect URL to be "/done""#, StepStatus::Passed),
        ]
    );
    let fill = Gesture::Fill(Input::Plain("Ada".to_owned()));
    assert_eq!(
        story.page.performed(),
        [(NodeId(4), fill), (NodeId(2), Gesture::Tap)]
    );
    assert!(output.staged.is_empty() && output.record.screen_at_failure.is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_works_before_something_is_open() {
    for op in [
        tap("Help"),
        sees("status", "Paid"),
        Op::AppBack {},
        act("pay"),
    ] {
        assert_eq!(
            code(&Story::of(shop()).test(vec![op]).await),
            ErrorCode::AppNotOpen
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_button_is_waited_for_and_then_explained() {
    let story = Story::of(shop());
    let output = story.test(vec![open(), tap("Pay")]).await;
    let problem = output.problem.unwrap();
    assert_eq!(problem.code, ErrorCode::LocatorNotFound);
    assert_eq!(
        problem.message,
        r#"no element matches role "button" named "Pay" (3 buttons: "Help", "Pay now", "Locked"); names match whole, use exact: false (waited 30000 ms)"#
    );
    assert_eq!(
        problem.near[0],
        r#"getByRole("button", { name: "Pay now" })"#
    );
    let screen = output.record.screen_at_failure.unwrap();
    assert!(screen.contains(r#"#n2 button "Pay now""#), "{screen}");
    assert_eq!(output.record.duration_ms / 1000, 30);
}

#[tokio::test(start_paused = true)]
async fn a_late_button_is_found_and_a_stale_one_looked_for_again() {
    let empty = || screen("http://shop.test/", "Loading", Vec::new());
    let full = || {
        screen(
            "http://shop.test/",
            "Cart",
            vec![node(7, "button", "Pay now")],
        )
    };
    let story = Story::of(FakePage::new(vec![empty(), full()]).after_looks(0, 4, 1));
    story.page.fail_next(EngineError::NodeStale {
        id: NodeId(7),
        was: "button".to_owned(),
    });
    let output = story.test(vec![open(), tap("Pay now")]).await;
    assert_eq!(output.status, Status::Passed, "{:?}", output.problem);
    assert_eq!(story.page.performed(), [(NodeId(7), Gesture::Tap)]);
}

#[tokio::test(start_paused = true)]
async fn an_action_that_may_have_been_done_is_not_repeated() {
    let story = Story::of(shop());
    story.page.fail_next(EngineError::MayHaveCommitted {
        what: "tap".to_owned(),
        why: "the page went".to_owned(),
    });
    let output = story.test(vec![open(), tap("Pay now")]).await;
    assert_eq!(code(&output), ErrorCode::ActionFailed);
    assert!(story.page.performed().is_empty());
}

#[tokio::test(start_paused = true)]
async fn two_matches_are_refused_at_once() {
    let twins = vec![node(1, "button", "Pay now"), node(2, "button", "Pay now")];
    let story = Story::of(FakePage::new(vec![screen(
        "http://shop.test/",
        "Cart",
        twins,
    )]));
    let output = story.test(vec![open(), tap("Pay now")]).await;
    assert_eq!(code(&output), ErrorCode::LocatorAmbiguous);
    assert_eq!(output.record.duration_ms, 0);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_fails_tells_what_it_saw() {
    let output = Story::of(shop())
        .test(vec![open(), sees("status", "Paid")])
        .await;
    let problem = output.problem.unwrap();
    assert_eq!(problem.code, ErrorCode::AssertionFailed);
    assert_eq!(problem.expected.as_deref(), Some("to be visible"));
    assert_eq!(problem.actual.as_deref(), Some("no element matches"));
    assert!(
        problem
            .message
            .contains("after 5000 ms; no element matches role \"status\" named \"Paid\""),
        "{problem}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dead_address_is_an_unreachable_app() {
    let output = Story::of(shop())
        .test(vec![Op::AppOpen {
            path: "/nowhere".to_owned(),
        }])
        .await;
    assert_eq!(code(&output), ErrorCode::AppUnreachable);
    let scripts = Op::BrowserGoto {
        url: "javascript:alert(1)".to_owned(),
        timeout_ms: None,
    };
    assert_eq!(
        code(&Story::of(shop()).test(vec![scripts]).await),
        ErrorCode::PolicyDenied
    );
}

#[tokio::test(start_paused = true)]
async fn a_secret_reaches_its_field_and_nothing_else() {
    let story = Story::of(shop());
    let output = story
        .test(vec![
            open(),
            fill(
                "Password",
                FillValue::Secret {
                    name: "pw".to_owned(),
                },
            ),
            // Somebody types it into an open field too.
            fill(
                "Name",
                FillValue::Plain {
                    text: "hunter22".to_owned(),
                },
            ),
            tap("Missing"),
        ])
        .await;
    let typed = Gesture::Fill(Input::Secret(
        Secret::new("hunter22"),
        Sink {
            origins: Some(vec!["http://shop.test".to_owned()]),
            ..Sink::default()
        },
    ));
    assert_eq!(story.page.performed()[0], (NodeId(5), typed));
    let record = serde_json::to_string(&output.record).unwrap();
    assert!(!record.contains("hunter22"), "{record}");
    let screen = output.record.screen_at_failure.unwrap();
    assert!(screen.contains(r#""Password" value=<secure>"#), "{screen}");
    assert!(screen.contains(r#""Name" value="<secret:pw>""#), "{screen}");

    let unknown = fill(
        "Password",
        FillValue::Secret {
            name: "nope".to_owned(),
        },
    );
    assert_eq!(
        code(&Story::of(shop()).test(vec![open(), unknown]).await),
        ErrorCode::SecretUnavailable
    );
}

#[tokio::test(start_paused = true)]
async fn reads_do_not_wait_and_keep_secure_fields_closed() {
    let story = Story::of(shop());
    let read = |role: &str, name: &str, what| Op::Read {
        locator: by_role(role, name),
        what,
    };
    let (_, answers) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            let mut answers = Vec::new();
            for op in [
                read("button", "Locked", Read::IsEnabled {}),
                read("button", "Nobody", Read::IsVisible {}),
                read("button", "Nobody", Read::Count {}),
                read("textbox", "Name", Read::InputValue {}),
                read("button", "Nobody", Read::TextContent {}),
                read("textbox", "Password", Read::InputValue {}),
            ] {
                answers.push(match worker.call(op).await {
                    CallResult::Ok { value } => Ok(value),
                    CallResult::Failed { problem, .. } => Err(problem.code),
                });
            }
            worker.done(TestOutcome::Passed {}).await;
            answers
        })
        .await;
    assert_eq!(
        answers,
        [
            Ok(false.into()),
            Ok(false.into()),
            Ok(0.into()),
            Ok("".into()),
            Err(ErrorCode::LocatorNotFound),
            Err(ErrorCode::PolicyDenied),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_move_that_ends_on_the_browsers_error_page_is_an_unreachable_app() {
    let page = FakePage::new(vec![
        screen("http://shop.test/", "Cart", Vec::new()),
        screen("chrome-error://chromewebdata/", "shop.test", Vec::new()),
    ]);
    let story = Story::of(page);
    let shown = Arc::clone(&story.page);
    let (output, ()) = story
        .run(|mut worker| async move {
            worker.next().await;
            worker.call(open()).await;
            shown.show(1);
            let CallResult::Failed { problem, .. } = worker.call(Op::BrowserReload {}).await else {
                panic!("the app is gone")
            };
            worker.done(TestOutcome::Failed { problem }).await;
        })
        .await;
    assert_eq!(code(&output), ErrorCode::AppUnreachable);
}
