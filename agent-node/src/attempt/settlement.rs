//! What an attempt asks the coordinator to do with the recordings that its goals touched: what is
//! written, kept and evicted, as one table. Pure.

use muster_proto::id::ReplayKey;
use muster_proto::recording::Recording;
use muster_proto::v1::Staged;
use muster_proto::v1::staged::Intent;

/// A goal that met the cache.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Goal {
    /// Its sequence number in the attempt.
    pub(super) step: u32,
    /// Its key.
    pub(super) key: ReplayKey,
    /// First 12 hex digits of its instruction's digest.
    pub(super) instruction_digest: String,
    /// Generation of the entry that was found; 0 = none.
    pub(super) generation: u64,
    /// Actions that were replayed.
    pub(super) replayed: u32,
    /// How it ended.
    pub(super) end: GoalEnd,
    /// The check that verified it.
    pub(super) verified_by: Option<u32>,
}

/// How a goal ended, as far as its recording is concerned.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GoalEnd {
    /// It replayed whole and as recorded.
    Replayed,
    /// It passed otherwise, and this is what was done.
    Recorded {
        /// The new recording.
        recording: Box<Recording>,
        /// It is the flow that was found.
        same: bool,
    },
    /// It passed otherwise and can't be recorded.
    Unrecordable(String),
    /// It was replayed, the end did not look as recorded, and the executor mended it.
    Repaired,
    /// It did not pass.
    Failed,
    /// It ended for a reason that says nothing about the recording.
    Untouched(String),
}

/// How the attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// It did not pass.
    pub(super) failed: bool,
    /// Its end is no product verdict: stopped, or machines and vendors failed.
    pub(super) no_verdict: bool,
    /// The first step that did not pass.
    pub(super) first_failure: Option<u32>,
}

/// What to do with one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Write,
    Keep,
    Evict(String),
    Unconfirmed,
    NoChange(String),
    NotWritten(String),
}

/// The check that verified a goal, if it counts: a failing attempt confirms only what was verified
/// before its first failure.
pub(super) fn verification(goal: &Goal, ending: Ending) -> Option<u32> {
    goal.verified_by.filter(|check| {
        !ending.failed || ending.first_failure.is_none_or(|failure| *check < failure)
    })
}

/// Decides on one goal.
pub(super) fn decide(goal: &Goal, ending: Ending) -> Decision {
    let found = goal.generation > 0;
    match &goal.end {
        GoalEnd::Untouched(why) => return Decision::NoChange(why.clone()),
        GoalEnd::Failed if found && goal.replayed > 0 => {
            return Decision::Evict(format!(
                "the goal failed after {} replayed actions",
                goal.replayed
            ));
        }
        GoalEnd::Failed => return Decision::NoChange("the goal failed".to_owned()),
        GoalEnd::Replayed
        | GoalEnd::Recorded { .. }
        | GoalEnd::Unrecordable(_)
        | GoalEnd::Repaired => {}
    }
    if verification(goal, ending).is_none() {
        return match (ending.no_verdict, found) {
            (true, _) => {
                Decision::NoChange("the attempt ended without a verdict on the product".to_owned())
            }
            (false, true) => Decision::Evict("no later check verified the goal".to_owned()),
            (false, false) => Decision::Unconfirmed,
        };
    }
    match &goal.end {
        GoalEnd::Replayed => Decision::Keep,
        GoalEnd::Recorded { same: true, .. } => {
            Decision::NoChange("the same flow is recorded already".to_owned())
        }
        GoalEnd::Recorded { same: false, .. } => Decision::Write,
        GoalEnd::Unrecordable(why) if found => Decision::Evict(why.clone()),
        GoalEnd::Unrecordable(why) => Decision::NotWritten(why.clone()),
        GoalEnd::Repaired if found => {
            Decision::Evict("the recorded end no longer comes".to_owned())
        }
        GoalEnd::Repaired | GoalEnd::Failed | GoalEnd::Untouched(_) => {
            Decision::NoChange("nothing is recorded".to_owned())
        }
    }
}

