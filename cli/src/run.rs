//! `muster run`: the main job, from the command line to the exit code.
//!
//! Plan, start the app, start or find the fleet, submit, watch, report. Whatever happens, what was
//! started is ended in order: fleet first, then apps, then the supervisor.

mod client;

use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_suite::config::{CacheSetting, ExecutorKind, Spend};
use tokio_util::sync::CancellationToken;

use crate::app::Apps;
use crate::args::{AgentsArg, CacheModeArg, RunArgs};
use crate::endpoint::{Endpoint, read_token};
use crate::env::Env;
use crate::failure::Failure;
use crate::fleet::{self, Fleet};
use crate::interrupt;
use crate::plan::{self, Plan, PlanOptions};
use crate::progress::Progress;
use crate::project::Project;
use crate::summary;

use self::client::Client;

/// How long a run may take to end after it was asked to stop.
const STOP_WITHIN: Duration = Duration::from_secs(45);

pub(crate) async fn run(args: RunArgs, env: &Env) -> Result<u8, Failure> {
    let stop = interrupt::token().map_err(|error| {
        Failure::new(
            ErrorCode::InternalError,
            format!("signals can't be caught: {error}"),
        )
    })?;
    let project = Project::load(&args.project, env)?;
    let endpoint = args
        .coordinator
        .as_deref()
        .map(Endpoint::parse)
        .transpose()?;
    let options = PlanOptions {
        retries: args.retries,
        repeat: args.repeat_each,
    };
    let plan = unless(&stop, plan::plan(&project, &args.select, &options, env)).await?;
    let targets = targets(&plan);
    eprintln!(
        "{} tests of {}",
        plan.units.len(),
        project.config.project.id
    );
    if let Some(endpoint) = &endpoint {
        check_reachable(&project, &targets, endpoint)?;
    }

    let supervisor = fleet::supervisor(env).await?;
    let result = async {
        let mut apps = unless(&stop, Apps::start(&project, &targets, &supervisor, env)).await?;
        let result = over_fleet(&args, &project, plan, &mut apps, endpoint, env, &stop).await;
        apps.stop().await;
        result
    }
    .await;
    supervisor.close().await;
    result
}

/// What `work` yields, unless somebody stops it first. Dropped work takes its children along.
async fn unless<T>(
    stop: &CancellationToken,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        () = stop.cancelled() => Err(interrupted("before anything was submitted")),
        result = work => result,
    }
}

fn interrupted(when: &str) -> Failure {
    Failure::new(ErrorCode::Interrupted, format!("interrupted {when}"))
}

async fn over_fleet(
    args: &RunArgs,
    project: &Project,
    plan: Plan,
    apps: &mut Apps,
    endpoint: Option<Endpoint>,
    env: &Env,
    stop: &CancellationToken,
) -> Result<u8, Failure> {
    match endpoint {
        Some(endpoint) => {
            let token = args.token_file.as_deref().map(read_token).transpose()?;
            let client = Client::connect(&endpoint, token.as_ref()).await?;
            one_run(args, project, plan, apps, client, env, stop).await
        }
        None => {
            let fleet = Fleet::start(
                project,
                args.nodes,
                args.slots.unwrap_or_else(fleet::default_slots),
                env,
            )
            .await?;
            let result = match Client::connect(&fleet.endpoint(), None).await {
                Ok(client) => one_run(args, project, plan, apps, client, env, stop).await,
                Err(failure) => Err(failure),
            };
            fleet.stop().await;
            result
        }
    }
}

