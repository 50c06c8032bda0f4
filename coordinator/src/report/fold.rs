//! From a run's view and its attempts' records to a [`Report`]. Pure.

use std::collections::BTreeMap;

use muster_proto::id::BlobDigest;
use muster_proto::outcome::{Problem, Status};
use muster_proto::step::{AttemptRecord, CacheMode, LedgerRow, StepRecord, Usage, WriteState};
use muster_proto::v1;
use prost::Message;

use super::model::{AttemptReport, CacheRow, Counts, Report, SCHEMA, Stopped, Totals, UnitReport};
use crate::settlement;
use crate::words::{self, Outcome};

/// Attempts' records by their digest.
pub type Records = BTreeMap<BlobDigest, AttemptRecord>;

/// The records that a report of this run wants.
pub fn wanted(run: &v1::Run) -> Vec<BlobDigest> {
    let attempts = run.units.iter().flat_map(|unit| &unit.attempts);
    let digests = attempts.map(|committed| BlobDigest(decode(committed).record_digest));
    digests
        .filter(|digest| !digest.as_str().is_empty())
        .collect()
}

impl Report {
    /// Folds a run; a record that is missing costs its attempt the steps, nothing else.
    pub fn fold(run: &v1::Run, records: &Records) -> Self {
        let manifest = run.manifest.clone().unwrap_or_default();
        let last = run.r#final.clone().unwrap_or_default();
        let mut totals = Totals::default();
        let units = manifest.units.iter().zip(&run.units);
        let units = units
            .map(|(unit, view)| unit_report(unit, view, records, &mut totals))
            .collect();
        Self {
            schema: SCHEMA,
            run_id: run.run_id.clone(),
            project: manifest.project_id,
            started_at: time(run.submitted_at),
            ended_at: time(run.ended_at),
            verdict: last.verdict,
            exit_code: last.exit_code,
            stopped: run.cancelled.as_ref().map(|cancelled| Stopped {
                reason: cancelled.reason.clone(),
                problem: cancelled.problem.as_ref().map(Problem::from),
            }),
            counts: counts(&last.counts.unwrap_or_default()),
            totals,
            units,
        }
    }
}

fn unit_report(
    unit: &v1::Unit,
    view: &v1::UnitView,
    records: &Records,
    totals: &mut Totals,
) -> UnitReport {
    let results: Vec<_> = view
        .attempts
        .iter()
        .map(|committed| (committed, decode(committed)))
        .collect();
    let attempts: Vec<_> = results
        .iter()
        .map(|(committed, result)| attempt_report(committed, result, records, totals))
        .collect();
    // A unit that the scheduler ended says why itself; else its last attempt does.
    let own = view.problem.as_ref().map(Problem::from);
    let status = words::parse_status(&view.state).unwrap_or(Status::Interrupted);
    let problem = match status {
        Status::Passed | Status::Flaky | Status::Skipped => None,
        Status::Failed | Status::TimedOut | Status::Interrupted => {
            own.or_else(|| attempts.last().and_then(|attempt| attempt.problem.clone()))
        }
    };
    let by_itself = results.last().map(|(_, result)| result.skip_reason.clone());
    let skip_reason = if unit.skip_reason.is_empty() {
        by_itself.unwrap_or_default()
    } else {
        unit.skip_reason.clone()
    };
    UnitReport {
        unit_id: unit.unit_id.clone(),
        test_id: unit.test_id.clone(),
        title_path: unit.title_path.clone(),
        file: unit.file.clone(),
        line: unit.line,
        target: unit.target.clone(),
        agent: unit.agent.clone(),
        repeat: unit.repeat,
        status,
        problem,
        skip_reason: (status == Status::Skipped && !skip_reason.is_empty()).then_some(skip_reason),
        duration_ms: attempts.last().map_or(0, |attempt| attempt.duration_ms),
        lost: view.lost,
        attempts,
    }
}