/// Decides on all goals; `seal` makes the bytes of an envelope or says why it may not be written.
pub(super) fn settle(
    goals: &[Goal],
    ending: Ending,
    seal: impl Fn(&Goal, &Recording, u32) -> Result<Vec<u8>, String>,
) -> Vec<Staged> {
    goals
        .iter()
        .map(|goal| {
            let (mut decision, mut envelope) = (decide(goal, ending), Vec::new());
            if let (Decision::Write, GoalEnd::Recorded { recording, .. }, Some(check)) =
                (&decision, &goal.end, verification(goal, ending))
            {
                match seal(goal, recording, check) {
                    Ok(bytes) => envelope = bytes,
                    Err(why) => decision = Decision::NotWritten(why),
                }
            }
            let (intent, reason) = match decision {
                Decision::Write => (Intent::Write, String::new()),
                Decision::Keep => (Intent::Keep, String::new()),
                Decision::Evict(why) => (Intent::Evict, why),
                Decision::Unconfirmed => (Intent::Unconfirmed, String::new()),
                Decision::NoChange(why) => (Intent::NoChange, why),
                Decision::NotWritten(why) => (Intent::NotWritten, why),
            };
            Staged {
                step: goal.step,
                replay_key: goal.key.0.clone(),
                intent: intent.into(),
                envelope,
                generation: goal.generation,
                reason,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use muster_proto::recording::RecordedBy;

    use super::*;

    const PASSED: Ending = Ending {
        failed: false,
        no_verdict: false,
        first_failure: None,
    };
    const FAILED_AT_5: Ending = Ending {
        failed: true,
        no_verdict: false,
        first_failure: Some(5),
    };
    const CANCELLED: Ending = Ending {
        failed: true,
        no_verdict: true,
        first_failure: Some(5),
    };

    fn recorded(same: bool) -> GoalEnd {
        let recording = Box::new(Recording {
            schema: 1,
            actions: Vec::new(),
            summary: String::new(),
            start_route: String::new(),
            end_route: String::new(),
            appeared: Vec::new(),
            gone: Vec::new(),
            end_wait_ms: 0,
            recorded_by: RecordedBy {
                executor: "scripted".to_owned(),
                version: "1".to_owned(),
            },
            truncated: None,
        });
        GoalEnd::Recorded { recording, same }
    }

    fn goal(end: GoalEnd, generation: u64, replayed: u32, verified_by: Option<u32>) -> Goal {
        Goal {
            step: 2,
            key: ReplayKey::from("k"),
            instruction_digest: String::new(),
            generation,
            replayed,
            end,
            verified_by,
        }
    }

    #[test]
    fn the_table() {
        use Intent::*;
        let no = || GoalEnd::Unrecordable("param-collision".to_owned());
        for (end, generation, replayed, verified_by, ending, expected) in [
            // A later check verified it.
            (GoalEnd::Replayed, 3, 4, Some(3), PASSED, Keep),
            (recorded(false), 0, 0, Some(3), PASSED, Write),
            (recorded(false), 3, 4, Some(3), PASSED, Write),
            (recorded(true), 3, 1, Some(3), PASSED, NoChange),
            (no(), 0, 0, Some(3), PASSED, NotWritten),
            (no(), 3, 0, Some(3), PASSED, Evict),
            (GoalEnd::Repaired, 3, 4, Some(3), PASSED, Evict),
            // Nothing did.
            (recorded(false), 0, 0, None, PASSED, Unconfirmed),
            (recorded(false), 3, 0, None, PASSED, Evict),
            (GoalEnd::Replayed, 3, 4, None, PASSED, Evict),
            // The attempt failed: before its first failure a verification counts, after it not.
            (GoalEnd::Replayed, 3, 4, Some(3), FAILED_AT_5, Keep),
            (GoalEnd::Replayed, 3, 4, Some(7), FAILED_AT_5, Evict),
            (GoalEnd::Replayed, 3, 4, None, FAILED_AT_5, Evict),
            (recorded(false), 0, 0, Some(4), FAILED_AT_5, Write),
            (recorded(false), 0, 0, Some(6), FAILED_AT_5, Unconfirmed),
            // A test may catch a failure and pass.
            (
                recorded(false),
                0,
                0,
                Some(6),
                Ending {
                    failed: false,
                    ..FAILED_AT_5
                },
                Write,
            ),
            // The goal itself failed.
            (GoalEnd::Failed, 3, 2, None, FAILED_AT_5, Evict),
            (GoalEnd::Failed, 3, 0, None, FAILED_AT_5, NoChange),
            (GoalEnd::Failed, 0, 0, None, FAILED_AT_5, NoChange),
            // Nothing is known about the product.
            (
                GoalEnd::Untouched("cancelled".to_owned()),
                3,
                2,
                None,
                CANCELLED,
                NoChange,
            ),
            (GoalEnd::Replayed, 3, 4, None, CANCELLED, NoChange),
            (recorded(false), 0, 0, None, CANCELLED, NoChange),
            (recorded(false), 0, 0, Some(3), CANCELLED, Write),
        ] {
            let goal = goal(end, generation, replayed, verified_by);
            let staged = settle(std::slice::from_ref(&goal), ending, |_, _, check| {
                Ok(vec![check as u8])
            });
            assert_eq!(staged[0].intent(), expected, "{goal:?} {ending:?}");
            assert_eq!(staged[0].generation, generation);
            assert_eq!(!staged[0].envelope.is_empty(), expected == Write);
        }
    }

    #[test]
    fn what_may_not_be_written_says_why() {
        let goals = [goal(recorded(false), 3, 0, Some(4))];
        let staged = settle(&goals, PASSED, |_, _, _| {
            Err("it is 2 MiB; the limit is 1 MiB".to_owned())
        });
        assert_eq!(staged[0].intent(), Intent::NotWritten);
        assert_eq!(staged[0].reason, "it is 2 MiB; the limit is 1 MiB");
        assert!(staged[0].envelope.is_empty());
    }
}
