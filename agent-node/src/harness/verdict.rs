//! Turns what an executor says into an outcome; nothing else does.

use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::verdict::{Verdict, VerdictStatus};

/// Longest summary, characters.
const MAX_SUMMARY: usize = 2000;

/// Checks a verdict against what the harness recorded itself. A breach is MODEL_OUTPUT_INVALID.
///
/// `recorded` holds the conditions that ended the step: only with them may a verdict carry a
/// runtime-only code.
pub fn validate(verdict: Verdict, recorded: &[ErrorCode]) -> Result<Verdict, Problem> {
    let summary: String = verdict.summary.trim().chars().take(MAX_SUMMARY).collect();
    if summary.is_empty() {
        return Err(invalid("a verdict without a summary".to_owned()));
    }
    let code = match (verdict.status, verdict.code) {
        _ if !Guard::VerdictCode.holds() => verdict.code,
        (VerdictStatus::Passed, None) => None,
        (VerdictStatus::Passed, Some(code)) => {
            return Err(invalid(format!("`passed` together with {code}")));
        }
        (VerdictStatus::Failed, None) => Some(ErrorCode::ActionFailed),
        (VerdictStatus::Blocked, None) => {
            return Err(invalid("`blocked` without a code".to_owned()));
        }
        (VerdictStatus::Blocked, Some(code)) if code.blocked().is_none() => {
            return Err(invalid(format!(
                "`blocked` with {code}, which blocks nothing"
            )));
        }
        (VerdictStatus::Failed | VerdictStatus::Blocked, Some(code)) => {
            allowed(code, recorded)?;
            Some(code)
        }
    };
    Ok(Verdict {
        status: verdict.status,
        summary,
        code,
    })
}

/// The condition among `recorded` after which no verdict counts: the step was over. A model that
/// gave no answer ends a step only if its executor says so; another may have decided instead.
pub fn final_stop(recorded: &[ErrorCode]) -> Option<ErrorCode> {
    recorded.iter().copied().find(|code| {
        !matches!(
            code,
            ErrorCode::ModelUnavailable | ErrorCode::ModelProviderFailed
        )
    })
}

/// Checks a condition that an executor hands on: the runtime's own can't be forged.
pub fn validate_stop(problem: Problem, recorded: &[ErrorCode]) -> Problem {
    match problem.code.runtime_only() && !recorded.contains(&problem.code) {
        true => invalid(format!("{}, which did not happen", problem.code)),
        false => problem,
    }
}

fn allowed(code: ErrorCode, recorded: &[ErrorCode]) -> Result<(), Problem> {
    // What an executor, not its model, may conclude about its own work.
    const OWN: [ErrorCode; 6] = [
        ErrorCode::StepNoConclusion,
        ErrorCode::ModelOutputInvalid,
        ErrorCode::ContextOverflow,
        ErrorCode::LocatorNotFound,
        ErrorCode::LocatorAmbiguous,
        ErrorCode::AssertionInconclusive,
    ];
    let known = code.model_may_pick() || OWN.contains(&code) || recorded.contains(&code);
    if !Guard::VerdictCode.holds() || known {
        return Ok(());
    }
    Err(invalid(format!("{code}, which only the runner may say")))
}

fn invalid(what: String) -> Problem {
    Problem::new(
        ErrorCode::ModelOutputInvalid,
        format!("the executor's verdict is invalid: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(status: VerdictStatus, code: Option<ErrorCode>) -> Verdict {
        Verdict {
            status,
            summary: "did it".to_owned(),
            code,
        }
    }

    #[test]
    fn the_table() {
        use ErrorCode::*;
        use VerdictStatus::*;
        for (status, code, recorded, expected) in [
            (Passed, None, &[][..], Ok(None)),
            (Passed, Some(ActionFailed), &[], Err(())),
            (Failed, None, &[], Ok(Some(ActionFailed))),
            (
                Failed,
                Some(AssertionFailed),
                &[],
                Ok(Some(AssertionFailed)),
            ),
            (
                Failed,
                Some(StepNoConclusion),
                &[],
                Ok(Some(StepNoConclusion)),
            ),
            (Failed, Some(ModelUnavailable), &[], Err(())),
            (Failed, Some(Interrupted), &[], Err(())),
            (Failed, Some(StepTimeout), &[], Err(())),
            (
                Failed,
                Some(StepTimeout),
                &[StepTimeout],
                Ok(Some(StepTimeout)),
            ),
            (Blocked, None, &[], Err(())),
            (Blocked, Some(AssertionFailed), &[], Err(())),
            (
                Blocked,
                Some(AutomationUnsupported),
                &[],
                Ok(Some(AutomationUnsupported)),
            ),
            (Blocked, Some(StepBudgetExhausted), &[], Err(())),
            (
                Blocked,
                Some(StepBudgetExhausted),
                &[StepBudgetExhausted],
                Ok(Some(StepBudgetExhausted)),
            ),
            (Blocked, Some(StepBudgetExhausted), &[StepTimeout], Err(())),
            (Blocked, Some(ModelUnavailable), &[], Err(())),
        ] {
            let checked = validate(verdict(status, code), recorded);
            assert_eq!(
                checked.as_ref().map(|v| v.code).map_err(|_| ()),
                expected,
                "{status:?} {code:?} {recorded:?}"
            );
            if let Err(problem) = checked {
                assert_eq!(problem.code, ModelOutputInvalid);
            }
        }
    }

    #[test]
    fn a_summary_is_trimmed_cut_and_needed() {
        let long = Verdict {
            summary: format!("  {}", "é".repeat(3000)),
            ..verdict(VerdictStatus::Passed, None)
        };
        assert_eq!(validate(long, &[]).unwrap().summary.chars().count(), 2000);
        let empty = Verdict {
            summary: " \n".to_owned(),
            ..verdict(VerdictStatus::Passed, None)
        };
        assert_eq!(
            validate(empty, &[]).unwrap_err().code,
            ErrorCode::ModelOutputInvalid
        );
    }

    #[test]
    fn a_stop_that_never_happened_is_no_stop() {
        let stop = |code| Problem::new(code, "x");
        assert_eq!(
            validate_stop(stop(ErrorCode::StepTimeout), &[]).code,
            ErrorCode::ModelOutputInvalid
        );
        assert_eq!(
            validate_stop(stop(ErrorCode::StepTimeout), &[ErrorCode::StepTimeout]).code,
            ErrorCode::StepTimeout
        );
        assert_eq!(
            validate_stop(stop(ErrorCode::ModelProviderFailed), &[]).code,
            ErrorCode::ModelProviderFailed
        );
    }

    proptest! {
        #[test]
        fn runtime_codes_are_never_forged(index in 0..ErrorCode::ALL.len(), blocked: bool) {
            let code = ErrorCode::ALL[index];
            let status = if blocked { VerdictStatus::Blocked } else { VerdictStatus::Failed };
            if code.runtime_only() {
                prop_assert!(validate(verdict(status, Some(code)), &[]).is_err());
            }
        }
    }
}
