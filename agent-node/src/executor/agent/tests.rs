//! Stories of the loop and the judge with a model that says what the test wrote.

use muster_proto::code::ErrorCode;
use muster_proto::step::EventKind;
use muster_proto::verdict::{Answer, Verdict, VerdictStatus};
use muster_providers::model::{Message, ModelReply, ReplyEnd, TokenUsage, ToolCall};
use muster_suite::op::Vision;
use serde_json::{Value, json};

use super::AgentExecutor;
use crate::executor::sketch::{App, FakeHarness};
use crate::executor::{Executor, StepContext};
use crate::harness::StepError;

const EXECUTOR: AgentExecutor = AgentExecutor { idle_looks: 6 };

const DOOR: &str = r#"
== door /login "Log in"
main
  heading "Log in"
  textbox "Email"
  textbox "Password" secure
  button "Log in" -> home
  button "Help"
  link "About us" href=http://app/about
  text "Members only"

== home /home "Home"
main
  heading "Welcome"
"#;

fn says(calls: &[(&str, Value)]) -> ModelReply {
    let calls = calls
        .iter()
        .enumerate()
        .map(|(index, (name, input))| ToolCall {
            id: format!("c{index}"),
            name: (*name).to_owned(),
            input: input.to_string(),
        });
    ModelReply {
        text: String::new(),
        calls: calls.collect(),
        usage: Some(TokenUsage::default()),
        requests: 1,
        ..ModelReply::default()
    }
}

fn harness(replies: Vec<ModelReply>) -> FakeHarness {
    FakeHarness::new(App::parse(DOOR), "door").replies(replies)
}

fn context<'a>(harness: &'a FakeHarness, params: &'a Value) -> StepContext<'a> {
    StepContext {
        harness,
        instruction: "Log in",
        params,
        agent_context: "",
        ledger: "",
        replayed: &[],
        handed_off: None,
        vision: Vision::Off,
    }
}

async fn run(harness: &FakeHarness, params: &Value) -> Result<Verdict, StepError> {
    EXECUTOR.run_step(&context(harness, params)).await
}

/// The texts that the model got as results, of its last request.
fn results(harness: &FakeHarness) -> Vec<String> {
    let asked = harness.requests();
    let texts = asked
        .last()
        .unwrap()
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { text, .. } => Some(text.clone()),
            _ => None,
        });
    texts.collect()
}

fn id(harness: &FakeHarness, role: &str, name: &str) -> String {
    harness.id(role, name).to_string()
}

#[tokio::test]
async fn a_goal_is_reached_by_calls_and_secrets_go_by_name() {
    let drawn = harness(Vec::new());
    let [email, password, button] = [
        ("textbox", "Email"),
        ("textbox", "Password"),
        ("button", "Log in"),
    ]
    .map(|(role, name)| id(&drawn, role, name));
    let drawn = drawn.replies([
        says(&[
            (
                "act",
                json!({"do": "type", "target": email, "value": "a@b.c"}),
            ),
            ("type_secret", json!({"target": password, "name": "pw"})),
        ]),
        says(&[("tap", json!({"target": button}))]),
        says(&[(
            "complete_step",
            json!({"status": "passed", "summary": "logged in", "errorCode": "ACTION_FAILED"}),
        )]),
    ]);
    let params = json!({"password": {"kind": "secret", "name": "pw"}});
    let verdict = run(&drawn, &params).await.unwrap();
    assert_eq!(
        (verdict.status, verdict.code),
        (VerdictStatus::Passed, None)
    );
    assert_eq!(
        drawn.done(),
        [
            "type \"a@b.c\" into textbox \"Email\"",
            "type <pw> into textbox \"Password\"",
            "tap button \"Log in\""
        ]
    );
    let told = results(&drawn);
    assert!(
        told[0].starts_with("done; the screen changed:") && told[0].contains("changed"),
        "{}",
        told[0]
    );
    assert!(told[2].contains("heading \"Welcome\""), "{}", told[2]);
    let offered = &drawn.requests()[0].tools;
    assert!(
        offered
            .iter()
            .any(|tool| tool.schema.to_string().contains("type_secret"))
    );
}

