//! A run, folded from its facts: what each unit has done so far and how it ended.
//!
//! The scheduler decides by it, the verdict counts it, `Get` shows it; a restart folds the same
//! facts to the same state. It has no clock and does no I/O.

use std::collections::HashMap;

use muster_proto::code::ErrorCode;
use muster_proto::id::{NodeId, UnitId};
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;
use muster_proto::v1::run_event::Event;
use prost::Message;

use super::grant;
use crate::words::{self, Outcome};

/// One run.
#[derive(Clone, Debug)]
pub struct RunFold {
    /// What was planned.
    pub manifest: v1::Manifest,
    /// In the manifest's order.
    pub units: Vec<UnitFold>,
    /// Set once somebody or something stopped the run.
    pub cancelled: Option<v1::Cancelled>,
    /// Set once the run is over; nothing follows.
    pub last: Option<v1::Final>,
    index: HashMap<UnitId, usize>,
    open: usize,
    /// What is spent or promised of the run's budget.
    taken: v1::BudgetGrant,
}

/// One expected result on its way.
#[derive(Clone, Debug)]
pub struct UnitFold {
    /// Where it stands.
    pub phase: Phase,
    /// Leases so far.
    pub epoch: u64,
    /// Product retries so far: the `try` of the next lease.
    pub tries: u32,
    /// Infrastructure tries spent: leases lost and attempts that failed for infrastructure.
    pub spent: u32,
    /// Leases lost.
    pub lost: u32,
    /// Epochs whose result is committed.
    pub committed: Vec<u64>,
    /// The node of the last lease that infrastructure ended; another one is preferred.
    pub avoid: Option<NodeId>,
    /// The current lease's share of the run's budget.
    pub grant: v1::BudgetGrant,
}

/// Where a unit stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// For a node.
    Waiting,
    /// On a node, under the unit's current epoch.
    Leased(NodeId),
    /// For good.
    Ended(End),
}

/// How a unit ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The unit's status.
    pub status: Status,
    /// Why, unless it passed or was skipped.
    pub problem: Option<Problem>,
    /// Whether the last attempt's commit says so; else the coordinator decided it.
    pub by_commit: bool,
}

impl RunFold {
    /// The first fact's fold: everything waits, but for what is skipped by name.
    pub fn plan(manifest: v1::Manifest) -> Self {
        let mut open = 0;
        let units = manifest.units.iter().map(|unit| {
            let phase = if unit.skip_reason.is_empty() {
                open += 1;
                Phase::Waiting
            } else {
                Phase::Ended(End {
                    status: Status::Skipped,
                    problem: None,
                    by_commit: false,
                })
            };
            UnitFold {
                phase,
                epoch: 0,
                tries: 0,
                spent: 0,
                lost: 0,
                committed: Vec::new(),
                avoid: None,
                grant: v1::BudgetGrant::default(),
            }
        });
        let units: Vec<_> = units.collect();
        let index = manifest
            .units
            .iter()
            .enumerate()
            .map(|(n, unit)| (UnitId(unit.unit_id.clone()), n))
            .collect();
        Self {
            manifest,
            units,
            cancelled: None,
            last: None,
            index,
            open,
            taken: v1::BudgetGrant::default(),
        }
    }

