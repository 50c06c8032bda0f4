//! What is written down of an attempt while it runs: steps, console, the ledger for executors.

use std::sync::Arc;

use muster_proto::outcome::{Place, Problem};
use muster_proto::step::{AgentStep, CacheReport, StepKind, StepRecord, StepStatus};
use muster_redact::Lines;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::News;
use crate::harness::AttemptHarness;

/// Most steps that are kept.
const MAX_STEPS: usize = 10_000;

/// Most console lines that are kept.
const MAX_CONSOLE: usize = 1000;

/// Longest console line, bytes; the worker cuts longer ones there.
const MAX_LINE: usize = 8192;

/// Most bytes of the ledger.
const MAX_LEDGER: usize = 8192;

/// The steps of an attempt, redacted as they come in.
pub(super) struct Steps {
    harness: Arc<AttemptHarness>,
    progress: Sender<News>,
    began: Instant,
    next: u32,
    records: Vec<StepRecord>,
    first_failure: Option<u32>,
}

/// A step that has begun.
pub(super) struct Begun {
    pub(super) seq: u32,
    at: Instant,
}

impl Steps {
    pub(super) fn new(
        harness: Arc<AttemptHarness>,
        progress: Sender<News>,
        began: Instant,
    ) -> Self {
        Self {
            harness,
            progress,
            began,
            next: 0,
            records: Vec::new(),
            first_failure: None,
        }
    }

    /// Notes that a step begins. Until it is [`Steps::end`]ed it counts as cancelled.
    pub(super) fn begin(&mut self, kind: StepKind, title: &str, place: Option<Place>) -> Begun {
        let redactor = self.harness.redactor();
        let title = redactor.text(title);
        let place = place.map(|place| Place {
            file: redactor.text(&place.file),
            ..place
        });
        let at = Instant::now();
        // News is for live eyes only: a full queue drops it.
        let _ = self.progress.try_send(News::Step(title.clone()));
        let seq = self.next;
        self.next += 1;
        if self.records.len() < MAX_STEPS {
            self.records.push(StepRecord {
                seq,
                kind,
                title,
                place,
                status: StepStatus::Cancelled,
                start_ms: millis(at - self.began),
                duration_ms: 0,
                problem: None,
                agent: None,
            });
        }
        Begun { seq, at }
    }

    /// Notes how a step ended. What an executor said or typed never passed `observe`, so it is
    /// redacted here.
    pub(super) fn end(
        &mut self,
        step: &Begun,
        status: StepStatus,
        problem: Option<Problem>,
        agent: Option<AgentStep>,
    ) {
        if status != StepStatus::Passed {
            self.first_failure.get_or_insert(step.seq);
        }
        if let Some(record) = self.records.get_mut(step.seq as usize) {
            record.status = status;
            record.duration_ms = millis(step.at.elapsed());
            record.problem = problem;
            record.agent = agent.map(|agent| redacted(&self.harness, agent));
        }
    }

    /// The first step that did not pass.
    pub(super) fn first_failure(&self) -> Option<u32> {
        self.first_failure
    }

    /// Marks a goal as verified.
    pub(super) fn verified(&mut self, seq: u32) {
        if let Some(agent) = self
            .records
            .get_mut(seq as usize)
            .and_then(|record| record.agent.as_mut())
        {
            agent.verified = true;
        }
    }

    /// What an executor is told of earlier steps: one line each, oldest first, the oldest left out
    /// where they are too many.
    pub(super) fn ledger(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut size = 0;
        let done = self
            .records
            .iter()
            .rev()
            .filter(|record| record.status == StepStatus::Passed);
        for record in done {
            let summary = record
                .agent
                .as_ref()
                .and_then(|agent| agent.summary.as_deref());
            let line = match summary {
                Some(summary) => format!("{}. {}: {summary}\n", record.seq + 1, record.title),
                None => format!("{}. {}\n", record.seq + 1, record.title),
            };
            size += line.len();
            if size > MAX_LEDGER {
                break;
            }
            lines.push(line);
        }
        lines.reverse();
        lines.concat()
    }

    /// Everything, in order.
    pub(super) fn into_records(self) -> Vec<StepRecord> {
        self.records
    }
}

fn redacted(harness: &AttemptHarness, agent: AgentStep) -> AgentStep {
    let clean = |text: String| harness.redactor().text(&text);
    AgentStep {
        instruction: clean(agent.instruction),
        summary: agent.summary.map(clean),
        actions: agent.actions.into_iter().map(clean).collect(),
        cache: agent.cache.map(|cache| CacheReport {
            detail: cache.detail.map(clean),
            not_recorded: cache.not_recorded.map(clean),
            ..cache
        }),
        ..agent
    }
}

/// The test's console. A line that may hold the beginning of a secret's value is told once the next
/// ones show whether it does.
pub(super) struct Console {
    harness: Arc<AttemptHarness>,
    progress: Sender<News>,
    /// Lines that wait, each with its level.
    waiting: Lines<Said>,
    lines: Vec<String>,
}

/// What is told of a line beside its text.
struct Said {
    level: String,
    /// It may have been cut at its end.
    cut: bool,
}

impl Console {
    pub(super) fn new(harness: Arc<AttemptHarness>, progress: Sender<News>) -> Self {
        Self {
            harness,
            progress,
            waiting: Lines::default(),
            lines: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, level: &str, text: String) {
        let said = Said {
            level: level.to_owned(),
            cut: text.len() + 3 >= MAX_LINE,
        };
        let told = self.waiting.push(&self.harness.redactor(), said, text);
        told.into_iter()
            .for_each(|(said, text)| self.tell(said, text));
    }

    fn tell(&mut self, Said { level, cut }: Said, text: String) {
        let text = if cut {
            self.harness.redactor().cut_bytes(&text, 0)
        } else {
            text
        };
        let line = if level == "log" {
            text
        } else {
            format!("[{level}] {text}")
        };
        let _ = self.progress.try_send(News::Console(line.clone()));
        if self.lines.len() < MAX_CONSOLE {
            self.lines.push(line);
        }
    }

    pub(super) fn into_lines(mut self) -> Vec<String> {
        let told = self.waiting.finish(&self.harness.redactor());
        told.into_iter()
            .for_each(|(said, text)| self.tell(said, text));
        self.lines
    }
}

/// Whole milliseconds.
pub(crate) fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
