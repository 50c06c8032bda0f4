//! A parent for the worker: it answers every step, and remembers what was asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_script::{collect_request, pack, run_modules, serve};
use muster_suite::bundle::Packed;
use muster_suite::codec::FrameCodec;
use muster_suite::collect::CollectedFile;
use muster_suite::config::Config;
use muster_suite::frame::{CallResult, FromWorker, Limits, ToWorker, VERSION};
use muster_suite::op::{Op, Read};
use serde_json::{Value, json};
use tokio_util::codec::{FramedRead, FramedWrite};

pub(crate) const CONFIG: &str =
    "[project]\nid = \"p\"\n[targets.web.app]\nurl = \"http://127.0.0.1:3000\"\n";

/// Where the data folder is.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Compares with a file of the data folder, or rewrites it with `UPDATE=1`.
pub(crate) fn check(name: &str, said: &str) {
    let path = data().join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, said).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == said,
        "{name} differs; run with UPDATE=1 if this is right:\n{said}"
    );
}

/// A project in a temporary folder.
pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { dir }
    }

    /// One test file, at `tests/a.e2e.ts`.
    pub(crate) fn of(test_file: &str) -> Self {
        Self::new(&[(FILE, test_file)])
    }

    pub(crate) fn pack_with(
        &self,
        config: &str,
        files: &[&str],
        secrets: &[(String, Secret)],
    ) -> Result<Packed, Problem> {
        let config = Config::parse(config, "muster.toml").unwrap();
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        pack(self.dir.path(), &config, &files, secrets)
    }

    pub(crate) fn pack(&self) -> Result<Packed, Problem> {
        self.pack_with(CONFIG, &[FILE], &[])
    }

    pub(crate) async fn collect(&self) -> CollectedFile {
        let packed = self.pack().unwrap();
        collect(&packed, limits()).await
    }

    /// Runs the test with this last title.
    pub(crate) async fn run(&self, title: &str, parent: Parent) -> Heard {
        let packed = self.pack().unwrap();
        let collected = collect(&packed, limits()).await;
        assert_eq!(collected.problem, None);
        let test = collected
            .tests
            .iter()
            .find(|test| test.title_path.last().unwrap() == title)
            .expect("declared");
        parent.hear(&packed, &test.id).await
    }
}

pub(crate) const FILE: &str = "tests/a.e2e.ts";

pub(crate) fn limits() -> Limits {
    Limits {
        slice_ms: 20_000,
        ..Limits::default()
    }
}

pub(crate) async fn collect(packed: &Packed, limits: Limits) -> CollectedFile {
    let request = collect_request(packed, vec![FILE.to_owned()], limits).unwrap();
    let mut heard = Parent::default().talk(request).await;
    match heard.last() {
        FromWorker::Collected { mut files } => files.remove(0),
        other => panic!("not collected: {other:?}"),
    }
}

/// A parent's answer to a step; none = never.
type Answer = Box<dyn FnMut(&Op) -> Option<CallResult>>;

/// How the parent answers.
pub(crate) struct Parent {
    pub(crate) limits: Limits,
    pub(crate) secrets: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) cleanup_timeout_ms: u64,
    pub(crate) answer: Answer,
    /// Abandons the body once this many steps were asked for.
    pub(crate) abandon_after: Option<usize>,
}

impl Default for Parent {
    fn default() -> Self {
        Self {
            limits: limits(),
            secrets: vec!["admin".to_owned(), "api-key".to_owned()],
            seed: 7,
            cleanup_timeout_ms: 2_000,
            answer: Box::new(|op| Some(usual(op))),
            abandon_after: None,
        }
    }
}

impl Parent {
    pub(crate) fn answering(answer: impl FnMut(&Op) -> Option<CallResult> + 'static) -> Self {
        Self {
            answer: Box::new(answer),
            ..Self::default()
        }
    }

    pub(crate) async fn hear(self, packed: &Packed, test_id: &str) -> Heard {
        let request = ToWorker::Run {
            version: VERSION,
            modules: run_modules(&packed.bundle, &packed.blobs).unwrap(),
            file: FILE.to_owned(),
            test_id: test_id.to_owned(),
            base_url: "http://127.0.0.1:3000".to_owned(),
            secrets: self.secrets.clone(),
            seed: self.seed,
            cleanup_timeout_ms: self.cleanup_timeout_ms,
            limits: self.limits,
        };
        self.talk(request).await
    }