    /// The fold of a whole log; `None` if it doesn't start with a plan.
    pub fn of<'a>(facts: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let mut facts = facts.into_iter();
        let Event::Planned(v1::Planned {
            manifest: Some(manifest),
        }) = facts.next()?
        else {
            return None;
        };
        let mut fold = Self::plan(manifest.clone());
        for fact in facts {
            fold.apply(fact);
        }
        Some(fold)
    }

    /// A unit's place in the manifest.
    pub fn position(&self, unit: &str) -> Option<usize> {
        self.index.get(&UnitId(unit.to_owned())).copied()
    }

    /// Units that have not ended.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Units that failed, for whatever reason.
    pub fn failures(&self) -> usize {
        let failed = |unit: &&UnitFold| matches!(&unit.phase, Phase::Ended(end) if matches!(end.status, Status::Failed | Status::TimedOut));
        self.units.iter().filter(failed).count()
    }

    /// Whether no unit may be leased any more.
    pub fn stopping(&self) -> bool {
        let most = self
            .manifest
            .options
            .as_ref()
            .map_or(0, |options| options.max_failures) as usize;
        self.cancelled.is_some() || self.last.is_some() || (most > 0 && self.failures() >= most)
    }

    /// The share of the run's budget for the next lease.
    pub fn share(&self) -> v1::BudgetGrant {
        let limits = self
            .manifest
            .options
            .as_ref()
            .and_then(|options| options.budget);
        let waiting = |unit: &&UnitFold| unit.phase == Phase::Waiting;
        grant::share(
            &limits.unwrap_or_default(),
            &self.taken,
            self.units.iter().filter(waiting).count(),
        )
    }

    /// Takes in the next fact. Facts about units that the manifest doesn't hold change nothing.
    pub fn apply(&mut self, fact: &Event) {
        match fact {
            Event::Planned(_) | Event::Fenced(_) | Event::Progress(_) | Event::Reset(_) => {}
            Event::Leased(leased) => {
                if let Some(unit) = self.position(&leased.unit_id).map(|n| &mut self.units[n]) {
                    unit.epoch = leased.epoch;
                    unit.grant = leased.grant.unwrap_or_default();
                    grant::given(&mut self.taken, &unit.grant);
                    unit.phase = Phase::Leased(NodeId(leased.node_id.clone()));
                }
            }
            Event::Committed(committed) => self.commit(committed),
            Event::Expired(expired) => self.expire(expired),
            Event::Cancelled(cancelled) => {
                let reason = match &cancelled.problem {
                    Some(problem) => format!("the run was stopped: {}", problem.message),
                    None => format!("the run was stopped: {}", cancelled.reason),
                };
                self.cancelled = Some(cancelled.clone());
                self.interrupt_rest(&reason);
            }
            Event::Final(last) => {
                self.last = Some(last.clone());
                self.interrupt_rest("the run stopped after too many failures");
            }
        }
    }

    fn commit(&mut self, committed: &v1::Committed) {
        let Some(n) = self.position(&committed.unit_id) else {
            return;
        };
        // The coordinator only commits what it could decode.
        let result = v1::AttemptResult::decode(committed.result.as_slice()).unwrap_or_default();
        let outcome = Outcome::of(&result);
        let unit = &mut self.units[n];
        unit.committed.push(committed.epoch);
        grant::settled(
            &mut self.taken,
            &unit.grant,
            &result.usage.unwrap_or_default(),
        );
        if committed.last {
            let flaky = outcome.status == Status::Passed && unit.tries > 0;
            let status = if flaky { Status::Flaky } else { outcome.status };
            self.end(
                n,
                End {
                    status,
                    problem: outcome.problem,
                    by_commit: true,
                },
            );
            return;
        }
        match outcome.class() {
            Some(muster_proto::code::Class::Test) => unit.tries += 1,
            _ => {
                unit.spent += 1;
                if let Phase::Leased(node) = &unit.phase {
                    unit.avoid = Some(node.clone());
                }
            }
        }
        unit.phase = Phase::Waiting;
    }

    fn expire(&mut self, expired: &v1::Expired) {
        let Some(n) = self.position(&expired.unit_id) else {
            return;
        };
        let unit = &mut self.units[n];
        if expired.epoch > 0 && !expired.returned {
            unit.lost += 1;
            unit.spent += 1;
            unit.avoid = Some(NodeId(expired.node_id.clone()));
        }
        if !expired.given_up {
            unit.phase = Phase::Waiting;
            return;
        }
        let problem = expired.problem.as_ref().map(Problem::from);
        let problem =
            problem.unwrap_or_else(|| Problem::new(ErrorCode::NodeLost, expired.reason.clone()));
        self.end(
            n,
            End {
                status: Status::Failed,
                problem: Some(problem),
                by_commit: false,
            },
        );
    }

    fn interrupt_rest(&mut self, reason: &str) {
        for n in 0..self.units.len() {
            if matches!(self.units[n].phase, Phase::Ended(_)) {
                continue;
            }
            let message = if self.units[n].epoch == 0 {
                format!("never run: {reason}")
            } else {
                reason.to_owned()
            };
            let problem = Some(Problem::new(ErrorCode::Interrupted, message));
            self.end(
                n,
                End {
                    status: Status::Interrupted,
                    problem,
                    by_commit: false,
                },
            );
        }
    }

    fn end(&mut self, n: usize, end: End) {
        // A result that was committed before a stop stands, although its fact comes after it.
        if !matches!(self.units[n].phase, Phase::Ended(_)) {
            self.open -= 1;
        }
        self.units[n].phase = Phase::Ended(end);
    }
}

/// The view of a run that clients get.
pub fn view(run_id: &str, facts: &[v1::RunEvent]) -> Option<v1::Run> {
    let fold = RunFold::of(facts.iter().filter_map(|fact| fact.event.as_ref()))?;
    let mut units: Vec<_> = fold
        .manifest
        .units
        .iter()
        .zip(&fold.units)
        .map(unit_view)
        .collect();
    for fact in facts {
        if let Some(Event::Committed(committed)) = &fact.event
            && let Some(n) = fold.position(&committed.unit_id)
        {
            units[n].attempts.push(committed.clone());
        }
    }
    Some(v1::Run {
        run_id: run_id.to_owned(),
        submitted_at: facts.first().and_then(|fact| fact.at),
        ended_at: facts
            .last()
            .filter(|_| fold.last.is_some())
            .and_then(|fact| fact.at),
        units,
        r#final: fold.last,
        cancelled: fold.cancelled,
        manifest: Some(fold.manifest),
    })
}

fn unit_view((unit, fold): (&v1::Unit, &UnitFold)) -> v1::UnitView {
    let (state, problem) = match &fold.phase {
        Phase::Waiting => ("waiting", None),
        Phase::Leased(_) => ("leased", None),
        Phase::Ended(end) => {
            let own = end.problem.as_ref().filter(|_| !end.by_commit);
            (words::status_word(end.status), own.map(v1::Problem::from))
        }
    };
    v1::UnitView {
        unit_id: unit.unit_id.clone(),
        state: state.to_owned(),
        attempts: Vec::new(),
        problem,
        lost: fold.lost,
    }
}