async fn one_run(
    args: &RunArgs,
    project: &Project,
    plan: Plan,
    apps: &mut Apps,
    mut client: Client,
    env: &Env,
    stop: &CancellationToken,
) -> Result<u8, Failure> {
    let mut spec = project.config.spec(&apps.urls);
    if args.agents == AgentsArg::None {
        for agent in spec.agents.values_mut() {
            agent.executor = ExecutorKind::Abort;
        }
    }
    let options = v1::RunOptions {
        max_failures: args.max_failures.unwrap_or(0),
        cache_mode: cache_mode(args, project, env).into(),
        traceparent: String::new(),
        budget: Some(budget(&project.config.budgets.run)),
    };
    let run_id = client.submit(&plan, &spec, options).await?;
    let mut progress = Progress::new(Progress::wanted(env.ci()));
    let stopped = tokio::select! {
        watched = client.watch(&run_id, |event| progress.on_event(event)) => {
            watched?;
            None
        }
        () = stop.cancelled() => Some(None),
        reason = apps.died() => Some(Some(Problem::new(ErrorCode::AppUnreachable, reason))),
    };
    progress.finish();
    let ending = async {
        if let Some(problem) = &stopped {
            let reason = problem
                .as_ref()
                .map_or("interrupted", |problem| &problem.message);
            client
                .clone()
                .cancel(&run_id, reason, problem.as_ref())
                .await?;
        }
        client.finished(&run_id).await
    };
    let ended = tokio::time::timeout(STOP_WITHIN, ending)
        .await
        .unwrap_or_else(|_| {
            let message = format!(
                "run {run_id} did not end within {} s of its stop",
                STOP_WITHIN.as_secs()
            );
            Err(Failure::new(ErrorCode::InternalError, message))
        });
    let run = match ended {
        Ok(run) => run,
        // Whatever kept it from ending in order, somebody stopped it.
        Err(failure) if stop.is_cancelled() => {
            eprintln!("{}", failure.render());
            return Err(interrupted("before the run could end in order"));
        }
        Err(failure) => return Err(failure),
    };
    let records = client.records(&run).await;
    summary::report(project, &run, &records, args.debug)
}

/// Targets that some unit runs on, in order.
fn targets(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = plan
        .units
        .iter()
        .filter(|unit| unit.skip_reason.is_empty())
        .map(|unit| unit.target.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn cache_mode(args: &RunArgs, project: &Project, env: &Env) -> v1::CacheMode {
    let setting = match (args.no_cache, args.cache) {
        (true, _) | (_, Some(CacheModeArg::Off)) => CacheSetting::Off,
        (_, Some(CacheModeArg::ReadOnly)) => CacheSetting::ReadOnly,
        (_, Some(CacheModeArg::ReadWrite)) => CacheSetting::ReadWrite,
        (_, None) => project.config.cache.mode.unwrap_or(if env.ci() {
            CacheSetting::ReadOnly
        } else {
            CacheSetting::ReadWrite
        }),
    };
    match setting {
        CacheSetting::ReadWrite => v1::CacheMode::ReadWrite,
        CacheSetting::ReadOnly => v1::CacheMode::ReadOnly,
        CacheSetting::Off => v1::CacheMode::Off,
    }
}

/// Nodes on other machines can't reach an app on this one's loopback.
fn check_reachable(
    project: &Project,
    targets: &[String],
    endpoint: &Endpoint,
) -> Result<(), Failure> {
    if endpoint.on_this_machine() {
        return Ok(());
    }
    let loopback = targets.iter().find(|name| {
        url::Url::parse(&project.config.targets[*name].app.url).is_ok_and(|url| match url.host() {
            Some(url::Host::Ipv4(host)) => host.is_loopback(),
            Some(url::Host::Ipv6(host)) => host.is_loopback(),
            Some(url::Host::Domain(host)) => host == "localhost" || host.ends_with(".localhost"),
            None => false,
        })
    });
    match loopback {
        Some(name) => Err(Failure::new(
            ErrorCode::InvalidAppUrl,
            format!(
                "targets.{name}.app.url = {:?} is this machine's loopback, which nodes of {endpoint} can't reach; write an address that they can",
                project.config.targets[name].app.url
            ),
        )),
        None => Ok(()),
    }
}

/// What the run may spend, as the coordinator takes it.
fn budget(spend: &Spend) -> v1::BudgetGrant {
    v1::BudgetGrant {
        model_calls: spend.model_calls,
        decisions: spend.decisions,
        actions: spend.actions,
        tokens: spend.tokens,
        microusd: spend.microusd(),
    }
}
