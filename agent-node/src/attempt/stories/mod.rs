//! Attempts told as stories: a worker scripted by hand over a pipe, a page in memory, an executor
//! that does what the test says.

mod exact;
mod goals;
mod judgments;
mod told;
mod worker;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{SinkExt, StreamExt};
use muster_cache_store::{Entry, EntryInfo, ReplayStore, StoreError, Swap};
use muster_engine::fake::{FakePage, node, screen};
use muster_engine::{Gesture, NodeId};
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::id::ReplayKey;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_proto::v1::staged::Intent;
use muster_proto::verdict::{Answer, Judgment, Verdict, VerdictStatus};
use muster_providers::model::{
    ModelClient, ModelError, ModelInfo, ModelReply, ModelRequest, ReplyEnd, TokenUsage,
};
use muster_suite::codec::FrameCodec;
use muster_suite::config::{
    Agent, Budgets, Egress, ExecutorKind, Model, RunSpec, SPEC_SCHEMA, SecretSource, TargetSpec,
    Timeouts,
};
use muster_suite::frame::{CallResult, FromWorker};
use muster_suite::locator::{Locator, LocatorStep, States, TextMatch};
use muster_suite::op::{self, AgentCall, LocatorMatcher, Op, Vision};
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio_util::codec::{FramedRead, FramedWrite};

use self::told::*;
use super::*;
use crate::executor::StepContext;
use crate::harness::StepError;

