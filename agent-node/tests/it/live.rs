//! What a node rents for an attempt: a real browser, a real worker, and the way out.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::attempt::{AttemptInput, AttemptOutput, Brains};
use muster_agent_node::executor::Executor;
use muster_agent_node::node::{self, Attempt, BrowserSource, NodeConfig, NodeError, Recycling};
use muster_cache_store::BlobStore;
use muster_engine::EngineError;
use muster_proto::code::ErrorCode;
use muster_proto::id::BlobDigest;
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message as ToNode;
use muster_providers::browser::{BrowserProvider, LocalBrowsers, LocalSettings};
use muster_providers::child::{CommandLine, Supervisor};
use muster_providers::model::ModelClient;
use muster_suite::bundle::{self, Bundle, ModuleEntry};
use muster_suite::config::node::NodePolicy;
use muster_suite::config::{
    Agent, Budgets, Egress, Model, RunSpec, SPEC_SCHEMA, SecretSource, TargetSpec, Timeouts,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::coordinator::{CALM, Coordinator, Stream, decoded, token};
use crate::runner::passed;
use crate::{DEADLINE, soon};

const BROWSER: &str = "/usr/lib/chromium/chromium-headless-shell";

const RECYCLING: Recycling = Recycling {
    contexts: 2,
    age: Duration::from_secs(3600),
};

pub(crate) fn fixture(role: &str) -> CommandLine {
    CommandLine {
        program: PathBuf::from(env!("CARGO_BIN_EXE_muster-node-fixture")),
        args: vec![role.into()],
    }
}

/// These tests bring their own attempts, which ask no brain.
struct NoBrains;

impl Brains for NoBrains {
    fn executor(&self, _: &str, _: &Agent) -> Result<Arc<dyn Executor>, Problem> {
        Err(Problem::new(ErrorCode::InternalError, "no brains here"))
    }

    fn model(&self, _: &Model) -> Result<Arc<dyn ModelClient>, Problem> {
        Err(Problem::new(ErrorCode::ModelUnavailable, "no brains here"))
    }
}

/// A coordinator with a suite, and a node attached to it.
struct Story {
    coordinator: Coordinator,
    stream: Stream,
    bundle: String,
    spec: String,
    shutdown: CancellationToken,
    node: JoinHandle<Result<(), NodeError>>,
}

impl Story {
    async fn begin<F, Fut>(
        browser: BrowserSource,
        worker: CommandLine,
        denied_ports: Vec<u16>,
        attempt: F,
    ) -> Self
    where
        F: Fn(AttemptInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = AttemptOutput> + Send + 'static,
    {
        let mut coordinator = Coordinator::start();
        let map = put(&coordinator, b"{}").await;
        let js = put(&coordinator, b"export const a = 1;").await;
        let entry = ModuleEntry {
            source: js.clone(),
            js,
            map,
        };
        let modules = BTreeMap::from([("tests/a.e2e.ts".to_owned(), entry)]);
        let index = Bundle {
            schema: bundle::SCHEMA,
            modules,
            files: BTreeMap::new(),
        };
        let secret = |env: &str| SecretSource {
            env: Some(env.to_owned()),
            password: true,
            ..SecretSource::default()
        };
        let spec = RunSpec {
            schema: SPEC_SCHEMA,
            project: "project".to_owned(),
            targets: BTreeMap::from([(
                "web".to_owned(),
                TargetSpec {
                    app_url: "http://127.0.0.1:1/".to_owned(),
                    app_identity: "app".to_owned(),
                    egress: Egress::default(),
                },
            )]),
            agents: BTreeMap::new(),
            timeouts: Timeouts::default(),
            secrets: BTreeMap::from([
                ("login".to_owned(), secret("LOGIN")),
                ("absent".to_owned(), secret("ABSENT")),
            ]),
            viewport: (800, 600),
            budgets: Budgets::default(),
        };
        let bundle = put(&coordinator, &serde_json::to_vec(&index).unwrap())
            .await
            .0;
        let spec = put(&coordinator, &serde_json::to_vec(&spec).unwrap())
            .await
            .0;
        let config = NodeConfig {
            name: "node".to_owned(),
            coordinator: coordinator.endpoint(),
            slots: 2,
            worker,
            supervisor: fixture("supervisor"),
            browser,
            brains: Arc::new(NoBrains),
            env: BTreeMap::from([("LOGIN".to_owned(), "hunter22".to_owned())]),
            policy: NodePolicy::Project,
            folder: std::env::temp_dir(),
            denied_ports,
            grace: DEADLINE,
        };
        let attempt: Attempt = Arc::new(move |input| Box::pin(attempt(input)));
        let shutdown = CancellationToken::new();
        let node = tokio::spawn(node::run_with(config, attempt, RECYCLING, shutdown.clone()));
        let (stream, hello) = coordinator.attached(CALM).await;
        assert_eq!(hello.capabilities, ["browser:chromium", "egress"]);
        Self {
            coordinator,
            stream,
            bundle,
            spec,
            shutdown,
            node,
        }
    }

    async fn lease(&self, unit: &str) {
        let lease = v1::Lease {
            token: Some(token(unit, 1)),
            unit: Some(v1::Unit {
                unit_id: unit.to_owned(),
                timeout_ms: 30_000,
                target: "web".to_owned(),
                ..v1::Unit::default()
            }),
            bundle_digest: self.bundle.clone(),
            spec_digest: self.spec.clone(),
            ..v1::Lease::default()
        };
        self.stream.say(ToNode::Lease(lease)).await;
    }

    async fn result(&mut self) -> v1::AttemptResult {
        let result = self.stream.result().await;
        self.stream.acknowledge(&result).await;
        decoded(&result)
    }

    async fn code(&mut self) -> String {
        self.result()
            .await
            .problem
            .map(|problem| problem.code)
            .unwrap_or_default()
    }

    async fn end(self) {
        self.shutdown.cancel();
        self.stream.rest().await;
        soon("the node ends", self.node).await.unwrap().unwrap();
    }
}

async fn put(coordinator: &Coordinator, bytes: &[u8]) -> BlobDigest {
    let digest = BlobDigest::of(bytes);
    coordinator.blobs.put(&digest, bytes).await.unwrap();
    digest
}

/// A browser's start that notes its process id in `folder/pids`.
fn noted_browser(folder: &Path) -> BrowserSource {
    let path = folder.join("browser");
    let pids = folder.join("pids");
    let script = format!(
        "#!/bin/sh\necho $$ >> {}\nexec {BROWSER} \"$@\"\n",
        pids.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    BrowserSource::Local(Some(path))
}

fn pids(folder: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(folder.join("pids")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn lives(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn end_process(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

/// An app of one page; its port.
async fn app() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut head = [0; 4096];
                if client.read(&mut head).await.is_ok() {
                    let page = "<title>The app</title>";
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
                    let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
                    client.write_all(answer.as_bytes()).await.ok();
                }
            });
        }
    });
    port
}

/// Talks to its worker and opens the app and a denied port; tells it all in its console.
async fn look_around(input: AttemptInput, app: u16, denied: u16) -> AttemptOutput {
    let mut worker = BufReader::new(input.worker.from_worker).lines();
    let mut to_worker = input.worker.to_worker;
    let environment = worker.next_line().await.unwrap().unwrap();
    to_worker.write_all(b"ping\n").await.unwrap();
    let echo = worker.next_line().await.unwrap().unwrap();

    input
        .page
        .goto(&format!("http://127.0.0.1:{app}/"), DEADLINE)
        .await
        .unwrap();
    let title = input.page.location(DEADLINE).await.unwrap().title;
    let denied = input
        .page
        .goto(&format!("http://127.0.0.1:{denied}/"), DEADLINE)
        .await;
    let secrets = input.secrets.redactor().text("hunter22");
    let modules: Vec<_> = input
        .modules
        .iter()
        .map(|(path, module)| (path, &module.js))
        .collect();

    let mut output = passed();
    output.record.console = vec![
        environment,
        echo,
        title,
        format!("{}", matches!(denied, Err(EngineError::Navigation { .. }))),
        secrets,
        format!("{modules:?}"),
    ];
    output
}

#[tokio::test]
async fn an_attempt_gets_a_page_a_worker_secrets_and_modules_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (app, denied) = (app().await, app().await);
    let browser = noted_browser(folder.path());
    let attempt = move |input| look_around(input, app, denied);
    let mut story = Story::begin(browser, fixture("worker"), vec![denied], attempt).await;
    story.lease("a").await;
    let result = story.result().await;
    assert_eq!(result.status(), v1::Status::Passed, "{:?}", result.problem);
    let console = story
        .coordinator
        .record(&result.record_digest)
        .await
        .console;
    let (worker, environment) = console[0].split_once(' ').unwrap();
    assert_eq!(environment, "[]", "a worker inherits nothing");
    assert_eq!(
        console[1..],
        [
            "ping",
            "The app",
            "true",
            "<secret:login>",
            r#"[("tests/a.e2e.ts", "export const a = 1;")]"#,
        ]
    );
    assert!(
        !lives(worker.parse().unwrap()),
        "the worker is reaped before the result goes out"
    );

    story.lease("b").await;
    assert_eq!(story.result().await.status(), v1::Status::Passed);
    let browsers = pids(folder.path());
    assert_eq!(browsers.len(), 1, "the browser stays warm");
    assert!(lives(browsers[0]));
    story.end().await;
    assert!(!lives(browsers[0]));
}

