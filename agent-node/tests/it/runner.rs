//! A runner whose attempts end when and how the test says.

use async_trait::async_trait;
use muster_agent_node::attempt::{AttemptOutput, News};
use muster_agent_node::node::runner::{Assignment, Runner};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Problem, Status};
use muster_proto::step::{AttemptRecord, SCHEMA, Usage};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::soon;

/// How an attempt ends.
pub(crate) enum End {
    Passed,
    Problem(Problem),
    Panic,
}

/// An attempt that runs. Dropped, it ends with a problem.
pub(crate) struct Started {
    pub(crate) unit: String,
    pub(crate) news: mpsc::Sender<News>,
    pub(crate) cancel: CancellationToken,
    end: oneshot::Sender<End>,
}

impl Started {
    pub(crate) fn end(self, end: End) {
        assert!(
            self.end.send(end).is_ok(),
            "the attempt of {} still runs",
            self.unit
        );
    }

    pub(crate) async fn cancelled(&self) {
        soon("the attempt is cancelled", self.cancel.cancelled()).await;
    }
}

pub(crate) struct Scripted {
    started: mpsc::Sender<Started>,
    closed: watch::Sender<bool>,
}

/// The test's side of it.
pub(crate) struct Script {
    started: mpsc::Receiver<Started>,
    pub(crate) closed: watch::Receiver<bool>,
}

pub(crate) fn scripted() -> (Scripted, Script) {
    let (started, told) = mpsc::channel(16);
    let (closed, heard) = watch::channel(false);
    (
        Scripted { started, closed },
        Script {
            started: told,
            closed: heard,
        },
    )
}

impl Script {
    pub(crate) async fn started(&mut self) -> Started {
        soon("an attempt starts", self.started.recv())
            .await
            .unwrap()
    }

    /// The next attempt, whenever it comes; none = the node is gone.
    pub(crate) async fn next(&mut self) -> Option<Started> {
        self.started.recv().await
    }

    pub(crate) fn none_started(&mut self) -> bool {
        self.started.try_recv().is_err()
    }
}

#[async_trait]
impl Runner for Scripted {
    fn capabilities(&self) -> Vec<String> {
        vec!["browser:scripted".to_owned(), "egress".to_owned()]
    }

    fn policy_digest(&self) -> String {
        "policy".to_owned()
    }

    async fn run(&self, assignment: Assignment) -> Result<AttemptOutput, Problem> {
        let (end, ends) = oneshot::channel();
        let started = Started {
            unit: assignment.unit.unit_id,
            news: assignment.news,
            cancel: assignment.cancel.clone(),
            end,
        };
        self.started.send(started).await.ok();
        tokio::select! {
            end = ends => match end {
                Ok(End::Passed) => Ok(passed()),
                Ok(End::Problem(problem)) => Err(problem),
                Ok(End::Panic) => panic!("as the script says"),
                Err(_) => Err(Problem::new(ErrorCode::InternalError, "the script dropped it")),
            },
            () = assignment.cancel.cancelled() => Err(Problem::new(ErrorCode::Cancelled, "cancelled")),
        }
    }

    async fn close(&self) {
        self.closed.send_replace(true);
    }
}

pub(crate) fn passed() -> AttemptOutput {
    AttemptOutput {
        status: Status::Passed,
        problem: None,
        skip_reason: String::new(),
        usage: Usage {
            decisions: 3,
            ..Usage::default()
        },
        record: AttemptRecord {
            schema: SCHEMA,
            node: "n".to_owned(),
            started_at: "2026-01-01T00:00:00.000Z".to_owned(),
            duration_ms: 1,
            status: Status::Passed,
            problem: None,
            secondary: Vec::new(),
            skip_reason: None,
            steps: Vec::new(),
            console: vec!["hello".to_owned()],
            screen_at_failure: None,
            events: Vec::new(),
            tainted: false,
        },
        staged: Vec::new(),
        stop_run: false,
    }
}