#[tokio::test]
async fn refusals_are_told_and_five_in_a_row_leave_only_the_verdict() {
    let bad = |field: &str| says(&[("tap", json!({ field: "#pay" }))]);
    let fields = ["selector", "css", "xpath", "text", "point"];
    let mut replies: Vec<ModelReply> = fields.into_iter().map(bad).collect();
    replies.push(says(&[("tap", json!({"target": "n1"}))]));
    replies.push(says(&[(
        "complete_step",
        json!({"status": "blocked", "summary": "no way", "errorCode": "STEP_TIMEOUT"}),
    )]));
    replies.push(says(&[(
        "complete_step",
        json!({"status": "blocked", "summary": "no way", "errorCode": "AUTOMATION_UNSUPPORTED"}),
    )]));
    let drawn = harness(replies);
    let verdict = run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(
        (verdict.status, verdict.code),
        (
            VerdictStatus::Blocked,
            Some(ErrorCode::AutomationUnsupported)
        )
    );
    assert!(drawn.done().is_empty());
    let told = results(&drawn);
    assert!(told[2].contains("3 calls in a row failed"), "{}", told[2]);
    assert_eq!(told[5], "refused: only complete_step is left");
    assert!(
        told[6].starts_with("refused: blocked needs an errorCode"),
        "{}",
        told[6]
    );
    let offered: Vec<usize> = drawn
        .requests()
        .iter()
        .map(|request| request.tools.len())
        .collect();
    assert_eq!(offered[5..], [1, 1, 1]);
    assert!(offered[4] > 1);
}

#[tokio::test]
async fn a_model_that_only_talks_ends_without_conclusion() {
    let talk = ModelReply {
        text: "I would tap it.".to_owned(),
        calls: Vec::new(),
        usage: Some(TokenUsage::default()),
        requests: 1,
        ..ModelReply::default()
    };
    let drawn = harness(vec![talk; 30]);
    let verdict = run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(
        (verdict.status, verdict.code),
        (VerdictStatus::Failed, Some(ErrorCode::StepNoConclusion))
    );
    // Two turns before its end only the verdict is offered.
    let offered: Vec<usize> = drawn
        .requests()
        .iter()
        .map(|request| request.tools.len())
        .collect();
    assert_eq!(offered[offered.len() - 2..], [1, 1]);
}

#[tokio::test]
async fn a_forced_model_that_goes_on_ends_without_conclusion() {
    let drawn = harness(Vec::new());
    let help = id(&drawn, "button", "Help");
    let drawn = drawn.replies((0..12).map(|_| says(&[("tap", json!({"target": help}))])));
    let verdict = run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(
        (verdict.status, verdict.code),
        (VerdictStatus::Failed, Some(ErrorCode::StepNoConclusion))
    );
    assert_eq!(drawn.done().len(), 5);
    assert!(results(&drawn)[0].contains("no visible effect"));
}

#[tokio::test]
async fn a_judgment_is_repaired_once() {
    let good = || {
        says(&[(
            "judge",
            json!({"answer": "fails", "explanation": "there is a form"}),
        )])
    };
    let bad = || says(&[("judge", json!({"answer": "maybe", "explanation": "hm"}))]);
    let drawn = harness(vec![bad(), good()]);
    let judgment = EXECUTOR
        .judge(&context(&drawn, &Value::Null))
        .await
        .unwrap();
    assert_eq!(judgment.answer, Answer::Fails);
    let Some(Message::User { text, .. }) = drawn.requests()[1].messages.last().cloned() else {
        panic!("no repair")
    };
    assert!(
        text.contains("rejected") && text.contains("maybe"),
        "{text}"
    );

    let drawn = harness(vec![bad(), bad(), good()]);
    let Err(StepError::Stop(problem)) = EXECUTOR.judge(&context(&drawn, &Value::Null)).await else {
        panic!("accepted")
    };
    assert_eq!(problem.code, ErrorCode::ModelOutputInvalid);
    assert_eq!(drawn.requests().len(), 2);
}

