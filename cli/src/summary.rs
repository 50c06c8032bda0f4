//! The end of a run: report files, the summary, the failures last and once each, the exit code.

use std::path::Path;

use console::style;
use muster_coordinator::report::{
    AttemptReport, Json, Junit, Records, Report, Reporter, SCHEMA, UnitReport,
};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Place, Problem, Status};
use muster_proto::step::{CacheMode, StepKind, StepStatus, WriteState};
use muster_proto::v1;

use crate::failure::Failure;
use crate::ledger;
use crate::project::Project;

/// Most lines of the failure screen shown in a terminal; the report has all of it.
const SCREEN_LINES: usize = 12;

/// Writes the reports, prints the summary, answers with the exit code.
/// `debug`: the steps that asked a model go to standard error, as a table.
pub(crate) fn report(
    project: &Project,
    run: &v1::Run,
    records: &Records,
    debug: bool,
) -> Result<u8, Failure> {
    let report = Report::fold(run, records);
    let output = project.output();
    let reporters: [Box<dyn Reporter>; 2] = [
        Box::new(Json::new(output.join("report.json"))),
        Box::new(Junit::new(output.join("junit.xml"))),
    ];
    let mut unwritten = Vec::new();
    for reporter in reporters {
        if let Err(problem) = reporter.finish(&report) {
            unwritten.push(problem);
        }
    }
    if debug {
        eprint!("\n{}", ledger::steps(&report));
    }
    print!("{}", render(&report, &project.dir, &output));
    let code = u8::try_from(report.exit_code).unwrap_or(4);
    if unwritten.is_empty() {
        return Ok(code);
    }
    let failure = Failure(unwritten);
    eprintln!("{}", failure.render());
    Ok(code.max(failure.exit_code()))
}

