//! `muster list`: what a run would contain.

use crate::args::ListArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::plan::{self, PlanOptions};
use crate::progress::title;
use crate::project::Project;

pub(crate) async fn list(args: ListArgs, env: &Env) -> Result<u8, Failure> {
    let project = Project::load(&args.project, env)?;
    let plan = plan::plan(
        &project,
        &args.select,
        &PlanOptions {
            retries: None,
            repeat: 1,
        },
        env,
    )
    .await?;
    if args.json {
        let tests: Vec<_> = plan
            .units
            .iter()
            .map(|unit| {
                serde_json::json!({
                    "unitId": unit.unit_id,
                    "testId": unit.test_id,
                    "file": unit.file,
                    "line": unit.line,
                    "titlePath": unit.title_path,
                    "target": unit.target,
                    "agent": unit.agent,
                    "tags": unit.tags,
                    "skip": (!unit.skip_reason.is_empty()).then_some(&unit.skip_reason),
                })
            })
            .collect();
        println!("{}", serde_json::Value::from(tests));
        return Ok(0);
    }
    for unit in &plan.units {
        let skip = if unit.skip_reason.is_empty() {
            String::new()
        } else {
            format!("  skipped: {}", unit.skip_reason)
        };
        let tags = if unit.tags.is_empty() {
            String::new()
        } else {
            format!("  @{}", unit.tags.join(" @"))
        };
        println!(
            "{}:{} [{}]{tags}{skip}",
            title(unit),
            unit.line,
            unit.target
        );
    }
    let files: std::collections::BTreeSet<_> = plan.units.iter().map(|unit| &unit.file).collect();
    println!("{} tests in {} files", plan.units.len(), files.len());
    Ok(0)
}