/// An attempt that tells that it runs and fails when it is told to.
fn failing(
    told: mpsc::Sender<()>,
    go: CancellationToken,
) -> impl Fn(AttemptInput) -> futures::future::BoxFuture<'static, AttemptOutput> + Send + Sync + 'static
{
    move |input: AttemptInput| {
        let (told, go) = (told.clone(), go.clone());
        Box::pin(async move {
            told.send(()).await.unwrap();
            go.cancelled().await;
            // The page notices first, as it would in a step.
            input.page.location(Duration::from_secs(5)).await.ok();
            let mut output = passed();
            output.status = Status::Failed;
            output.problem = Some(Problem::new(
                ErrorCode::AssertionFailed,
                "expected 1 item, saw none",
            ));
            output
        })
    }
}

#[tokio::test]
async fn a_failure_under_a_browser_that_died_is_the_browsers_and_the_next_attempt_gets_another() {
    let folder = tempfile::tempdir().unwrap();
    let (told, mut running) = mpsc::channel(4);
    let go = CancellationToken::new();
    let browser = noted_browser(folder.path());
    let mut story = Story::begin(
        browser,
        fixture("worker"),
        Vec::new(),
        failing(told, go.clone()),
    )
    .await;
    story.lease("a").await;
    soon("the attempt runs", running.recv()).await.unwrap();
    end_process(pids(folder.path())[0]);
    go.cancel();
    let result = story.result().await;
    assert_eq!(
        result.problem.as_ref().map(|problem| problem.code.as_str()),
        Some("BROWSER_CRASHED")
    );
    let record = story.coordinator.record(&result.record_digest).await;
    assert_eq!(
        record.secondary[0].code,
        ErrorCode::AssertionFailed,
        "what the test said is kept"
    );

    story.lease("b").await;
    assert_eq!(
        story.code().await,
        "ASSERTION_FAILED",
        "under a browser that lives it is the product's"
    );
    assert_eq!(pids(folder.path()).len(), 2);
    story.end().await;
    assert!(pids(folder.path()).into_iter().all(|pid| !lives(pid)));
}

