//! `junit.xml`, for build servers: a suite per file, a case per unit. Failures of class test are
//! failures, all others are errors; what was interrupted or never run is skipped. A condition that
//! stopped the run is an error in a suite named `run`.

use std::path::PathBuf;
use std::time::Duration;

use muster_proto::code::Class;
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::{AttemptReport, Report, Reporter, UnitReport, failed, write};

/// Writes [`Report`] as JUnit XML.
pub struct Junit {
    path: PathBuf,
}

impl Junit {
    /// To this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Reporter for Junit {
    fn on_event(&mut self, _: &v1::RunEvent) {}

    fn finish(self: Box<Self>, report: &Report) -> Result<Vec<PathBuf>, Problem> {
        let text = document(report)
            .to_string()
            .map_err(|error| failed(&self.path, &error))?;
        write(&self.path, text.as_bytes())?;
        Ok(vec![self.path])
    }
}

fn document(report: &Report) -> quick_junit::Report {
    let mut document = quick_junit::Report::new(&report.project);
    let mut suites: Vec<TestSuite> = Vec::new();
    for unit in &report.units {
        let known = suites
            .iter()
            .position(|suite| suite.name.as_str() == unit.file);
        let n = known.unwrap_or_else(|| {
            suites.push(TestSuite::new(&unit.file));
            suites.len() - 1
        });
        suites[n].add_test_case(case(unit));
    }
    if let Some(problem) = report
        .stopped
        .as_ref()
        .and_then(|stopped| stopped.problem.as_ref())
    {
        let mut suite = TestSuite::new("run");
        suite.add_test_case(TestCase::new("run", broken(problem)));
        suites.push(suite);
    }
    document.add_test_suites(suites);
    document
}

fn case(unit: &UnitReport) -> TestCase {
    let mut name = unit.title_path.join(" > ");
    if !unit.target.is_empty() {
        name = format!("{name} [{}]", unit.target);
    }
    if unit.repeat > 0 {
        name = format!("{name} #{}", unit.repeat + 1);
    }
    let status = match unit.status {
        Status::Passed | Status::Flaky => {
            let mut status = TestCaseStatus::success();
            let before = unit.attempts.len().saturating_sub(1);
            status.add_reruns(unit.attempts[..before].iter().map(rerun));
            status
        }
        Status::Failed | Status::TimedOut => unit.problem.as_ref().map_or_else(
            || TestCaseStatus::non_success(NonSuccessKind::Error),
            broken,
        ),
        Status::Skipped => skipped(unit.skip_reason.as_deref().unwrap_or("skipped")),
        Status::Interrupted => skipped(
            unit.problem
                .as_ref()
                .map_or("interrupted", |problem| problem.message.as_str()),
        ),
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(&unit.file)
        .set_time(Duration::from_millis(unit.duration_ms));
    case
}

fn broken(problem: &Problem) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind(problem));
    status
        .set_message(&problem.message)
        .set_type(problem.code.as_str())
        .set_description(describe(problem));
    status
}

fn rerun(attempt: &AttemptReport) -> TestRerun {
    let mut rerun = TestRerun::new(attempt.problem.as_ref().map_or(NonSuccessKind::Error, kind));
    rerun.set_time(Duration::from_millis(attempt.duration_ms));
    if let Some(problem) = &attempt.problem {
        rerun
            .set_message(&problem.message)
            .set_type(problem.code.as_str())
            .set_description(describe(problem));
    }
    rerun
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

fn kind(problem: &Problem) -> NonSuccessKind {
    match problem.class() {
        Class::Test => NonSuccessKind::Failure,
        Class::Configuration | Class::Infrastructure | Class::Internal | Class::Interrupted => {
            NonSuccessKind::Error
        }
    }
}

fn describe(problem: &Problem) -> String {
    let mut lines = vec![problem.to_string()];
    lines.extend(problem.place.as_ref().map(|place| format!("at {place}")));
    lines.extend(
        problem
            .expected
            .as_ref()
            .map(|text| format!("expected: {text}")),
    );
    lines.extend(
        problem
            .actual
            .as_ref()
            .map(|text| format!("actual: {text}")),
    );
    lines.extend(problem.near.iter().map(|near| format!("near: {near}")));
    lines.join("\n")
}
