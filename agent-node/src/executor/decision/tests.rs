//! Goals in people's words on drawn apps: what the keyless decider does with each, and what blind
//! choice makes of the same goals. `UPDATE=1` rewrites the expected lines of `cases/*.txt`; read the
//! difference before keeping it.

mod cascade;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use muster_proto::code::ErrorCode;
use muster_proto::verdict::{Answer as Tristate, Verdict, VerdictStatus};
use muster_suite::op::Vision;
use serde_json::Value;

use super::keyless::Keyless;
use super::{
    Answer, Choice, Chooser, DecisionExecutor, Do, Gates, Operation, Question, RandomChooser,
    Request, Unanswered,
};
use crate::executor::sketch::{App, FakeHarness};
use crate::executor::{Executor, StepContext};
use crate::harness::{Harness, StepError};

/// A goal on a drawn app.
struct Case {
    app: App,
    start: String,
    goal: String,
    params: Value,
    replayed: Vec<String>,
    expected: Vec<String>,
}

fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/executor/decision/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// A file is an app's outline, then goals after `---` lines.
fn cases(text: &str) -> Vec<Case> {
    let (outline, goals) = text.split_once("\n---").unwrap();
    let app = App::parse(outline);
    goals
        .split("\n---")
        .map(|block| {
            let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
            let (mut replayed, mut expected) = (Vec::new(), Vec::new());
            for line in block.lines().filter(|line| !line.trim().is_empty()) {
                if let Some(line) = line.strip_prefix("> ") {
                    expected.push(line.to_owned());
                } else if let Some(line) = line.strip_prefix("replayed: ") {
                    replayed.push(line.to_owned());
                } else {
                    let (key, value) = line
                        .split_once(": ")
                        .unwrap_or_else(|| panic!("{line:?} has no key"));
                    fields.insert(key.trim(), value);
                }
            }
            Case {
                app: app.clone(),
                start: fields["start"].to_owned(),
                goal: fields["goal"].to_owned(),
                params: fields
                    .get("params")
                    .map_or(Value::Null, |json| serde_json::from_str(json).unwrap()),
                replayed,
                expected,
            }
        })
        .collect()
}

/// What was done, the last line being the verdict.
async fn follow(case: &Case, chooser: Arc<dyn Chooser>) -> Vec<String> {
    let harness = FakeHarness::new(case.app.clone(), &case.start);
    let context = StepContext {
        harness: &harness,
        instruction: &case.goal,
        params: &case.params,
        agent_context: "",
        ledger: "",
        replayed: &case.replayed,
        handed_off: None,
        vision: Vision::Off,
    };
    let executor = DecisionExecutor::new(chooser, Gates::default());
    let verdict = executor.run_step(&context).await;
    let mut lines = harness.done();
    lines.push(match verdict {
        Ok(verdict) if verdict.status == VerdictStatus::Passed => {
            format!("passed at {}", harness.at())
        }
        Ok(verdict) => format!(
            "{} {}",
            verdict.code.map_or("", |code| code.as_str()),
            verdict.summary
        ),
        Err(error) => format!("{error:?}"),
    });
    lines
}

#[tokio::test]
async fn keyless_follows_or_declines_each_goal_as_written_down() {
    let update = std::env::vars().any(|(name, _)| name == "UPDATE");
    let mut wrong = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let (outline, _) = text.split_once("\n---").unwrap();
        let mut rewritten = outline.to_owned();
        for (case, block) in cases(&text).iter().zip(text.split("\n---").skip(1)) {
            let done = follow(case, Arc::new(Keyless)).await;
            if done != case.expected {
                wrong.push(format!(
                    "{}\n  expected {:#?}\n  did {:#?}",
                    case.goal, case.expected, done
                ));
            }
            let kept = block
                .lines()
                .filter(|line| !line.starts_with("> ") && !line.trim().is_empty());
            rewritten.push_str("\n---\n");
            rewritten.extend(kept.map(|line| format!("{line}\n")));
            rewritten.extend(done.iter().map(|line| format!("> {line}\n")));
        }
        if update {
            std::fs::write(&file, rewritten).unwrap();
        }
    }
    assert!(
        update || wrong.is_empty(),
        "{} goals went otherwise:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn blind_choice_reaches_few_of_the_goals() {
    let (mut goals, mut reached) = (0, 0);
    for file in files() {
        for (seed, case) in cases(&std::fs::read_to_string(&file).unwrap())
            .iter()
            .enumerate()
        {
            if case
                .expected
                .last()
                .is_some_and(|line| line.starts_with("passed"))
            {
                goals += 1;
                let seed = u64::try_from(seed).unwrap();
                let done = follow(case, Arc::new(RandomChooser::new(seed))).await;
                let mut rest = done.iter();
                // All that has to be done, in order; more may be done in between.
                reached += usize::from(
                    case.expected
                        .iter()
                        .all(|line| rest.any(|done| done == line)),
                );
            }
        }
    }
    assert!(goals >= 30, "only {goals} goals are followed at all");
    assert!(
        reached * 10 < goals,
        "{reached} of {goals} goals were reached blindly"
    );
}