#[tokio::test]
async fn a_fixed_browser_is_used_and_when_it_is_gone_that_is_no_product_failure() {
    let supervisor = Supervisor::start(&fixture("supervisor")).await.unwrap();
    let settings = LocalSettings {
        path: None,
        window: (800, 600),
        limit: 1,
    };
    let local = LocalBrowsers::new(settings, supervisor.clone());
    let lease = local.acquire(DEADLINE).await.unwrap();
    let app = app().await;
    let source = BrowserSource::Fixed(lease.ws_url.clone());
    let attempt = move |input| look_around(input, app, 1);
    let mut story = Story::begin(source, fixture("worker"), vec![1], attempt).await;
    story.lease("a").await;
    assert_eq!(story.result().await.status(), v1::Status::Passed);

    local.release(&lease.id).await.unwrap();
    story.lease("b").await;
    assert_eq!(story.code().await, "BROWSER_UNAVAILABLE");
    story.end().await;
    supervisor.close().await;
}

#[tokio::test]
async fn a_panic_costs_one_attempt_and_what_it_had_rented_is_taken_back() {
    let (told, mut workers) = mpsc::channel(4);
    let attempt = move |input: AttemptInput| {
        let told = told.clone();
        async move {
            let mut lines = BufReader::new(input.worker.from_worker).lines();
            let line = lines.next_line().await.unwrap().unwrap();
            told.send(line.split_once(' ').unwrap().0.parse::<i32>().unwrap())
                .await
                .unwrap();
            assert!(input.unit.unit_id != "a", "as the test wants");
            passed()
        }
    };
    let mut story = Story::begin(
        BrowserSource::Local(None),
        fixture("worker"),
        Vec::new(),
        attempt,
    )
    .await;
    story.lease("a").await;
    let worker = soon("the attempt runs", workers.recv()).await.unwrap();
    assert_eq!(story.code().await, "INTERNAL_ERROR");
    assert!(!lives(worker));
    story.lease("b").await;
    assert_eq!(story.result().await.status(), v1::Status::Passed);
    story.end().await;
}

