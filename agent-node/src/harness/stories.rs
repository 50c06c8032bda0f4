//! The door of a step, told as stories on a page in memory.

use std::collections::BTreeMap;

use muster_engine::fake::{FakePage, node, screen};
use muster_engine::{EngineError, Gesture};
use muster_proto::action::Typed;
use muster_proto::secret::Secret;
use muster_proto::v1;
use muster_providers::model::{ModelClient, ModelError};
use muster_suite::config::{Budgets, SecretSource};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::*;

mod points;
mod verbs;

const APP: &str = "http://shop.test/";

fn shop() -> FakePage {
    let password = {
        let mut node = node(5, "textbox", "Password");
        node.states.secure = true;
        node
    };
    FakePage::new(vec![
        screen(
            APP,
            "Cart",
            vec![
                node(1, "button", "Help"),
                node(2, "button", "Pay"),
                node(4, "textbox", "Name"),
                password,
            ],
        ),
        screen(
            "http://shop.test/done",
            "Thanks",
            vec![node(9, "status", "Paid")],
        ),
    ])
    .on(0, NodeId(2), Gesture::Tap, 1)
}

/// What a step needs to stand.
struct Stage {
    page: Arc<FakePage>,
    attempt: AttemptHarness,
    cancel: CancellationToken,
    scope: Scope,
}

impl Stage {
    fn of(page: FakePage) -> Self {
        let page = Arc::new(page);
        let app = Url::parse(APP).unwrap();
        let secrets = Arc::new(BTreeMap::from([("pw".to_owned(), Secret::new("hunter22"))]));
        let source = SecretSource {
            env: Some("PW".to_owned()),
            password: true,
            ..SecretSource::default()
        };
        let declared = BTreeMap::from([("pw".to_owned(), source)]);
        let attempt = AttemptHarness::new(Arc::clone(&page) as _, app, secrets, declared);
        let cancel = CancellationToken::new();
        let scope = Scope::phase(&cancel, Duration::from_secs(60));
        Self {
            page,
            attempt,
            cancel,
            scope,
        }
    }

    fn step(&self) -> StepHarness<'_> {
        self.asking(StepModels::none(&Problem::new(
            ErrorCode::ModelUnavailable,
            "none",
        )))
    }

    /// A step with these models.
    fn asking(&self, models: StepModels) -> StepHarness<'_> {
        let timeout = Problem::new(ErrorCode::StepTimeout, "too long");
        let rules = Rules {
            app: Url::parse(APP).unwrap(),
            secrets: [("pw".to_owned(), true)].into(),
        };
        let grant = StepGrant {
            rules,
            limits: Limits {
                actions: 3,
                model_calls: 2,
            },
            models,
            purse: Purse::default(),
            action_timeout: Duration::from_secs(30),
        };
        StepHarness::new(
            &self.attempt,
            self.scope.within(Duration::from_secs(20), timeout),
            grant,
        )
    }
}

fn tap(id: u64) -> Action<NodeId> {
    Action::Tap { target: NodeId(id) }
}

fn types(id: u64, text: &str) -> Action<NodeId> {
    Action::Type {
        target: NodeId(id),
        value: Typed::Literal {
            text: text.to_owned(),
        },
        replace: true,
    }
}