/// Always the same answer.
struct Stubborn(Answer);

#[async_trait]
impl Chooser for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    async fn choose(&self, _: &Request, _: &dyn Harness) -> Result<Choice, Unanswered> {
        let answer = self.0.clone();
        Ok(Choice {
            answer,
            probability: 0.5,
            confidence: 0.5,
            why: "because".to_owned(),
            memory: None,
        })
    }
}

const DOOR: &str = "== door /door \"Door\"\nbutton \"Bell\"\nbutton \"Open\" ! \"It opens\"";

async fn at_the_door(
    chooser: Arc<dyn Chooser>,
    gates: Gates,
    goal: &str,
) -> (Result<Verdict, StepError>, FakeHarness) {
    let harness = FakeHarness::new(App::parse(DOOR), "door");
    let context = StepContext {
        harness: &harness,
        instruction: goal,
        params: &Value::Null,
        agent_context: "",
        ledger: "",
        replayed: &[],
        handed_off: None,
        vision: Vision::Off,
    };
    let verdict = DecisionExecutor::new(chooser, gates)
        .run_step(&context)
        .await;
    (verdict, harness)
}

fn tap(row: usize) -> Answer {
    Answer::Do(Do {
        operation: Operation::Tap,
        row: Some(row),
        value: None,
        option: None,
    })
}

#[tokio::test]
async fn every_question_is_a_counted_decision() {
    let (verdict, harness) = at_the_door(Arc::new(Keyless), Gates::default(), "Press open").await;
    assert_eq!(verdict.unwrap().status, VerdictStatus::Passed);
    // The tap, the claim, and its confirmation on a fresh screen.
    assert_eq!(harness.decisions(), 3);
}

#[tokio::test]
async fn three_actions_without_effect_end_the_step() {
    let (verdict, harness) =
        at_the_door(Arc::new(Stubborn(tap(0))), Gates::default(), "Ring").await;
    assert_eq!(
        verdict.unwrap().code,
        Some(ErrorCode::AutomationUnsupported)
    );
    assert_eq!(harness.done(), ["tap button \"Bell\""; 3]);
}

#[tokio::test]
async fn an_unsure_choice_is_not_acted_on() {
    let gates = Gates {
        min_probability: 0.6,
        min_confidence: 0.0,
    };
    let (verdict, harness) = at_the_door(Arc::new(Stubborn(tap(1))), gates, "Open").await;
    assert_eq!(
        verdict.unwrap().code,
        Some(ErrorCode::AutomationUnsupported)
    );
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn what_was_not_offered_is_not_done() {
    let check = Do {
        operation: Operation::Check,
        row: Some(0),
        value: None,
        option: None,
    };
    for answer in [tap(7), Answer::Do(check), Answer::Holds] {
        let (ended, harness) =
            at_the_door(Arc::new(Stubborn(answer)), Gates::default(), "Open").await;
        let Err(StepError::Stop(problem)) = ended else {
            panic!("{ended:?}")
        };
        assert_eq!(problem.code, ErrorCode::ModelOutputInvalid);
        assert!(harness.done().is_empty());
    }
}

#[tokio::test]
async fn an_unconfirmed_claim_never_passes() {
    let (verdict, _) = at_the_door(Arc::new(Claims), Gates::default(), "Open").await;
    assert_eq!(
        verdict.unwrap().code,
        Some(ErrorCode::AutomationUnsupported)
    );
}

/// Claims to be done and can't tell when asked.
struct Claims;

#[async_trait]
impl Chooser for Claims {
    fn name(&self) -> &'static str {
        "claims"
    }

    async fn choose(&self, request: &Request, _: &dyn Harness) -> Result<Choice, Unanswered> {
        let answer = match request.question {
            Question::Operation => Answer::Done,
            Question::Completion | Question::Verdict => Answer::Inconclusive,
        };
        Ok(Choice {
            answer,
            probability: 1.0,
            confidence: 1.0,
            why: "so I say".to_owned(),
            memory: None,
        })
    }
}

#[tokio::test]
async fn nothing_is_judged_without_a_model() {
    let harness = FakeHarness::new(App::parse(DOOR), "door");
    let context = StepContext {
        harness: &harness,
        instruction: "there is a bell",
        params: &Value::Null,
        agent_context: "",
        ledger: "",
        replayed: &[],
        handed_off: None,
        vision: Vision::Off,
    };
    let executor = DecisionExecutor::new(Arc::new(Keyless), Gates::default());
    let judgment = executor.judge(&context).await.unwrap();
    assert_eq!(judgment.answer, Tristate::Inconclusive);
    let ended = executor.extract(&context, &Value::Bool(true)).await;
    assert!(
        matches!(ended, Err(StepError::Stop(problem)) if problem.code == ErrorCode::ModelUnavailable)
    );
}