    /// Sends `request` to a worker at the other end of a pipe and answers its steps until it ends.
    pub(crate) async fn talk(mut self, request: ToWorker) -> Heard {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let worker = serve(reader, writer);
        let parent = async {
            let (reader, writer) = tokio::io::split(ours);
            let mut inbox = FramedRead::new(reader, FrameCodec::<FromWorker>::new());
            let mut outbox = FramedWrite::new(writer, FrameCodec::<FromWorker>::new());
            outbox.send(request).await.unwrap();
            let mut frames = Vec::new();
            let mut asked = 0;
            while let Some(frame) = inbox.next().await {
                let frame = frame.unwrap();
                if let FromWorker::Call { id, op, .. } = &frame {
                    asked += 1;
                    if let Some(result) = (self.answer)(op) {
                        // A worker may end while answers to steps that nobody awaits are under way.
                        let _ = outbox.send(ToWorker::Reply { id: *id, result }).await;
                    }
                    if self.abandon_after == Some(asked) {
                        let problem = Problem::new(
                            ErrorCode::TestTimeout,
                            "the test took longer than 100 ms",
                        );
                        outbox.send(ToWorker::Abandon { problem }).await.unwrap();
                    }
                }
                let ended = !matches!(
                    frame,
                    FromWorker::Call { .. }
                        | FromWorker::Console { .. }
                        | FromWorker::Failed {}
                        | FromWorker::BodyEnded { .. }
                );
                frames.push(frame);
                if ended {
                    break;
                }
            }
            frames
        };
        let talked = tokio::time::timeout(Duration::from_secs(60), async {
            tokio::join!(worker, parent)
        });
        let (served, frames) = talked.await.expect("the worker ends");
        served.unwrap();
        Heard { frames }
    }
}

/// What a page of no particular kind would answer.
pub(crate) fn usual(op: &Op) -> CallResult {
    let value = match op {
        Op::Read { what, .. } => match what {
            Read::TextContent {} | Read::InputValue {} | Read::Attribute { .. } => json!("text"),
            Read::IsEnabled {} | Read::IsChecked {} | Read::IsVisible {} | Read::IsHidden {} => {
                json!(true)
            }
            Read::Count {} => json!(2),
            Read::AllTextContents {} => json!(["a", "b"]),
            Read::BoundingBox {} => json!({"x": 1, "y": 2, "width": 3, "height": 4}),
        },
        Op::BrowserUrl {} => json!("http://127.0.0.1:3000/cart"),
        Op::BrowserTitle {} => json!("Cart"),
        Op::AgentAct(_) => {
            json!({"summary": "done", "modelCalls": 1, "decisions": 0, "actions": 2, "cache": null})
        }
        Op::AgentExtract { .. } => json!({"total": 12}),
        _ => Value::Null,
    };
    CallResult::Ok { value }
}

pub(crate) fn failing(code: ErrorCode, message: &str) -> CallResult {
    CallResult::Failed {
        problem: Problem::new(code, message),
        blocked: code.blocked().is_some(),
    }
}

/// Everything a worker said.
pub(crate) struct Heard {
    pub(crate) frames: Vec<FromWorker>,
}

impl Heard {
    pub(crate) fn last(&mut self) -> FromWorker {
        self.frames.pop().expect("a worker says something")
    }

    pub(crate) fn end(&self) -> &FromWorker {
        self.frames.last().expect("a worker says something")
    }

    /// `code place: message` of the outcome and each secondary problem; `passed` or `skipped: …`.
    pub(crate) fn story(&self) -> Vec<String> {
        use muster_suite::frame::TestOutcome;
        match self.end() {
            FromWorker::Done { outcome, secondary } => {
                let first = match outcome {
                    TestOutcome::Passed {} => "passed".to_owned(),
                    TestOutcome::Skipped { reason } => format!("skipped: {reason}"),
                    TestOutcome::Failed { problem } => line(problem),
                };
                std::iter::once(first)
                    .chain(secondary.iter().map(line))
                    .collect()
            }
            FromWorker::Broken { problem } => vec![format!("broken {}", line(problem))],
            other => panic!("not an end: {other:?}"),
        }
    }

    pub(crate) fn console(&self) -> Vec<String> {
        let line = |frame: &FromWorker| match frame {
            FromWorker::Console { level, text } => Some(format!("{level}: {text}")),
            _ => None,
        };
        self.frames.iter().filter_map(line).collect()
    }

    /// `place op` of each step.
    pub(crate) fn calls(&self) -> Vec<String> {
        let call = |frame: &FromWorker| match frame {
            FromWorker::Call { op, place, .. } => Some(format!(
                "{} {}",
                place
                    .as_ref()
                    .map_or_else(|| "?".to_owned(), ToString::to_string),
                serde_json::to_string(op).unwrap()
            )),
            _ => None,
        };
        self.frames.iter().filter_map(call).collect()
    }
}

/// `code place: message`, then what was wanted, seen and near.
pub(crate) fn line(problem: &Problem) -> String {
    let place = problem
        .place
        .as_ref()
        .map_or_else(|| "?".to_owned(), ToString::to_string);
    let mut line = format!("{} {place}: {}", problem.code, problem.message);
    for (what, text) in [("expected", &problem.expected), ("actual", &problem.actual)] {
        if let Some(text) = text {
            line.push_str(&format!(" [{what} {text}]"));
        }
    }
    for near in &problem.near {
        line.push_str(&format!(" [near {near}]"));
    }
    line
}
