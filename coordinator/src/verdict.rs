//! From a run's facts to its counts, verdict and exit code. A pure fold: nothing else decides them.
//!
//! Green means that every expected unit passed or was skipped by name or by itself. What never ran
//! is never green, and nothing expected is an error.

use muster_proto::code::{Class, ErrorCode};
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;

use crate::runs::fold::{End, Phase, RunFold};

/// The final fact of a run as it stands.
pub fn verdict(run: &RunFold) -> v1::Final {
    let counts = count(run);
    let worst = worst(run);
    let (exit_code, word) = match &worst {
        None if counts.passed + counts.flaky + counts.skipped == counts.expected => (0, "passed"),
        // Something did not run and nothing says why: never green.
        None => (Class::Interrupted.exit_code(), "interrupted"),
        Some((class, code)) => (class.exit_code(), word(*class, *code)),
    };
    v1::Final {
        exit_code: exit_code.into(),
        verdict: word.to_owned(),
        counts: Some(counts),
    }
}

/// Each expected unit counts once: the fields but `expected` sum to it (units that have not ended
/// count nowhere else). `interrupted` had a lease when the run stopped, `never_run` had none.
pub fn count(run: &RunFold) -> v1::Counts {
    let mut counts = v1::Counts {
        expected: run.units.len() as u32,
        ..Default::default()
    };
    for unit in &run.units {
        let Phase::Ended(end) = &unit.phase else {
            continue;
        };
        let slot = match end.status {
            Status::Passed => &mut counts.passed,
            Status::Flaky => &mut counts.flaky,
            Status::Failed | Status::TimedOut => &mut counts.failed,
            Status::Skipped => &mut counts.skipped,
            Status::Interrupted if unit.epoch == 0 => &mut counts.never_run,
            Status::Interrupted => &mut counts.interrupted,
        };
        *slot += 1;
    }
    counts
}

/// The worst class of all that went wrong, with the code that shows it.
fn worst(run: &RunFold) -> Option<(Class, ErrorCode)> {
    if run.units.is_empty() {
        return Some((Class::Configuration, ErrorCode::NoTests));
    }
    let stop = run
        .cancelled
        .as_ref()
        .map(|cancelled| match &cancelled.problem {
            None => (Class::Interrupted, ErrorCode::Interrupted),
            Some(problem) => {
                let problem = Problem::from(problem);
                (problem.class(), problem.code)
            }
        });
    let units = run.units.iter().filter_map(|unit| match &unit.phase {
        Phase::Ended(end) => fault(end),
        Phase::Waiting | Phase::Leased(_) => None,
    });
    // The first of the worst class stands for it.
    stop.into_iter()
        .chain(units)
        .reduce(|worst, next| if next.0 > worst.0 { next } else { worst })
}

fn fault(end: &End) -> Option<(Class, ErrorCode)> {
    let problem = || {
        end.problem
            .clone()
            .unwrap_or_else(|| Problem::new(ErrorCode::InternalError, ""))
    };
    match end.status {
        Status::Passed | Status::Flaky | Status::Skipped => None,
        Status::TimedOut => Some((Class::Test, problem().code)),
        Status::Failed => Some((problem().class(), problem().code)),
        // A node stopped the attempt by itself. A stopped run's own reason is its `cancelled`.
        Status::Interrupted if end.by_commit => Some((Class::Infrastructure, problem().code)),
        Status::Interrupted => None,
    }
}

fn word(class: Class, code: ErrorCode) -> &'static str {
    match class {
        Class::Test => "failed",
        Class::Interrupted => "interrupted",
        Class::Internal => "error",
        Class::Configuration | Class::Infrastructure if code.blocked().is_some() => "blocked",
        Class::Configuration | Class::Infrastructure => "error",
    }
}

#[cfg(test)]
mod tests {
    use muster_proto::v1::run_event::Event;
    use prost::Message;

    use super::*;

    /// Units that end with these results, in order; `""` never ends, `skip` is skipped by name.
    fn run(results: &[&str], stop: Option<Option<&str>>) -> v1::Final {
        let unit = |(n, what): (usize, &&str)| v1::Unit {
            unit_id: n.to_string(),
            skip_reason: if *what == "skip" {
                "by name".to_owned()
            } else {
                String::new()
            },
            ..Default::default()
        };
        let units = results.iter().enumerate().map(unit).collect();
        let mut fold = RunFold::plan(v1::Manifest {
            units,
            ..Default::default()
        });
        for (n, what) in results
            .iter()
            .enumerate()
            .filter(|(_, what)| !["", "skip"].contains(*what))
        {
            let mut result = v1::AttemptResult::default();
            match *what {
                "pass" => result.set_status(v1::Status::Passed),
                "interrupted" => result.set_status(v1::Status::Interrupted),
                code => {
                    result.problem = Some(v1::Problem {
                        code: code.to_owned(),
                        ..Default::default()
                    });
                    result.set_status(v1::Status::Failed);
                }
            }
            fold.apply(&Event::Committed(v1::Committed {
                unit_id: n.to_string(),
                epoch: 1,
                result: result.encode_to_vec(),
                last: true,
                ..Default::default()
            }));
        }
        if let Some(code) = stop {
            let problem = code.map(|code| v1::Problem {
                code: code.to_owned(),
                ..Default::default()
            });
            fold.apply(&Event::Cancelled(v1::Cancelled {
                reason: String::new(),
                problem,
            }));
        }
        verdict(&fold)
    }

    fn exit(results: &[&str], stop: Option<Option<&str>>) -> (u32, String) {
        let last = run(results, stop);
        (last.exit_code, last.verdict)
    }

    #[test]
    fn green_is_every_unit_passed_or_skipped() {
        assert_eq!(exit(&["pass", "skip"], None), (0, "passed".to_owned()));
        assert_eq!(exit(&["pass", ""], None), (130, "interrupted".to_owned()));
        assert_eq!(exit(&[], None), (2, "error".to_owned()));
        assert_eq!(
            exit(&["pass", "interrupted"], None),
            (3, "error".to_owned())
        );
    }

    #[test]
    fn the_worst_class_decides() {
        let mut codes = vec!["pass"];
        for (code, exit_code, word) in [
            ("ASSERTION_FAILED", 1, "failed"),
            ("POLICY_DENIED", 2, "blocked"),
            ("BROWSER_CRASHED", 3, "error"),
            ("INTERNAL_ERROR", 4, "error"),
        ] {
            codes.insert(0, code);
            assert_eq!(exit(&codes, None), (exit_code, word.to_owned()));
        }
        assert_eq!(exit(&codes, Some(None)), (130, "interrupted".to_owned()));
        assert_eq!(
            exit(&["pass", ""], Some(Some("MODEL_UNAVAILABLE"))),
            (2, "blocked".to_owned())
        );
        assert_eq!(
            exit(&["NODE_LOST", ""], Some(Some("MODEL_UNAVAILABLE"))),
            (3, "error".to_owned())
        );
        assert_eq!(
            exit(&["A_CODE_FROM_TOMORROW"], None),
            (4, "error".to_owned())
        );
    }

    #[test]
    fn a_stopped_run_counts_what_never_ran() {
        let counts = run(&["pass", "skip", "", "ERROR"], Some(None))
            .counts
            .unwrap();
        let sum = counts.passed + counts.skipped + counts.failed + counts.never_run;
        assert_eq!((counts.never_run, sum, counts.expected), (1, 4, 4));
    }
}
