//! Short words for the stories: plans, steps, and what to look at.

use super::*;

/// A plan that must not be followed.
pub(super) fn never() -> Plan {
    Arc::new(|_| Box::pin(async { panic!("no executor was expected") }))
}

/// A plan that taps these buttons, if they are there, and says that it is done.
pub(super) fn taps(names: &'static [&'static str]) -> Plan {
    Arc::new(move |context| {
        Box::pin(async move {
            for name in names {
                context.harness.decide()?;
                let screen = context.harness.observe().await?;
                if let Some(button) = screen.nodes().iter().find(|node| node.name == *name) {
                    context
                        .harness
                        .perform(Action::Tap { target: button.id })
                        .await?;
                }
            }
            passed("done")
        })
    })
}

/// A verdict.
pub(super) fn passed(summary: &str) -> Result<Verdict, StepError> {
    Ok(Verdict {
        status: VerdictStatus::Passed,
        summary: summary.to_owned(),
        code: None,
    })
}

/// A plan that ends with this at once.
pub(super) fn says(verdict: Result<Verdict, StepError>) -> Plan {
    Arc::new(move |_| {
        let verdict = verdict.clone();
        Box::pin(async move { verdict })
    })
}

pub(super) fn open() -> Op {
    Op::AppOpen {
        path: String::new(),
    }
}

pub(super) fn by_role(role: &str, name: &str) -> Locator {
    let name = Some(TextMatch::Exact {
        text: name.to_owned(),
    });
    Locator {
        steps: vec![LocatorStep::Role {
            role: role.to_owned(),
            name,
            states: States::default(),
            visible: false,
        }],
    }
}

pub(super) fn tap(name: &str) -> Op {
    Op::Act {
        locator: by_role("button", name),
        gesture: op::Gesture::Tap {},
        timeout_ms: None,
    }
}

pub(super) fn fill(field: &str, value: op::FillValue) -> Op {
    Op::Act {
        locator: by_role("textbox", field),
        gesture: op::Gesture::Fill { value },
        timeout_ms: None,
    }
}

pub(super) fn sees(role: &str, name: &str) -> Op {
    Op::ExpectLocator {
        locator: by_role(role, name),
        matcher: LocatorMatcher::BeVisible {},
        negated: false,
        soft: false,
        timeout_ms: None,
    }
}

pub(super) fn goal(instruction: &str) -> AgentCall {
    AgentCall {
        instruction: instruction.to_owned(),
        params: Value::Null,
        unique: Vec::new(),
        agent: None,
        timeout_ms: None,
        max_steps: None,
        max_model_calls: None,
        vision: Vision::Off,
    }
}

pub(super) fn act(instruction: &str) -> Op {
    Op::AgentAct(goal(instruction))
}

pub(super) fn code(output: &AttemptOutput) -> ErrorCode {
    output
        .problem
        .as_ref()
        .expect("the attempt has a problem")
        .code
}

pub(super) fn intents(output: &AttemptOutput) -> Vec<Intent> {
    output.staged.iter().map(v1::Staged::intent).collect()
}

/// An agent of another kind.
pub(super) fn agent(executor: ExecutorKind) -> Agent {
    Agent {
        executor,
        ..Agent::default()
    }
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