fn attempt_report(
    committed: &v1::Committed,
    result: &v1::AttemptResult,
    records: &Records,
    totals: &mut Totals,
) -> AttemptReport {
    let usage = result.usage.as_ref().map(Usage::from).unwrap_or_default();
    totals.ai += usage;
    for settled in &committed.settled {
        count_write(&mut totals.cache, settlement::parse(&settled.state));
    }
    let record = records
        .get(&BlobDigest(result.record_digest.clone()))
        .cloned();
    let recorded = record.is_some();
    let outcome = Outcome::of(result);
    let record = record.unwrap_or_else(|| AttemptRecord {
        schema: muster_proto::step::SCHEMA,
        node: result.node_id.clone(),
        started_at: String::new(),
        duration_ms: result.duration_ms,
        status: outcome.status,
        problem: None,
        secondary: Vec::new(),
        skip_reason: None,
        steps: Vec::new(),
        console: Vec::new(),
        screen_at_failure: None,
        events: Vec::new(),
        tainted: true,
    });
    let mut steps = record.steps;
    for step in &mut steps {
        count_goal(&mut totals.cache, step, &record.node);
        count_models(&mut totals.models, step);
        merge(step, &committed.settled);
    }
    AttemptReport {
        r#try: committed.r#try,
        epoch: committed.epoch,
        node: record.node,
        status: outcome.status,
        problem: outcome.problem,
        secondary: record.secondary,
        duration_ms: result.duration_ms,
        usage,
        recorded,
        steps,
        console: record.console,
        screen_at_failure: record.screen_at_failure,
        events: record.events,
        tainted: record.tainted,
    }
}

/// Writes what became of a goal's recording into its step.
fn merge(step: &mut StepRecord, settled: &[v1::Settled]) {
    let cache = step.agent.as_mut().and_then(|agent| agent.cache.as_mut());
    let settled = settled.iter().find(|settled| settled.step == step.seq);
    if let (Some(cache), Some(settled)) = (cache, settled) {
        cache.write = settlement::parse(&settled.state);
        if cache.detail.is_none() && !settled.detail.is_empty() {
            cache.detail = Some(settled.detail.clone());
        }
    }
}

/// Adds a step's rows to those of the same model and tier.
fn count_models(rows: &mut Vec<LedgerRow>, step: &StepRecord) {
    for row in step.agent.iter().flat_map(|agent| &agent.ledger) {
        let same = |known: &&mut LedgerRow| (known.tier, &known.model) == (row.tier, &row.model);
        match rows.iter_mut().find(same) {
            Some(known) => {
                known.usage += row.usage;
                known.latency_ms += row.latency_ms;
            }
            None => rows.push(row.clone()),
        }
    }
}

fn count_goal(row: &mut CacheRow, step: &StepRecord, node: &str) {
    let Some(cache) = step.agent.as_ref().and_then(|agent| agent.cache.as_ref()) else {
        return;
    };
    match cache.mode {
        CacheMode::Off => return,
        CacheMode::Replayed => {
            row.replayed += 1;
            // Ids are new at every start, so another id is another process with an empty memory.
            let other = cache
                .recorded_by_node
                .as_deref()
                .is_some_and(|by| by != node);
            row.replayed_on_other_node += u64::from(other);
        }
        CacheMode::HandedOff => row.handed_off += 1,
        CacheMode::Missed => row.missed += 1,
    }
    row.goals += 1;
}

fn count_write(row: &mut CacheRow, state: Option<WriteState>) {
    let slot = match state {
        Some(WriteState::Saved) => &mut row.saved,
        Some(WriteState::Kept) => &mut row.kept,
        Some(WriteState::Unconfirmed) => &mut row.unconfirmed,
        Some(WriteState::Evicted) => &mut row.evicted,
        Some(WriteState::NoChange) => &mut row.no_change,
        Some(WriteState::NotWritten) => &mut row.not_written,
        None => return,
    };
    *slot += 1;
}

fn decode(committed: &v1::Committed) -> v1::AttemptResult {
    v1::AttemptResult::decode(committed.result.as_slice()).unwrap_or_default()
}

fn counts(counts: &v1::Counts) -> Counts {
    Counts {
        expected: counts.expected,
        passed: counts.passed,
        flaky: counts.flaky,
        failed: counts.failed,
        skipped: counts.skipped,
        interrupted: counts.interrupted,
        never_run: counts.never_run,
    }
}

/// RFC 3339 UTC, milliseconds; empty for none.
fn time(at: Option<prost_types::Timestamp>) -> String {
    let at = at.and_then(|at| jiff::Timestamp::new(at.seconds, at.nanos).ok());
    at.map(|at| format!("{at:.3}")).unwrap_or_default()
}