#[tokio::test]
async fn what_can_not_be_rented_is_named_and_is_no_product_failure() {
    let never = |_: AttemptInput| async { passed() };
    let browser = BrowserSource::Local(Some(PathBuf::from("/nowhere/browser")));
    let mut story = Story::begin(browser, fixture("worker"), Vec::new(), never).await;
    story.lease("a").await;
    let problem = story.result().await.problem.unwrap();
    assert_eq!(problem.code, "BROWSER_UNAVAILABLE");
    assert!(
        problem
            .message
            .starts_with("no browser found: looked for /nowhere/browser"),
        "{}",
        problem.message
    );
    story.end().await;

    let worker = CommandLine {
        program: PathBuf::from("/nowhere/worker"),
        args: Vec::new(),
    };
    let mut story = Story::begin(BrowserSource::Local(None), worker, Vec::new(), never).await;
    story.lease("a").await;
    let problem = story.result().await.problem.unwrap();
    assert_eq!(problem.code, "WORKER_CRASHED");
    assert!(
        problem.message.contains("/nowhere/worker did not start"),
        "{}",
        problem.message
    );

    story.spec = BlobDigest::of(b"nobody put this").0;
    story.lease("b").await;
    assert_eq!(story.code().await, "COORDINATOR_UNAVAILABLE");
    story.end().await;
}

#[tokio::test]
async fn a_browser_is_replaced_after_its_contexts_but_kept_for_those_who_use_it() {
    let folder = tempfile::tempdir().unwrap();
    let (told, mut running) = mpsc::channel(4);
    let go = CancellationToken::new();
    let wait = go.clone();
    let attempt = move |input: AttemptInput| {
        let (told, go) = (told.clone(), wait.clone());
        async move {
            told.send(()).await.unwrap();
            if input.unit.unit_id == "long" {
                go.cancelled().await;
                // Its page still answers.
                input.page.location(DEADLINE).await.unwrap();
            }
            passed()
        }
    };
    let browser = noted_browser(folder.path());
    let mut story = Story::begin(browser, fixture("worker"), Vec::new(), attempt).await;
    story.lease("long").await;
    soon("the long attempt runs", running.recv()).await.unwrap();
    for unit in ["second", "third"] {
        story.lease(unit).await;
        assert_eq!(story.result().await.unit_id, unit);
    }
    let browsers = pids(folder.path());
    assert_eq!(
        browsers.len(),
        2,
        "the third context is one too many for the first browser"
    );
    assert!(browsers.iter().all(|pid| lives(*pid)));

    go.cancel();
    assert_eq!(story.result().await.status(), v1::Status::Passed);
    let gone = async {
        while lives(browsers[0]) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    soon("the first browser goes with its last attempt", gone).await;
    assert!(lives(browsers[1]));
    story.end().await;
}