/// The shop of these stories: a cart with a button that pays.
pub(super) fn shop() -> FakePage {
    let mut locked = node(3, "button", "Locked");
    locked.states.disabled = true;
    let mut password = node(5, "textbox", "Password");
    password.states.secure = true;
    FakePage::new(vec![
        screen(
            "http://shop.test/",
            "Cart",
            vec![
                node(1, "button", "Help"),
                node(2, "button", "Pay now"),
                locked,
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

/// What an executor does with a goal.
pub(super) type Plan = Arc<
    dyn for<'a> Fn(&'a StepContext<'a>) -> BoxFuture<'a, Result<Verdict, StepError>> + Send + Sync,
>;

/// An executor that follows a plan, and a judge that reads the page for its statement.
struct Scripted(Plan);

#[async_trait]
impl Executor for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError> {
        (self.0)(context).await
    }

    async fn judge(&self, context: &StepContext<'_>) -> Result<Judgment, StepError> {
        let screen = context.harness.observe().await?;
        let shown = screen
            .nodes()
            .iter()
            .any(|node| node.name == context.instruction);
        let answer = match (context.instruction, shown) {
            ("?", _) => Answer::Inconclusive,
            (_, true) => Answer::Holds,
            (_, false) => Answer::Fails,
        };
        Ok(Judgment {
            answer,
            explanation: format!("looked at {}", screen.location),
        })
    }

    async fn extract(
        &self,
        context: &StepContext<'_>,
        _: &Value,
    ) -> Result<Option<Value>, StepError> {
        let screen = context.harness.observe().await?;
        let found = screen
            .nodes()
            .iter()
            .find(|node| node.role == context.instruction);
        Ok(found.map(|node| Value::from(node.name.clone())))
    }
}

/// A model that answers everything with its name, or declines to.
struct Echo {
    declines: bool,
    sees: bool,
}

#[async_trait]
impl ModelClient for Echo {
    async fn complete(&self, _: &ModelRequest) -> Result<ModelReply, ModelError> {
        let usage = TokenUsage {
            input: 10,
            cached: 4,
            output: 2,
            ..TokenUsage::default()
        };
        Ok(ModelReply {
            text: "echo".to_owned(),
            end: match self.declines {
                true => ReplyEnd::Declined,
                false => ReplyEnd::Whole,
            },
            calls: Vec::new(),
            usage: Some(usage),
            requests: 1,
            ..ModelReply::default()
        })
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            provider: "test",
            model: "echo".to_owned(),
            vision: self.sees,
        }
    }
}

struct ScriptedBrains(Plan);

impl Brains for ScriptedBrains {
    fn executor(&self, _: &str, _: &Agent) -> Result<Arc<dyn Executor>, Problem> {
        Ok(Arc::new(Scripted(Arc::clone(&self.0))))
    }

    fn model(&self, model: &Model) -> Result<Arc<dyn ModelClient>, Problem> {
        Ok(Arc::new(Echo {
            declines: model.name == "coy",
            sees: model.vision,
        }))
    }
}

/// Recordings in memory; [`Shelf::settle`] does what a coordinator would.
#[derive(Default)]
pub(super) struct Shelf {
    entries: Mutex<BTreeMap<ReplayKey, Entry>>,
    pub(super) away: std::sync::atomic::AtomicBool,
    pub(super) hangs: std::sync::atomic::AtomicBool,
}

impl Shelf {
    pub(super) fn settle(&self, output: &AttemptOutput) {
        let mut entries = self.entries.lock().unwrap();
        for staged in &output.staged {
            let key = ReplayKey(staged.replay_key.clone());
            match staged.intent() {
                Intent::Write => {
                    let entry = Entry {
                        generation: staged.generation + 1,
                        envelope: staged.envelope.clone(),
                    };
                    entries.insert(key, entry);
                }
                Intent::Evict => drop(entries.remove(&key)),
                Intent::Unspecified
                | Intent::Keep
                | Intent::Unconfirmed
                | Intent::NoChange
                | Intent::NotWritten => {}
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.lock().unwrap().len()
    }
}

#[async_trait]
impl ReplayStore for Shelf {
    async fn get(&self, _: &str, key: &ReplayKey) -> Result<Option<Entry>, StoreError> {
        if self.hangs.load(std::sync::atomic::Ordering::Relaxed) {
            std::future::pending().await
        }
        if self.away.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(StoreError::Unavailable {
                store: "test",
                reason: "away".to_owned(),
            });
        }
        Ok(self.entries.lock().unwrap().get(key).cloned())
    }

    async fn put_if(&self, _: &str, _: &ReplayKey, _: u64, _: &[u8]) -> Result<Swap, StoreError> {
        panic!("a node never writes")
    }

    async fn delete_if(&self, _: &str, _: &ReplayKey, _: u64) -> Result<Swap, StoreError> {
        panic!("a node never deletes")
    }

    async fn info(&self, _: &str, _: &ReplayKey) -> Result<Option<EntryInfo>, StoreError> {
        Ok(None)
    }

    async fn list(
        &self,
        _: &str,
        _: &str,
        _: Option<&str>,
    ) -> Result<muster_cache_store::Page, StoreError> {
        Ok(muster_cache_store::Page::default())
    }
}

/// One attempt, and everything around it.
pub(super) struct Story {
    pub(super) page: Arc<FakePage>,
    pub(super) shelf: Arc<Shelf>,
    pub(super) plan: Plan,
    pub(super) agent: Agent,
    pub(super) try_: u32,
    pub(super) cache: v1::CacheMode,
    pub(super) timeouts: Timeouts,
    pub(super) cancel: CancellationToken,
}

impl Story {
    pub(super) fn of(page: FakePage) -> Self {
        Self {
            page: Arc::new(page),
            shelf: Arc::default(),
            plan: never(),
            agent: Agent::default(),
            try_: 0,
            cache: v1::CacheMode::ReadWrite,
            timeouts: Timeouts::default(),
            cancel: CancellationToken::new(),
        }
    }

    pub(super) fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// The same suite again, on a fresh page.
    pub(super) fn again(self, page: FakePage) -> Self {
        Self {
            page: Arc::new(page),
            ..self
        }
    }

    /// Runs the attempt with this worker.
    pub(super) async fn run<F>(
        &self,
        script: impl FnOnce(TestWorker) -> F,
    ) -> (AttemptOutput, F::Output)
    where
        F: Future,
    {
        let (from_worker, to_node) = tokio::io::duplex(1 << 16);
        let (from_node, to_worker) = tokio::io::duplex(1 << 16);
        let (progress, _news) = tokio::sync::mpsc::channel(16);
        let source = |password| SecretSource {
            env: Some("SHOP_PASSWORD".to_owned()),
            password,
            ..SecretSource::default()
        };
        let input = AttemptInput {
            run: RunId::from("run"),
            node: muster_proto::id::NodeId::from("node"),
            unit: v1::Unit {
                unit_id: "unit".to_owned(),
                test_id: "tests/cart.e2e.ts::pays".to_owned(),
                file: "tests/cart.e2e.ts".to_owned(),
                target: "web".to_owned(),
                agent: "default".to_owned(),
                ..v1::Unit::default()
            },
            try_: self.try_,
            spec: Arc::new(RunSpec {
                schema: SPEC_SCHEMA,
                project: "shop".to_owned(),
                targets: [(
                    "web".to_owned(),
                    TargetSpec {
                        app_url: "http://shop.test/".to_owned(),
                        app_identity: "shop".to_owned(),
                        egress: Egress::default(),
                    },
                )]
                .into(),
                agents: [("default".to_owned(), self.agent.clone())].into(),
                timeouts: self.timeouts.clone(),
                secrets: [
                    ("pw".to_owned(), source(true)),
                    ("token".to_owned(), source(false)),
                ]
                .into(),
                viewport: (1280, 720),
                budgets: Budgets::default(),
            }),
            modules: Arc::default(),
            files: Files::none(),
            page: Arc::clone(&self.page) as _,
            worker: WorkerPipes {
                from_worker: Box::new(from_worker),
                to_worker: Box::new(to_worker),
            },
            brains: Arc::new(ScriptedBrains(Arc::clone(&self.plan))),
            recordings: Arc::clone(&self.shelf) as _,
            cache: v1::CacheGrant {
                mode: self.cache.into(),
                namespace: "local".to_owned(),
                generation: 0,
            },
            secrets: Arc::new(BTreeMap::from([
                ("pw".to_owned(), Secret::new("hunter22")),
                ("token".to_owned(), Secret::new("tok-tok-tok")),
            ]))
            .into(),
            denials: Arc::default(),
            grant: v1::BudgetGrant::default(),
            policy_digest: "policy".to_owned(),
            progress,
            cancel: self.cancel.clone(),
        };
        let (output, told) = tokio::join!(run(input), script(TestWorker::new(from_node, to_node)));
        self.shelf.settle(&output);
        (output, told)
    }

    /// A test that makes these calls in order, and fails with the first that fails.
    pub(super) async fn test(&self, ops: Vec<Op>) -> AttemptOutput {
        self.run(|worker| worker.test(ops)).await.0
    }
}

/// The worker's side of the pipes.
pub(super) struct TestWorker {
    incoming: FramedRead<DuplexStream, FrameCodec<ToWorker>>,
    outgoing: FramedWrite<DuplexStream, FrameCodec<ToWorker>>,
    calls: u64,
}

impl TestWorker {
    fn new(from_node: DuplexStream, to_node: DuplexStream) -> Self {
        Self {
            incoming: FramedRead::new(from_node, FrameCodec::new()),
            outgoing: FramedWrite::new(to_node, FrameCodec::new()),
            calls: 0,
        }
    }

    pub(super) async fn next(&mut self) -> ToWorker {
        self.incoming
            .next()
            .await
            .expect("the node is there")
            .expect("the node speaks frames")
    }

    pub(super) async fn say(&mut self, frame: FromWorker) {
        self.outgoing.send(frame).await.expect("the node listens");
    }

    /// Asks for a step without waiting for its answer; its number.
    pub(super) async fn ask(&mut self, op: Op) -> u64 {
        self.calls += 1;
        self.say(FromWorker::Call {
            id: self.calls,
            op,
            place: None,
        })
        .await;
        self.calls
    }

    pub(super) async fn call(&mut self, op: Op) -> CallResult {
        let asked = self.ask(op).await;
        match self.next().await {
            ToWorker::Reply { id, result } if id == asked => result,
            other => panic!("call {asked} was answered by {other:?}"),
        }
    }

    pub(super) async fn done(mut self, outcome: TestOutcome) {
        self.say(FromWorker::Done {
            outcome,
            secondary: Vec::new(),
        })
        .await;
    }

    async fn test(mut self, ops: Vec<Op>) {
        assert!(matches!(self.next().await, ToWorker::Run { .. }));
        for op in ops {
            if let CallResult::Failed { problem, .. } = self.call(op).await {
                return self.done(TestOutcome::Failed { problem }).await;
            }
        }
        self.done(TestOutcome::Passed {}).await;
    }
}
