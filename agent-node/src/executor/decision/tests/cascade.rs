//! Keyless, then a scripted service, then a scripted model.

use std::collections::VecDeque;
use std::sync::Mutex;

use muster_proto::step::{EventKind, Tier};
use muster_providers::decision::{Decided, DecisionClient, DecisionError, DecisionRequest};
use muster_providers::model::{Message, ModelReply, ToolCall};
use serde_json::json;

use super::*;
use crate::executor::decision::{Chat, Service};

/// Needs a meaning that no word on the screen has: the built-in decider declines it.
const VAGUE: &str = "Get inside somehow";

/// Questions that one call answers, each by an option and its probability.
type Answers = Vec<(&'static str, &'static str, f64)>;

/// Answers in order, and keeps what it was asked. A question that is not scripted gets its last
/// option.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Result<Answers, DecisionError>>>,
    asked: Mutex<Vec<DecisionRequest>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<Answers, DecisionError>>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            ..Self::default()
        })
    }

    fn asked(&self) -> Vec<DecisionRequest> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl DecisionClient for Scripted {
    async fn decide(&self, request: &DecisionRequest) -> Result<Vec<Decided>, DecisionError> {
        self.asked.lock().unwrap().push(request.clone());
        let scripted = self
            .answers
            .lock()
            .unwrap()
            .pop_front()
            .expect("asked too often")?;
        let decided = request.questions.iter().map(|question| {
            let said = scripted.iter().find(|(name, ..)| *name == question.name);
            let (chosen, probability) = match said {
                Some((_, id, probability)) => {
                    let ids = question.options.iter().map(|option| &option.id);
                    let at = ids.clone().position(|offered| offered == id);
                    (
                        at.unwrap_or_else(|| {
                            panic!("{id} is none of {:?}", ids.collect::<Vec<_>>())
                        }),
                        *probability,
                    )
                }
                None => (question.options.len() - 1, 1.0),
            };
            Decided {
                chosen,
                probability,
                confidence: 0.9,
            }
        });
        Ok(decided.collect())
    }
}

fn sure(answers: &[(&'static str, &'static str)]) -> Result<Answers, DecisionError> {
    Ok(answers.iter().map(|(name, id)| (*name, *id, 1.0)).collect())
}

fn taps_open() -> Result<Answers, DecisionError> {
    sure(&[("operation", "tap"), ("tap_target", "e1")])
}

fn down() -> DecisionError {
    DecisionError::Failed {
        requests: 6,
        reason: "connection refused".to_owned(),
    }
}

/// A model's answer by the tool.
fn says(tool: &str, input: Value) -> ModelReply {
    ModelReply {
        end: Default::default(),
        text: String::new(),
        calls: vec![ToolCall {
            id: "c0".to_owned(),
            name: tool.to_owned(),
            input: input.to_string(),
        }],
        usage: None,
        cost_microusd: None,
        requests: 1,
    }
}

fn chooses(input: Value) -> ModelReply {
    says("choose", input)
}

/// A goal on a drawn screen, by keyless, this service and maybe a model.
struct Goal {
    screen: &'static str,
    goal: &'static str,
    gate: f64,
    chat: bool,
    writes: bool,
    replies: Vec<ModelReply>,
}

impl Goal {
    fn new() -> Self {
        Self {
            screen: DOOR,
            goal: VAGUE,
            gate: 0.0,
            chat: false,
            writes: false,
            replies: Vec::new(),
        }
    }

    /// With a model that answers so.
    fn chatting(replies: Vec<ModelReply>) -> Self {
        Self {
            chat: true,
            replies,
            ..Self::new()
        }
    }

    fn executor(&self, service: &Arc<Scripted>) -> DecisionExecutor {
        let gates = Gates {
            min_probability: self.gate,
            min_confidence: 0.0,
        };
        let service = Service::new(Arc::clone(service) as Arc<dyn DecisionClient>);
        let executor = DecisionExecutor::new(Arc::new(Keyless), Gates::default())
            .then(Arc::new(service), gates)
            .writing(self.writes);
        match self.chat {
            true => executor.then(Arc::new(Chat), Gates::default()),
            false => executor,
        }
    }

    fn harness(&self) -> FakeHarness {
        FakeHarness::new(App::parse(self.screen), "door").replies(self.replies.clone())
    }

    async fn reach(&self, service: &Arc<Scripted>) -> (Result<Verdict, StepError>, FakeHarness) {
        let harness = self.harness();
        let context = self.context(&harness);
        let verdict = self.executor(service).run_step(&context).await;
        (verdict, harness)
    }

    async fn judge(&self, service: &Arc<Scripted>) -> (Tristate, FakeHarness) {
        let harness = self.harness();
        let context = self.context(&harness);
        let judgment = self.executor(service).judge(&context).await.unwrap();
        (judgment.answer, harness)
    }