/// The summary as text.
fn render(report: &Report, project: &Path, output: &Path) -> String {
    let mut text = String::from("\n");
    for warning in unverified(report) {
        text.push_str(&format!("{} {warning}\n", style("warning").yellow()));
    }
    let bad: Vec<&UnitReport> = report
        .units
        .iter()
        .filter(|unit| {
            !matches!(
                unit.status,
                Status::Passed | Status::Flaky | Status::Skipped
            )
        })
        .collect();
    // Units that the stop itself ended have nothing of their own to say.
    let told: Vec<&&UnitReport> = bad
        .iter()
        .filter(|unit| report.stopped.is_none() || unit.status != Status::Interrupted)
        .collect();
    for unit in &told {
        text.push_str(&failure(unit, project));
    }
    if let Some(stopped) = &report.stopped {
        text.push_str(&format!(
            "\n{} {}\n",
            style("the run was stopped:").red(),
            stopped.reason
        ));
        if let Some(problem) = &stopped.problem {
            if problem.message != stopped.reason {
                text.push_str(&format!("  {}\n", problem.message));
            }
            text.push_str(&format!("  {}\n", problem.code));
        }
    }
    let counts = report.counts;
    let mut parts = vec![format!("{} passed", counts.passed + counts.flaky)];
    for (count, word) in [
        (counts.flaky, "of them flaky"),
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.interrupted, "interrupted"),
        (counts.never_run, "never run"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let ai = report.totals.ai;
    let cache = report.totals.cache;
    let verdict = match report.exit_code {
        0 => style(report.verdict.as_str()).green(),
        _ => style(report.verdict.as_str()).red(),
    };
    text.push_str(&format!("\n{verdict}  {}\n", parts.join(", ")));
    let tokens = match ai.model_calls {
        0 => String::new(),
        _ => format!(", {}", ledger::tokens(&ai)),
    };
    text.push_str(&format!(
        "AI      {} model calls, {} decisions, {} actions{tokens}\n",
        ai.model_calls, ai.decisions, ai.actions
    ));
    text.push_str(&ledger::models(&report.totals.models));
    text.push_str(&format!(
        "Cache   {} goals: {} replayed ({} recorded by another node), {} handed off, {} missed\n        {} saved, {} kept, {} evicted, {} unconfirmed, {} not written\n",
        cache.goals,
        cache.replayed,
        cache.replayed_on_other_node,
        cache.handed_off,
        cache.missed,
        cache.saved,
        cache.kept,
        cache.evicted,
        cache.unconfirmed,
        cache.not_written
    ));
    text.push_str(&format!(
        "Report  {}\n",
        output.join("report.json").display()
    ));
    if !told.is_empty() {
        text.push_str("Again   muster run --last-failed\n");
    }
    text
}

/// Goals that no later check verified: they are never recorded.
fn unverified(report: &Report) -> Vec<String> {
    let mut warnings: Vec<String> = report
        .units
        .iter()
        .filter_map(|unit| unit.attempts.last())
        .filter(|attempt| attempt.status == Status::Passed)
        .flat_map(|attempt| &attempt.steps)
        .filter_map(|step| {
            let agent = step.agent.as_ref().filter(|agent| agent.call == "act" && !agent.verified)?;
            // Where the cache is off nothing is recorded anyway, and nobody asks what was verified.
            agent.cache.as_ref().filter(|cache| cache.mode != CacheMode::Off)?;
            (step.status == StepStatus::Passed).then(|| {
                let place = step.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
                format!("{place}no later check verifies the goal “{}”, so it is not recorded; add a check after it", agent.instruction)
            })
        })
        .collect();
    warnings.sort();
    warnings.dedup();
    warnings
}

fn failure(unit: &UnitReport, project: &Path) -> String {
    let mut text = format!("\n{} {}", style("✗").red(), style(unit_title(unit)).bold());
    if let Some(attempt) = unit.attempts.last() {
        text.push_str(&format!(
            "  {}",
            style(format!(
                "try {}, {} on {}",
                attempt.r#try + 1,
                duration(attempt.duration_ms),
                attempt.node
            ))
            .dim()
        ));
    }
    text.push('\n');
    let problem = unit.problem.as_ref().or_else(|| {
        unit.attempts
            .last()
            .and_then(|attempt| attempt.problem.as_ref())
    });
    if let Some(problem) = problem {
        text.push_str(&explain(problem, project));
    }
    if let Some(attempt) = unit.attempts.last() {
        for second in &attempt.secondary {
            text.push_str(&format!("  also {}", explain(second, project).trim_start()));
        }
        text.push_str(&steps(attempt));
        text.push_str(&screen(attempt));
    }
    let agent = if unit.agent == "default" {
        String::new()
    } else {
        format!(" --agent {}", unit.agent)
    };
    text.push_str(&format!(
        "  again: muster run {}:{} --target {}{agent}\n",
        unit.file, unit.line, unit.target
    ));
    text
}

/// A problem as a person reads it: place, code, the source line, message, then what was wanted and
/// seen.
fn explain(problem: &Problem, project: &Path) -> String {
    let place = problem
        .place
        .as_ref()
        .map(|place| format!("{place}  "))
        .unwrap_or_default();
    let mut text = format!("  {place}{}\n", style(problem.code).red());
    if let Some(line) = problem
        .place
        .as_ref()
        .and_then(|place| source_line(project, place))
    {
        text.push_str(&format!("    {}\n", style(line).bold()));
    }
    for line in problem.message.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    if let Some(expected) = &problem.expected {
        text.push_str(&format!("    expected  {}\n", style(expected).green()));
    }
    if let Some(actual) = &problem.actual {
        text.push_str(&format!("    actual    {}\n", style(actual).red()));
    }
    for near in &problem.near {
        text.push_str(&format!("    near      {near}\n"));
    }
    text
}

/// The line that a place names, as it stands now; none where the file has changed or gone.
fn source_line(project: &Path, place: &Place) -> Option<String> {
    let text = std::fs::read_to_string(project.join(&place.file)).ok()?;
    let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let line = text.lines().nth(index)?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The last goal's actions: what led to the failure.
fn steps(attempt: &AttemptReport) -> String {
    let Some(goal) = attempt
        .steps
        .iter()
        .rev()
        .find(|step| step.kind == StepKind::Agent)
    else {
        return String::new();
    };
    let Some(agent) = &goal.agent else {
        return String::new();
    };
    let how = match agent.cache.as_ref().map(|cache| cache.mode) {
        Some(CacheMode::Replayed) => "replayed",
        Some(CacheMode::HandedOff) => "replayed in part, then decided",
        Some(CacheMode::Missed | CacheMode::Off) | None => "decided",
    };
    let evicted = agent.cache.as_ref().and_then(|cache| cache.write) == Some(WriteState::Evicted);
    let evicted = if evicted {
        "; its recording is evicted"
    } else {
        ""
    };
    let mut text = format!("    last goal “{}” ({how}{evicted})\n", agent.instruction);
    for action in agent.actions.iter().take(SCREEN_LINES) {
        text.push_str(&format!("      {action}\n"));
    }
    text
}

fn screen(attempt: &AttemptReport) -> String {
    let Some(screen) = &attempt.screen_at_failure else {
        return String::new();
    };
    let mut text = String::from("    the screen then\n");
    for line in screen.lines().take(SCREEN_LINES) {
        text.push_str(&format!("      {}\n", style(line).dim()));
    }
    let more = screen.lines().count().saturating_sub(SCREEN_LINES);
    if more > 0 {
        text.push_str(&format!("      … {more} more lines in report.json\n"));
    }
    text
}

fn unit_title(unit: &UnitReport) -> String {
    let repeat = if unit.repeat > 0 {
        format!(" #{}", unit.repeat + 1)
    } else {
        String::new()
    };
    format!(
        "{}:{} › {} [{}]{repeat}",
        unit.file,
        unit.line,
        unit.title_path.join(" › "),
        unit.target
    )
}

/// `850 ms`, `12.3 s`, `2 min 5 s`.
pub(crate) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

/// The report of the last run, as far as the next one needs it.
pub(crate) struct LastReport(Report);

impl LastReport {
    /// The report in `output`; none = there was no run, or it is of another version.
    pub(crate) fn read(output: &Path) -> Result<Option<Self>, Failure> {
        let path = output.join("report.json");
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let report: Report =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(&path, &error))?;
        Ok((report.schema == SCHEMA).then_some(Self(report)))
    }

    /// Whether the unit was in the run and did not pass. Skipped ones have nothing to run again.
    pub(crate) fn did_not_pass(&self, unit_id: &str) -> bool {
        self.unit(unit_id).is_some_and(|unit| {
            !matches!(
                unit.status,
                Status::Passed | Status::Flaky | Status::Skipped
            )
        })
    }

    /// How long it took; 0 = unknown.
    pub(crate) fn duration_ms(&self, unit_id: &str) -> u64 {
        self.unit(unit_id).map_or(0, |unit| unit.duration_ms)
    }

    fn unit(&self, unit_id: &str) -> Option<&UnitReport> {
        self.0.units.iter().find(|unit| unit.unit_id == unit_id)
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        ErrorCode::NoLastRun,
        format!(
            "the last report {} can't be read: {error}; run once without --last-failed",
            path.display()
        ),
    )
}