#[tokio::test]
async fn extracted_data_fits_its_schema_or_is_absent() {
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"], "additionalProperties": false});
    let found = says(&[(
        "extract",
        json!({"found": true, "data": {"title": "Log in"}}),
    )]);
    let unfit = says(&[("extract", json!({"found": true, "data": {"title": 7}}))]);
    let absent = says(&[("extract", json!({"found": false}))]);
    let cut = ModelReply {
        end: ReplyEnd::Cut,
        ..says(&[])
    };
    let drawn = harness(vec![
        unfit.clone(),
        found,
        cut,
        absent,
        unfit.clone(),
        unfit,
    ]);
    let nothing = Value::Null;
    let context = context(&drawn, &nothing);
    let extract = || EXECUTOR.extract(&context, &schema);
    assert_eq!(extract().await, Ok(Some(json!({"title": "Log in"}))));
    assert_eq!(extract().await, Ok(None));
    let repair = format!("{:?}", drawn.requests()[3].messages);
    assert!(repair.contains("cut at 8192 tokens"), "{repair}");
    assert!(
        matches!(extract().await, Err(StepError::Stop(problem)) if problem.code == ErrorCode::ModelOutputInvalid)
    );
}

fn passes() -> ModelReply {
    says(&[(
        "complete_step",
        json!({"status": "passed", "summary": "done"}),
    )])
}

/// Pictures in a request, and whether `screenshot` was offered with it.
fn seen(harness: &FakeHarness, request: usize) -> (usize, bool) {
    let request = harness.requests()[request].clone();
    let pictures = request.messages.iter().map(|message| match message {
        Message::User { images, .. } => images.len(),
        _ => 0,
    });
    let offered = request.tools.iter().any(|tool| tool.name == "screenshot");
    (pictures.sum(), offered)
}

#[tokio::test]
async fn a_model_that_sees_gets_pictures_until_pixels_close() {
    let ask = || says(&[("screenshot", json!({})), ("observe", json!({}))]);
    let drawn = harness(vec![ask(), passes()]).seeing(false);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(seen(&drawn, 0), (0, true));
    assert_eq!(seen(&drawn, 1), (1, true));
    // The picture stands behind all answers of its round.
    let last = drawn.requests()[1].messages.last().cloned();
    assert!(matches!(last, Some(Message::User { images, .. }) if images.len() == 1));

    let drawn = harness(vec![ask(), passes()]).seeing(true);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(seen(&drawn, 1), (0, false));
    assert!(results(&drawn)[0].contains("POLICY_DENIED"));

    let drawn = harness(vec![ask(), passes()]);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(seen(&drawn, 0), (0, false));
    assert!(results(&drawn)[0].starts_with("refused"));
}

