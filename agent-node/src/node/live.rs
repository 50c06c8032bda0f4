//! The real runner: rents a page, a worker and a way out for each attempt, and takes them back.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_cache_store::ReplayStore;
use muster_proto::canonical;
use muster_proto::code::{Class, ErrorCode};
use muster_proto::id::RunId;
use muster_proto::outcome::{Problem, Status};
use muster_providers::child::{CommandLine, Supervisor};
use muster_redact::Redactor;
use muster_suite::config::node::NodePolicy;
use muster_suite::config::{EgressPolicy, RunSpec};
use tokio::time::timeout;

use super::browsers::{Browsers, Context};
use super::egress::Policy;
use super::runner::{Assignment, Runner};
use super::suites::{Suite, Suites};
use super::worker;
use crate::attempt::{self, AttemptInput, AttemptOutput, Brains};
use crate::harness::{Files, Ground, Vault};

/// Most time for fetching a suite.
const FETCH: Duration = Duration::from_secs(120);
/// Most time for a page, a browser's start included.
const OPEN: Duration = Duration::from_secs(60);
/// What an attempt may take beyond its unit's time and the time of ten `afterEach` hooks. An
/// attempt ends by itself; one that overstays is our bug, and must not hold its slot for ever.
const OVERSTAY: Duration = Duration::from_secs(60);

/// Runs an attempt in what was rented for it.
pub type Attempt = Arc<dyn Fn(AttemptInput) -> BoxFuture<'static, AttemptOutput> + Send + Sync>;

/// See the module.
pub(super) struct Live {
    pub(super) attempt: Attempt,
    pub(super) browsers: Browsers,
    /// Whether its contexts go out through the node's proxies.
    pub(super) egress: bool,
    pub(super) suites: Arc<Suites>,
    pub(super) recordings: Arc<dyn ReplayStore>,
    pub(super) brains: Arc<dyn Brains>,
    pub(super) supervisor: Supervisor,
    pub(super) worker: CommandLine,
    pub(super) env: Arc<BTreeMap<String, String>>,
    pub(super) policy: Arc<NodePolicy>,
    pub(super) folder: PathBuf,
}

#[async_trait]
impl Runner for Live {
    fn capabilities(&self) -> Vec<String> {
        let mut capabilities = vec!["browser:chromium".to_owned()];
        if self.egress {
            capabilities.push("egress".to_owned());
        }
        capabilities
    }

    fn policy_digest(&self) -> String {
        self.digest(self.policy.at_most())
    }

    async fn run(&self, assignment: Assignment) -> Result<AttemptOutput, Problem> {
        let cancel = assignment.cancel.clone();
        let cancelled = || {
            Problem::new(
                ErrorCode::Cancelled,
                "the lease ended before the attempt began",
            )
        };
        let suite = cancel.run_until_cancelled(self.suite(&assignment)).await;
        let (spec, suite) = suite.ok_or_else(cancelled)??;
        let vault = cancel.run_until_cancelled(self.vault(&spec)).await;
        let vault = vault.ok_or_else(cancelled)?;
        let target = &assignment.unit.target;
        let (app, _) = attempt::target(&spec, target)?;
        let egress = &spec.targets[target].egress;
        let policy = Arc::new(Policy::new(&app, egress, self.policy.at_most()));
        let context = cancel
            .run_until_cancelled(self.browsers.open(spec.viewport, &policy, OPEN))
            .await;
        let context = context.ok_or_else(cancelled)??;
        let (worker, pipes) = match worker::start(&self.supervisor, &self.worker) {
            Ok(started) => started,
            Err(problem) => {
                context.close().await;
                return Err(problem);
            }
        };

        let longest = Duration::from_millis(assignment.unit.timeout_ms)
            + Duration::from_millis(spec.timeouts.cleanup_ms) * 10
            + OVERSTAY;
        let input = AttemptInput {
            run: RunId(assignment.lease.token.unwrap_or_default().run_id),
            node: assignment.node,
            unit: assignment.unit,
            try_: assignment.lease.r#try,
            secrets: vault.clone(),
            spec,
            modules: Arc::clone(&suite.modules),
            files: Files::new(Arc::clone(&suite.files), Arc::clone(&self.suites) as _),
            page: Arc::clone(&context.page),
            worker: pipes,
            brains: Arc::clone(&self.brains),
            recordings: Arc::clone(&self.recordings),
            cache: assignment.lease.cache.unwrap_or_default(),
            denials: context.denials(),
            grant: assignment.lease.grant.unwrap_or_default(),
            policy_digest: self.digest(policy.kind()),
            progress: assignment.news,
            cancel,
        };
        // Whatever becomes of it, what was rented is taken back.
        let ended = timeout(
            longest,
            AssertUnwindSafe((self.attempt)(input)).catch_unwind(),
        )
        .await;
        // By what the attempt came to know meanwhile.
        let redactor = vault.redactor();
        worker.end(&redactor).await;
        let ended = match ended {
            Ok(Ok(output)) => Ok(blame_the_browser(output, &context, &redactor)),
            Ok(Err(panic)) => {
                context.close().await;
                resume_unwind(panic);
            }
            Err(_) => Err(Problem::new(
                ErrorCode::InternalError,
                format!(
                    "the attempt did not end within {} s; please report it",
                    longest.as_secs()
                ),
            )),
        };
        context.close().await;
        ended
    }

    async fn close(&self) {
        self.browsers.close().await;
        self.supervisor.close().await;
    }
}

impl Live {
    async fn suite(&self, assignment: &Assignment) -> Result<(Arc<RunSpec>, Arc<Suite>), Problem> {
        let lease = &assignment.lease;
        let fetch = async {
            let spec = self.suites.spec(&lease.spec_digest).await?;
            Ok((spec, self.suites.suite(&lease.bundle_digest).await?))
        };
        timeout(FETCH, fetch).await.unwrap_or_else(|_| {
            let message = format!(
                "the suite could not be fetched within {} s",
                FETCH.as_secs()
            );
            Err(Problem::new(ErrorCode::CoordinatorUnavailable, message))
        })
    }

    /// Digest of the policy that pages are under.
    fn digest(&self, egress: EgressPolicy) -> String {
        let egress = if self.egress { egress.as_str() } else { "none" };
        canonical::digest(&serde_json::json!({ "schema": 1, "egress": egress }))
    }

    /// The declared secrets, where this node finds them.
    async fn vault(&self, spec: &RunSpec) -> Vault {
        let ground = Ground {
            env: Arc::clone(&self.env),
            folder: self.folder.clone(),
            supervisor: self.supervisor.clone(),
            policy: Arc::clone(&self.policy),
        };
        Vault::open(&spec.secrets, ground).await
    }
}

/// A failure under a browser that died is the browser's, whatever the test made of it.
fn blame_the_browser(
    mut output: AttemptOutput,
    context: &Context,
    redactor: &Redactor,
) -> AttemptOutput {
    let Some(reason) = context.died_of() else {
        return output;
    };
    // It quotes what the browser wrote, and that may quote the app.
    let reason = redactor.text(&reason.to_string());
    let product = output
        .problem
        .as_ref()
        .is_some_and(|problem| problem.class() != Class::Infrastructure);
    if product && matches!(output.status, Status::Failed | Status::TimedOut) {
        let problem = Problem::new(
            ErrorCode::BrowserCrashed,
            format!("the browser died during the attempt: {reason}"),
        );
        let other = output.problem.replace(problem.clone());
        output.record.secondary.splice(0..0, other);
        output.record.problem = Some(problem);
        output.status = Status::Failed;
        output.record.status = Status::Failed;
    }
    output
}
