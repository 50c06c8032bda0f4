//! From a project and a selection to units and a packed suite: discover, pack, collect, select.

use std::collections::BTreeMap;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_proto::v1;
use muster_suite::bundle::Packed;
use muster_suite::config::EgressPolicy;
use muster_suite::select::{self, Plan as Expansion, Positional, Selection};

use crate::args::SelectArgs;
use crate::collect;
use crate::env::Env;
use crate::failure::Failure;
use crate::project::Project;
use crate::summary::LastReport;

/// What is to run.
pub(crate) struct Plan {
    pub(crate) packed: Packed,
    /// In collection order, skipped ones included; never empty.
    pub(crate) units: Vec<v1::Unit>,
}

/// What the command line says beside the selection.
pub(crate) struct PlanOptions {
    pub(crate) retries: Option<u32>,
    pub(crate) repeat: u32,
}

/// Loads every test file in a worker, and selects.
pub(crate) async fn plan(
    project: &Project,
    select: &SelectArgs,
    options: &PlanOptions,
    env: &Env,
) -> Result<Plan, Failure> {
    let selection = selection(select, env)?;
    let last = if select.last_failed {
        Some(LastReport::read(&project.output())?.ok_or_else(|| {
            Failure::new(
                ErrorCode::NoLastRun,
                format!(
                    "--last-failed needs the report of an earlier run in {}; run once without it",
                    project.output().display()
                ),
            )
        })?)
    } else {
        // Only a hint for the order: an unreadable one is no reason to fail.
        LastReport::read(&project.output()).ok().flatten()
    };

    let files = muster_script::discover(&project.dir, &project.config.tests)?;
    if files.is_empty() {
        return Err(Failure::new(
            ErrorCode::NoTests,
            format!(
                "no file matches tests.include = {:?} in {}",
                project.config.tests.include,
                project.dir.display()
            ),
        ));
    }
    let packed = muster_script::pack(
        &project.dir,
        &project.config,
        &files,
        &secrets(project, env),
    )?;
    let collected = collect::collect(&packed, &files, env).await?;
    let tests = select::select(&collected, &selection).map_err(Failure)?;
    let mut units = select::expand(
        &tests,
        &Expansion {
            config: &project.config,
            targets: &select.target,
            agents: &select.agent,
            repeat: options.repeat,
            retries: options.retries,
            ci: env.ci(),
            requires: &["browser:chromium".to_owned()],
        },
    )?;
    for unit in &mut units {
        let target = project.config.targets.get(&unit.target);
        if target.is_some_and(|target| target.egress.policy != EgressPolicy::Open) {
            unit.requires.push("egress".to_owned());
        }
    }
    if let Some(last) = &last {
        if select.last_failed {
            units.retain(|unit| last.did_not_pass(&unit.unit_id));
            if units.is_empty() {
                return Err(Failure::new(
                    ErrorCode::NoTests,
                    "everything that is selected passed in the last run; run without --last-failed",
                ));
            }
        }
        for unit in &mut units {
            unit.expected_ms = last.duration_ms(&unit.unit_id);
        }
    }
    Ok(Plan { packed, units })
}

fn selection(args: &SelectArgs, env: &Env) -> Result<Selection, Problem> {
    Ok(Selection {
        positionals: args
            .patterns
            .iter()
            .map(|text| {
                Positional::parse(text).map_err(|reason| Problem::new(ErrorCode::NoTests, reason))
            })
            .collect::<Result<_, _>>()?,
        tags: args.tag.clone(),
        exclude_tags: args.exclude_tag.clone(),
        grep: args
            .grep
            .as_deref()
            .map(|text| select::pattern("--grep", text))
            .transpose()?,
        ci: env.ci(),
        ..Selection::default()
    })
}

/// Current values of declared secrets on this machine, so that no file that holds one is packed.
/// Commands are not run for it.
fn secrets(project: &Project, env: &Env) -> Vec<(String, Secret)> {
    let values: BTreeMap<_, _> = project
        .config
        .secrets
        .iter()
        .filter_map(|(name, source)| {
            let value = match (&source.env, &source.file) {
                (Some(variable), _) => env.vars.get(variable)?.clone(),
                (None, Some(file)) => std::fs::read_to_string(project.dir.join(file)).ok()?,
                (None, None) => return None,
            };
            Some((
                name.clone(),
                Secret::new(value.trim_end_matches(['\r', '\n'])),
            ))
        })
        .collect();
    values.into_iter().collect()
}