#[tokio::test]
async fn a_screen_without_anything_to_act_on_opens_with_a_picture() {
    let canvas = App::parse("== door /draw \"Draw\"\nmain\n  text \"A canvas\"\n");
    let drawn = FakeHarness::new(canvas, "door")
        .replies([passes()])
        .seeing(false);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(seen(&drawn, 0), (1, true));
    let drawn = harness(vec![passes()]).seeing(false);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(seen(&drawn, 0), (0, true));
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_shortened_once() {
    let look = || says(&[("observe", json!({}))]);
    let drawn = harness(vec![passes()]).overflowing(1);
    assert_eq!(
        run(&drawn, &Value::Null).await.unwrap().status,
        VerdictStatus::Passed
    );
    let drawn = harness(vec![look(), passes()]).overflowing(2);
    let verdict = run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(
        (verdict.status, verdict.code),
        (VerdictStatus::Blocked, Some(ErrorCode::ContextOverflow))
    );
    assert_eq!(drawn.requests().len(), 2);
}

#[tokio::test]
async fn an_action_of_unknown_outcome_is_not_repeated_before_a_look() {
    let drawn = harness(Vec::new()).unsure(1);
    let help = id(&drawn, "button", "Help");
    let tap = || ("tap", json!({"target": help}));
    let drawn = drawn.replies([
        says(&[tap(), tap()]),
        says(&[("observe", json!({})), tap()]),
        passes(),
    ]);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(drawn.done().len(), 2);
    let told = results(&drawn);
    assert!(told[0].starts_with("may have been done"), "{}", told[0]);
    assert!(
        told[1].starts_with("refused: the same action"),
        "{}",
        told[1]
    );
    assert!(told[3].starts_with("done"), "{}", told[3]);
    assert_eq!(
        drawn.events(),
        [
            (EventKind::Denied, "action.once".to_owned()),
            // The third tap of Help brought nothing either: a warning.
            (EventKind::Stalled, "loop.stalled".to_owned())
        ]
    );
}

#[tokio::test]
async fn calls_after_a_verdict_do_nothing() {
    let drawn = harness(Vec::new());
    let button = id(&drawn, "button", "Log in");
    let verdict = (
        "complete_step",
        json!({"status": "passed", "summary": "done"}),
    );
    let drawn = drawn.replies([says(&[verdict, ("tap", json!({"target": button}))])]);
    run(&drawn, &Value::Null).await.unwrap();
    assert!(drawn.done().is_empty());
    assert_eq!(drawn.requests().len(), 1);
}

#[tokio::test]
async fn an_oversized_call_is_refused() {
    let drawn = harness(Vec::new());
    let email = id(&drawn, "textbox", "Email");
    let long = json!({"target": email, "value": "x".repeat(64 * 1024)});
    let drawn = drawn.replies([says(&[("type", long)]), passes()]);
    run(&drawn, &Value::Null).await.unwrap();
    assert!(drawn.done().is_empty());
    assert!(results(&drawn)[0].contains("takes at most 65536"));
    assert_eq!(
        drawn.events(),
        [(EventKind::Denied, "tool.schema".to_owned())]
    );
}

#[tokio::test]
async fn looking_without_end_leaves_only_the_verdict_and_is_noted() {
    let look = says(&[("observe", json!({}))]);
    let mut replies = vec![look; 6];
    replies.push(passes());
    let drawn = harness(replies);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(drawn.requests()[6].tools.len(), 1);
    assert_eq!(
        drawn.events(),
        [(EventKind::Stalled, "loop.stalled".to_owned())]
    );
}

#[tokio::test]
async fn a_forged_code_of_the_runner_is_no_reason() {
    let forged = || {
        says(&[(
            "complete_step",
            json!({"status": "failed", "summary": "out of time", "errorCode": "STEP_TIMEOUT"}),
        )])
    };
    let drawn = harness(vec![forged()]);
    let verdict = run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(verdict.code, Some(ErrorCode::ActionFailed));
}

#[tokio::test]
async fn a_part_of_a_screen_is_shown_and_never_stands_for_all_of_it() {
    let drawn = harness(Vec::new());
    let help = id(&drawn, "button", "Help");
    let whole = |text: &str| text.contains("Members only") && text.contains("About us");
    let drawn = drawn.replies([
        says(&[
            ("observe", json!({"query": "log in"})),
            ("observe", json!({"state": "editable"})),
            ("observe", json!({"state": "hidden"})),
            ("tap", json!({"target": help})),
        ]),
        says(&[(
            "complete_step",
            json!({"status": "passed", "summary": "looked"}),
        )]),
    ]);
    run(&drawn, &Value::Null).await.unwrap();
    let told = results(&drawn);
    assert!(
        told[0].contains("button \"Log in\"") && !told[0].contains("Help"),
        "{}",
        told[0]
    );
    assert!(
        told[1].contains("textbox \"Email\"") && !told[1].contains("button"),
        "{}",
        told[1]
    );
    assert!(
        told[2].starts_with("refused: the input of observe"),
        "{}",
        told[2]
    );
    assert_eq!(told[3], "done; no visible effect");
    // The whole screen of the beginning is still there.
    let asked = drawn.requests();
    let messages = &asked.last().unwrap().messages;
    assert!(
        messages
            .iter()
            .any(|message| matches!(message, Message::User { text, .. } if whole(text)))
    );
}

#[tokio::test]
async fn a_point_acts_on_the_control_there_or_on_the_bare_place() {
    let whole = [
        ("tap_at", json!({"x": 3, "y": 5})),
        ("type_at", json!({"x": 3, "y": 2, "value": "a@b.c"})),
        ("type_at", json!({"x": 3, "y": 99, "value": "hi"})),
        ("hover_at", json!({"x": 3, "y": 99})),
        ("select_at", json!({"x": 3, "y": 99, "value": "Red"})),
        ("tap_at", json!({"x": -3, "y": 5})),
    ];
    let drawn = harness(vec![
        says(&whole),
        says(&[(
            "complete_step",
            json!({"status": "passed", "summary": "done"}),
        )]),
    ])
    .seeing(false);
    run(&drawn, &Value::Null).await.unwrap();
    assert_eq!(
        drawn.done(),
        [
            "tap button \"Help\"",
            "type \"a@b.c\" into textbox \"Email\"",
            "Tap at 3,99",
            "type",
            "Hover at 3,99",
        ]
    );
    let told = results(&drawn);
    assert_eq!(told[4], "refused: there is no select at that point");
    assert!(
        told[5].starts_with("refused: the input of tap_at"),
        "{}",
        told[5]
    );
}

#[tokio::test]
async fn points_are_offered_to_models_that_see_while_pixels_are_open() {
    let over = || {
        says(&[(
            "complete_step",
            json!({"status": "passed", "summary": "done"}),
        )])
    };
    let offered = |drawn: FakeHarness| async move {
        run(&drawn, &Value::Null).await.unwrap();
        let tools = drawn.requests()[0].tools.clone();
        let act = tools.iter().find(|tool| tool.name == "act").unwrap();
        let verbs = act.schema["properties"]["do"]["enum"].as_array().unwrap();
        let pointing = verbs.iter().filter_map(Value::as_str);
        let pictures = tools.iter().filter(|tool| tool.name == "screenshot");
        (
            pointing.filter(|verb| verb.ends_with("_at")).count(),
            pictures.count(),
        )
    };
    assert_eq!(offered(harness(vec![over()])).await, (0, 0));
    assert_eq!(offered(harness(vec![over()]).seeing(false)).await, (5, 1));
    assert_eq!(offered(harness(vec![over()]).seeing(true)).await, (0, 0));
}

/// What a judgment is shown with `vision`: its text and how many pictures.
async fn shown(harness: &FakeHarness, vision: Vision) -> Result<(String, usize), StepError> {
    let context = StepContext {
        vision,
        ..context(harness, &Value::Null)
    };
    EXECUTOR.judge(&context).await?;
    let request = harness.requests()[0].clone();
    let [Message::User { text, images }] = request.messages.as_slice() else {
        panic!("{:?}", request.messages)
    };
    Ok((text.clone(), images.len()))
}

#[tokio::test]
async fn a_judgment_goes_by_text_by_pictures_or_by_both() {
    let drawn = |closed| {
        let holds = json!({"answer": "holds", "explanation": "it stands there"});
        harness(vec![says(&[("judge", holds)])]).seeing(closed)
    };
    let text = "heading \"Log in\"";
    for (vision, written, pictures) in [
        (Vision::Off, true, 0),
        (Vision::Also, true, 1),
        (Vision::Only, false, 1),
    ] {
        let (told, images) = shown(&drawn(false), vision).await.unwrap();
        assert_eq!((told.contains(text), images), (written, pictures), "{told}");
    }

    let closed = drawn(true);
    let (told, images) = shown(&closed, Vision::Also).await.unwrap();
    assert!(told.contains(text) && images == 0, "{told}");
    let degraded = (EventKind::Noted, "visionDegraded".to_owned());
    assert_eq!(closed.events(), [degraded]);

    let refused = shown(&drawn(true), Vision::Only).await.unwrap_err();
    let StepError::Refused { code, message } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(code, ErrorCode::PolicyDenied);
    assert!(message.ends_with("no pixels"), "{message}");
}