    fn context<'a>(&self, harness: &'a FakeHarness) -> StepContext<'a> {
        StepContext {
            vision: Vision::Off,
            harness,
            instruction: self.goal,
            params: &Value::Null,
            agent_context: "",
            ledger: "",
            replayed: &[],
            handed_off: None,
        }
    }
}

fn hop(name: &str) -> (EventKind, String) {
    (EventKind::Hop, name.to_owned())
}

fn stopped(ended: Result<Verdict, StepError>) -> ErrorCode {
    match ended {
        Err(StepError::Stop(problem)) => problem.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_keyless_declines_the_service_does() {
    let service = Scripted::new([
        taps_open(),
        sure(&[("operation", "done")]),
        sure(&[("completion", "holds")]),
    ]);
    let (verdict, harness) = Goal::new().reach(&service).await;
    let verdict = verdict.unwrap();
    assert_eq!(verdict.status, VerdictStatus::Passed);
    assert_eq!(verdict.summary, "tap button \"Open\"");
    assert_eq!(harness.events(), [hop("keyless")]);
    assert_eq!(harness.decisions(), 4);
    let told = service.asked()[1].state["history"].clone();
    assert_eq!(told, json!(["tap button \"Open\": changed"]));
}

#[tokio::test]
async fn when_all_decline_the_reasons_of_all_are_told_and_none_is_asked_again() {
    let service = Scripted::new([sure(&[("operation", "blocked")])]);
    let goal = Goal::chatting(vec![chooses(
        json!({"why": "no key", "operation": "blocked"}),
    )]);
    let (verdict, harness) = goal.reach(&service).await;
    let verdict = verdict.unwrap();
    assert_eq!(verdict.code, Some(ErrorCode::AutomationUnsupported));
    for name in [
        "keyless: ",
        "service: operation: the goal can't be followed",
        "model: no key",
    ] {
        assert!(verdict.summary.contains(name), "{}", verdict.summary);
    }
    assert_eq!(harness.events(), [hop("keyless"), hop("service")]);
    assert_eq!(
        (harness.decisions(), harness.tiers()),
        (2, vec![Tier::Decide])
    );
}

#[tokio::test]
async fn below_its_gate_the_service_hands_on_and_the_model_goes_on_alone() {
    let unsure = Ok(vec![("operation", "tap", 1.0), ("tap_target", "e1", 0.6)]);
    let service = Scripted::new([unsure]);
    let goal = Goal {
        gate: 0.8,
        ..Goal::chatting(vec![
            chooses(json!({"why": "a door", "operation": "tap", "tap_target": "e1"})),
            chooses(json!({"why": "it opens", "operation": "done"})),
            chooses(json!({"why": "it is open", "completion": "holds"})),
        ])
    };
    let (verdict, harness) = goal.reach(&service).await;
    assert_eq!(verdict.unwrap().status, VerdictStatus::Passed);
    assert_eq!(harness.done(), ["tap button \"Open\""]);
    assert_eq!(
        service.asked().len(),
        1,
        "one that declined is not asked again"
    );
    assert_eq!(harness.tiers(), [Tier::Decide; 3]);
    assert_eq!(harness.events(), [hop("keyless"), hop("service")]);
}

#[tokio::test]
async fn a_service_that_fails_hands_on_and_alone_it_ends_the_step() {
    let blocked = || chooses(json!({"why": "-", "operation": "blocked"}));
    let goal = Goal::chatting(vec![blocked()]);
    let (verdict, harness) = goal.reach(&Scripted::new([Err(down())])).await;
    assert_eq!(verdict.unwrap().status, VerdictStatus::Blocked);
    assert_eq!(harness.tiers().len(), 1);
    let (ended, _) = Goal::new().reach(&Scripted::new([Err(down())])).await;
    assert_eq!(stopped(ended), ErrorCode::ModelProviderFailed);
    // What breaks the protocol is nobody's to repair.
    let invalid = DecisionError::Invalid {
        reason: "\"e9\" is not offered".to_owned(),
    };
    let (ended, harness) = goal.reach(&Scripted::new([Err(invalid)])).await;
    assert_eq!(stopped(ended), ErrorCode::ModelOutputInvalid);
    assert!(harness.tiers().is_empty());
}

#[tokio::test]
async fn a_model_answers_with_what_is_offered_or_the_step_ends() {
    for input in [
        json!({"why": "-", "operation": "navigate"}),
        json!({"why": "-", "operation": "tap"}),
        json!({"why": "-", "operation": "tap", "tap_target": "e7"}),
        json!({"why": "-", "operation": "done", "url": "https://example.com"}),
        json!({"why": "-"}),
    ] {
        let service = Scripted::new([sure(&[("operation", "blocked")])]);
        let goal = Goal::chatting(vec![chooses(input.clone())]);
        let (ended, harness) = goal.reach(&service).await;
        assert_eq!(stopped(ended), ErrorCode::ModelOutputInvalid, "{input}");
        assert!(harness.done().is_empty());
    }
}

#[tokio::test]
async fn claims_of_success_and_of_failure_are_confirmed_on_a_fresh_screen() {
    let claims = |claim, completion| {
        let one = || {
            [
                sure(&[("operation", claim)]),
                sure(&[("completion", completion)]),
            ]
        };
        one().into_iter().chain(one()).collect::<Vec<_>>()
    };
    for (claim, completion, calls, code) in [
        ("done", "holds", 2, None),
        ("failed", "fails", 2, Some(ErrorCode::ActionFailed)),
        ("done", "fails", 4, Some(ErrorCode::ActionFailed)),
        (
            "done",
            "inconclusive",
            4,
            Some(ErrorCode::AutomationUnsupported),
        ),
        ("failed", "holds", 4, Some(ErrorCode::AutomationUnsupported)),
    ] {
        let service = Scripted::new(claims(claim, completion));
        let (verdict, _) = Goal::new().reach(&service).await;
        assert_eq!(verdict.unwrap().code, code, "{claim}, {completion}");
        let asked = service.asked();
        assert_eq!(asked.len(), calls, "{claim}, {completion}");
        if calls == 4 {
            let history = asked[2].state["history"][0].as_str().unwrap();
            assert!(history.contains("not confirmed"), "{history}");
        }
    }
}

#[tokio::test]
async fn an_unsure_confirmation_confirms_nothing() {
    let claim = || sure(&[("operation", "done")]);
    let unsure = || Ok(vec![("completion", "holds", 0.7)]);
    let service = Scripted::new([claim(), unsure(), claim(), unsure()]);
    let goal = Goal {
        gate: 0.8,
        ..Goal::new()
    };
    let (verdict, _) = goal.reach(&service).await;
    assert_eq!(
        verdict.unwrap().code,
        Some(ErrorCode::AutomationUnsupported)
    );
}

#[tokio::test]
async fn a_statement_is_one_question() {
    for (chosen, probability, answer) in [
        ("holds", 0.9, Tristate::Holds),
        ("fails", 0.9, Tristate::Fails),
        ("inconclusive", 0.9, Tristate::Inconclusive),
        ("holds", 0.7, Tristate::Inconclusive),
    ] {
        let service = Scripted::new([Ok(vec![("verdict", chosen, probability)])]);
        let goal = Goal {
            gate: 0.8,
            ..Goal::new()
        };
        let (judged, harness) = goal.judge(&service).await;
        assert_eq!(
            (judged, harness.decisions()),
            (answer, 1),
            "{chosen} {probability}"
        );
        assert_eq!(service.asked()[0].questions.len(), 1);
    }
    let goal = Goal::chatting(vec![chooses(json!({"why": "a bell", "verdict": "holds"}))]);
    let (judged, harness) = goal.judge(&Scripted::new([Err(down())])).await;
    assert_eq!(judged, Tristate::Holds);
    assert_eq!(harness.tiers(), [Tier::Judge]);
    assert_eq!(harness.events(), [hop("service")]);
}

const FORM: &str = "== door /door \"Door\"\ntextbox \"Name\"\ntextbox \"Password\" secure\ntextbox \"City\"\nbutton \"Open\"";

fn form(replies: Vec<ModelReply>) -> Goal {
    Goal {
        screen: FORM,
        goal: "Introduce yourself as Ann \"O'Neil\"",
        writes: true,
        replies,
        ..Goal::new()
    }
}

#[tokio::test]
async fn the_text_model_writes_what_is_typed() {
    let service = Scripted::new([
        sure(&[("operation", "type"), ("type_target", "e0")]),
        sure(&[("operation", "type"), ("type_target", "e2")]),
        sure(&[("operation", "blocked")]),
    ]);
    let goal = form(vec![
        says("write", json!({"found": true, "text": " Ann \"O'Neil\" "})),
        says("write", json!({"found": false})),
    ]);
    let (_, harness) = goal.reach(&service).await;
    assert_eq!(
        harness.done(),
        ["type \" Ann \\\"O'Neil\\\" \" into textbox \"Name\""],
        "as it stands"
    );
    assert_eq!(harness.tiers(), [Tier::Text; 2]);
    let asked = service.asked();
    let note = asked[2].state["history"][1].as_str().unwrap();
    assert!(
        note.contains("\"City\": not done: goal and parameters give no text"),
        "{note}"
    );
    let Message::User { text, .. } = &harness.requests()[0].messages[0] else {
        panic!("no message")
    };
    assert!(text.contains("textbox \"Name\""), "{text}");
}

#[tokio::test]
async fn written_text_never_goes_into_a_password_field() {
    let service = Scripted::new([sure(&[("operation", "blocked")])]);
    form(Vec::new()).reach(&service).await.0.unwrap();
    let asked = service.asked();
    let targets = asked[0]
        .questions
        .iter()
        .find(|one| one.name == "type_target");
    let offered: Vec<&str> = targets
        .unwrap()
        .options
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(offered, ["e0", "e2", "none"]);
    // Nor if a chooser breaks its protocol.
    let secure = Answer::Do(Do {
        operation: Operation::Type,
        row: Some(1),
        value: None,
        option: None,
    });
    let goal = form(Vec::new());
    let harness = goal.harness();
    let executor =
        DecisionExecutor::new(Arc::new(Stubborn(secure)), Gates::default()).writing(true);
    let ended = executor.run_step(&goal.context(&harness)).await;
    assert_eq!(stopped(ended), ErrorCode::ModelOutputInvalid);
    assert!(harness.tiers().is_empty());
}

#[tokio::test]
async fn the_text_model_keeps_to_its_tool() {
    for reply in [
        says("write", json!({"found": true})),
        says("write", json!({"found": true, "text": "a", "key": "Enter"})),
        says("write", json!({"found": true, "text": "a".repeat(2001)})),
        says("type", json!({"found": true, "text": "a"})),
    ] {
        let service = Scripted::new([sure(&[("operation", "type"), ("type_target", "e0")])]);
        let (ended, harness) = form(vec![reply]).reach(&service).await;
        assert_eq!(stopped(ended), ErrorCode::ModelOutputInvalid);
        assert!(harness.done().is_empty());
    }
}

/// Clickable pictures, then buttons out of view, then one button in view.
fn crowd() -> &'static str {
    let mut screen = "== door /door \"Door\"\n".to_owned();
    for number in 0..100 {
        screen.push_str(&format!("img \"p{number}\" clickable\n"));
    }
    for number in 0..200 {
        screen.push_str(&format!("button \"b{number}\" offscreen\n"));
    }
    screen.push_str("button \"seen\"\ncombobox \"Sort\" options=\"Name|Price\"\n");
    Box::leak(screen.into_boxed_str())
}

#[tokio::test]
async fn a_question_has_255_options_at_most_and_tells_how_many_it_leaves_out() {
    let service = Scripted::new([sure(&[("operation", "blocked")])]);
    let goal = Goal {
        screen: crowd(),
        ..Goal::new()
    };
    goal.reach(&service).await.0.unwrap();
    let request = service.asked()[0].clone();
    let of = |name: &str| {
        let found = request.questions.iter().find(|one| one.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let tap = of("tap_target");
    let labels: Vec<&str> = tap.options.iter().map(|one| one.label.as_str()).collect();
    assert_eq!((labels.len(), tap.options[254].id.as_str()), (255, "none"));
    let controls = labels
        .iter()
        .filter(|label| label.starts_with("button"))
        .count();
    assert_eq!(
        controls, 201,
        "controls go before what only looks clickable"
    );
    assert!(
        labels.iter().position(|one| one.contains("seen")) < Some(60),
        "{labels:?}"
    );
    // 302 elements, 255 in the table, one of them a select, one place for "none".
    assert_eq!(
        (tap.omitted, request.state["omitted"].as_u64()),
        (47, Some(47))
    );
    let select = of("select_target");
    let ids: Vec<&str> = select
        .options
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "\"Name\" in combobox \"Sort\"",
            "\"Price\" in combobox \"Sort\"",
            "none of these"
        ]
    );
}

#[tokio::test]
async fn a_target_without_choice_is_no_question_and_none_declines() {
    let lone = Goal {
        screen: "== door /door \"Door\"\nbutton \"Open\" ! \"It opens\"",
        ..Goal::new()
    };
    let service = Scripted::new([
        sure(&[("operation", "tap")]),
        sure(&[("operation", "blocked")]),
    ]);
    let (_, harness) = lone.reach(&service).await;
    assert_eq!(harness.done(), ["tap button \"Open\""]);
    let names: Vec<String> = service.asked()[0]
        .questions
        .iter()
        .map(|one| one.name.clone())
        .collect();
    assert_eq!(names, ["operation"]);
    // Nothing fits: it is looked at twice before that is believed.
    let none = || sure(&[("operation", "tap"), ("tap_target", "none")]);
    let service = Scripted::new([none()]);
    let (verdict, harness) = Goal::new().reach(&service).await;
    assert_eq!(
        verdict.unwrap().code,
        Some(ErrorCode::AutomationUnsupported)
    );
    assert!(harness.done().is_empty());
}