fn code(error: &StepError) -> ErrorCode {
    match error {
        StepError::Refused { code, .. } => *code,
        StepError::Stop(problem) => problem.code,
        StepError::Uncertain { .. } => panic!("uncertain: {error:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_action_shows_what_came_of_it() {
    let stage = Stage::of(shop());
    let step = stage.step();
    let seen = step.observe().await.unwrap();
    assert_eq!((seen.revision, seen.location.as_str()), (1, "/"));
    let done = step.perform(tap(2)).await.unwrap();
    assert!(done.changed);
    assert_eq!(
        (
            done.before.revision,
            done.after.revision,
            done.after.location.as_str()
        ),
        (1, 2, "/done")
    );
    assert_eq!(step.budget().actions, 2);
    assert_eq!(step.trace().performed.len(), 1);
    // The next action is chosen on the screen after.
    let gone = step.perform(tap(2)).await.unwrap_err();
    assert_eq!(code(&gone), ErrorCode::LocatorNotFound);
    assert!(
        matches!(gone, StepError::Refused { message, .. } if message.starts_with("n2 (button \"Pay\") is no longer"))
    );
    assert_eq!(step.budget().actions, 2);
}

#[tokio::test(start_paused = true)]
async fn an_effect_is_waited_for_as_long_as_it_may_take() {
    for (action, expected) in [
        // Nothing comes of it.
        (tap(1), 2000),
        (Action::Hover { target: NodeId(1) }, 500),
        // The field shows its text at once.
        (types(4, "Ada"), 0),
        // The new screen is seen twice.
        (tap(2), 50),
        // A secret is not waited for.
        (
            Action::Type {
                target: NodeId(5),
                value: Typed::Secret {
                    name: "pw".to_owned(),
                },
                replace: true,
            },
            0,
        ),
    ] {
        let stage = Stage::of(shop());
        let step = stage.step();
        step.observe().await.unwrap();
        let done = step.perform(action.clone()).await.unwrap();
        assert_eq!(done.settled_in.as_millis(), expected, "{action:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_screen_that_never_rests_is_taken_as_it_is() {
    let frames = (0..60).map(|frame| {
        screen(
            APP,
            "Cart",
            vec![
                node(1, "button", "Go"),
                node(2, "status", &format!("frame {frame}")),
            ],
        )
    });
    let page = (0..59).fold(FakePage::new(frames.collect()), |page, frame| {
        page.after_looks(frame, 1, frame + 1)
    });
    let stage = Stage::of(page);
    let step = stage.step();
    step.observe().await.unwrap();
    let done = step.perform(tap(1)).await.unwrap();
    assert!(done.changed);
    assert_eq!(done.settled_in.as_millis(), 1000);
}

#[tokio::test(start_paused = true)]
async fn acting_needs_a_look_first() {
    let stage = Stage::of(shop());
    assert_eq!(
        code(&stage.step().perform(tap(1)).await.unwrap_err()),
        ErrorCode::ActionFailed
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_engine_refuses_costs_nothing_and_tells_no_secret() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    stage.page.fail_next(EngineError::NotActionable {
        what: "button".to_owned(),
        why: "covered by hunter22".to_owned(),
    });
    let StepError::Refused { code, message } = step.perform(tap(1)).await.unwrap_err() else {
        panic!("refused")
    };
    assert_eq!(
        (code, message.as_str()),
        (
            ErrorCode::ActionFailed,
            "button can't be acted on: covered by <secret:pw>"
        )
    );
    assert_eq!((step.budget().actions, step.usage().actions), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_done_counts_and_leaves_a_gap() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    stage.page.fail_next(EngineError::MayHaveCommitted {
        what: "tap".to_owned(),
        why: "cut off".to_owned(),
    });
    assert!(matches!(
        step.perform(tap(1)).await,
        Err(StepError::Uncertain { .. })
    ));
    assert_eq!((step.budget().actions, step.usage().actions), (2, 1));
    assert_eq!(
        step.trace().gap.as_deref(),
        Some("tap may have been done in part")
    );
}

#[tokio::test(start_paused = true)]
async fn a_dead_browser_a_spent_budget_and_a_cancelled_run_stop_the_step() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    stage.page.fail_next(EngineError::Dead("gone".to_owned()));
    let stop = step.perform(tap(1)).await.unwrap_err();
    assert!(matches!(&stop, StepError::Stop(problem) if problem.code == ErrorCode::BrowserCrashed));

    let step = stage.step();
    step.observe().await.unwrap();
    for text in ["a", "b", "c"] {
        step.perform(types(4, text)).await.unwrap();
    }
    assert_eq!(
        code(&step.perform(types(4, "d")).await.unwrap_err()),
        ErrorCode::StepBudgetExhausted
    );
    step.decide().unwrap();
    step.decide().unwrap();
    assert_eq!(
        code(&step.decide().unwrap_err()),
        ErrorCode::StepBudgetExhausted
    );
    assert_eq!(step.trace().stops, [ErrorCode::StepBudgetExhausted; 2]);

    stage.cancel.cancel();
    assert_eq!(
        code(&step.observe().await.unwrap_err()),
        ErrorCode::Cancelled
    );
    assert_eq!(code(&step.decide().unwrap_err()), ErrorCode::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_step_has_a_deadline() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    let began = Instant::now();
    assert_eq!(
        code(&step.pause(Duration::from_secs(50)).await.unwrap_err()),
        ErrorCode::StepTimeout
    );
    assert_eq!(began.elapsed(), Duration::from_secs(20));
    assert_eq!(
        code(&step.perform(tap(1)).await.unwrap_err()),
        ErrorCode::StepTimeout
    );
    assert_eq!(step.budget().time, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_app_that_is_gone_ends_the_step() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    let nowhere = Action::Navigate {
        path: "/nowhere".to_owned(),
    };
    let Err(StepError::Stop(problem)) = step.perform(nowhere).await else {
        panic!("nothing answers there")
    };
    assert_eq!(problem.code, ErrorCode::AppUnreachable);
    assert_eq!(step.trace().stops, [ErrorCode::AppUnreachable]);
}

#[tokio::test(start_paused = true)]
async fn an_action_that_is_known_to_change_nothing_is_not_waited_for() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    let began = Instant::now();
    step.perform_quiet(tap(1)).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(300));
    step.perform(tap(1)).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(2300));
}

fn secret(id: u64) -> Action<NodeId> {
    Action::Type {
        target: NodeId(id),
        value: Typed::Secret {
            name: "pw".to_owned(),
        },
        replace: true,
    }
}

fn login(fields: Vec<muster_engine::Node>) -> FakePage {
    FakePage::new(vec![screen(APP, "Log in", fields)])
}

fn password(id: u64) -> muster_engine::Node {
    let mut node = node(id, "textbox", "Password");
    node.states.secure = true;
    node
}

#[tokio::test(start_paused = true)]
async fn every_refused_fill_names_its_rule_and_nothing_is_typed() {
    let framed = muster_engine::Node {
        frame_origin: Some("http://evil.test".to_owned()),
        ..password(5)
    };
    let faint = muster_engine::Node {
        concealed: Some("it is transparent".to_owned()),
        ..password(5)
    };
    for (fields, rule) in [
        (vec![framed], "secret.origin"),
        (vec![faint], "secret.visible"),
        (vec![password(5), password(6)], "secret.unique"),
        (vec![node(5, "textbox", "Name")], "secret.purpose"),
        (vec![node(5, "button", "Password")], "secret.fill"),
    ] {
        let stage = Stage::of(login(fields));
        let step = stage.step();
        step.observe().await.unwrap();
        let refused = step.perform(secret(5)).await.unwrap_err();
        assert_eq!(code(&refused), ErrorCode::PolicyDenied);
        let events: Vec<_> = step
            .events()
            .into_iter()
            .map(|event| (event.kind, event.name))
            .collect();
        assert_eq!(events, [(EventKind::Denied, rule.to_owned())]);
        assert!(stage.page.performed().is_empty() && !stage.attempt.tainted());
    }
}

#[tokio::test(start_paused = true)]
async fn an_allowed_fill_is_told_and_its_basic_auth_form_is_known() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    step.perform(types(4, "anna")).await.unwrap();
    step.perform(secret(5)).await.unwrap();
    let events = step.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(
        (events[0].kind, events[0].name.as_str()),
        (EventKind::Allowed, "secret.fill")
    );
    // base64 of anna:hunter22
    let header = stage.attempt.redactor().text("Basic YW5uYTpodW50ZXIyMg==");
    assert!(!header.contains("YW5uYTpodW50ZXIyMg"), "{header}");
}

#[tokio::test(start_paused = true)]
async fn refused_addresses_and_ids_name_their_rules() {
    let stage = Stage::of(shop());
    let step = stage.step();
    step.observe().await.unwrap();
    for (action, rule) in [
        (
            Action::Navigate {
                path: "javascript:alert(1)".to_owned(),
            },
            "navigate.scheme",
        ),
        (
            Action::Navigate {
                path: "//evil.test/".to_owned(),
            },
            "navigate.site",
        ),
        (tap(77), "target.stale"),
    ] {
        step.perform(action).await.unwrap_err();
        let last = step.events().pop().unwrap();
        assert_eq!((last.kind, last.name.as_str()), (EventKind::Denied, rule));
    }
    let file = Url::parse("file:///etc/passwd").unwrap();
    let problem = stage.attempt.may_go(file).unwrap_err();
    assert_eq!(problem.code, ErrorCode::PolicyDenied);
    assert_eq!(stage.attempt.events()[0].name, "navigate.scheme");
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_is_not_spent_of_the_attempts_budget_either() {
    let grant = v1::BudgetGrant {
        actions: Some(1),
        ..v1::BudgetGrant::default()
    };
    let stage = Stage::of(shop());
    let purse = Purse::attempt(&Budgets::default(), &grant);
    let stage = Stage {
        attempt: stage.attempt.under(purse, Arc::default()),
        ..stage
    };
    let step = stage.step();
    step.observe().await.unwrap();
    stage.page.fail_next(EngineError::NotActionable {
        what: "button".to_owned(),
        why: "covered".to_owned(),
    });
    assert_eq!(
        code(&step.perform(tap(1)).await.unwrap_err()),
        ErrorCode::ActionFailed
    );
    step.perform(tap(1)).await.unwrap();
    let spent = step.perform(tap(1)).await.unwrap_err();
    assert!(
        matches!(&spent, StepError::Stop(problem) if problem.message.contains("[budgets.run]")),
        "{spent:?}"
    );
}

#[tokio::test]
async fn an_executors_own_calls_are_counted_and_bounded() {
    let stage = Stage::of(shop());
    let step = stage.step();
    let call = ToldCall {
        model: "own with hunter22".to_owned(),
        tokens: TokenUsage {
            input: 100,
            output: 20,
            ..TokenUsage::default()
        },
        cost_microusd: 7,
    };
    for _ in 0..2 {
        step.told(Tier::Act, &call).unwrap();
    }
    // The third was made, too: it is counted, and the last.
    let refused = step.told(Tier::Act, &call).unwrap_err();
    assert_eq!(code(&refused), ErrorCode::StepBudgetExhausted);
    assert_eq!(step.trace().stops, [ErrorCode::StepBudgetExhausted]);
    let usage = step.usage();
    assert_eq!((usage.model_calls, usage.input_tokens), (3, 300));
    assert_eq!((usage.cost_microusd, usage.estimated), (21, true));
    let row = step.ledger().remove(0);
    assert_eq!((row.usage.model_calls, row.usage.output_tokens), (3, 60));
    assert!(!row.model.contains("hunter22"), "{}", row.model);
}

/// A model that fails, after that many requests.
struct Failing(u32);

#[async_trait]
impl ModelClient for Failing {
    async fn complete(&self, _: &ModelRequest) -> Result<ModelReply, ModelError> {
        Err(ModelError::ProviderFailed {
            model: "failing".to_owned(),
            requests: self.0,
            reason: "down".to_owned(),
        })
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: "scripted",
            model: "failing".to_owned(),
            vision: false,
        }
    }
}

#[tokio::test]
async fn a_call_that_was_never_sent_is_not_spent_of_the_attempts_budget() {
    let request = ModelRequest {
        system: String::new(),
        messages: Vec::new(),
        tools: Vec::new(),
        force_tool: false,
        max_output_tokens: 1,
        continues: false,
        timeout: Duration::from_secs(1),
    };
    for (requests, second) in [
        (0, ErrorCode::ModelProviderFailed),
        (6, ErrorCode::StepBudgetExhausted),
    ] {
        let grant = v1::BudgetGrant {
            model_calls: Some(1),
            ..v1::BudgetGrant::default()
        };
        let stage = Stage::of(shop());
        let purse = Purse::attempt(&Budgets::default(), &grant);
        let stage = Stage {
            attempt: stage.attempt.under(purse, Arc::default()),
            ..stage
        };
        for wanted in [ErrorCode::ModelProviderFailed, second] {
            let mut models = StepModels::none(&Problem::new(ErrorCode::ModelUnavailable, "none"));
            models.act = Ok(StepModel::unpriced(Arc::new(Failing(requests))));
            let step = stage.asking(models);
            let failed = step.complete(Tier::Act, &request).await.unwrap_err();
            assert_eq!(code(&failed), wanted, "{requests} requests");
        }
    }
}
