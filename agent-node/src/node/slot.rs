//! One slot's work: run a leased attempt, keep its record, encode its result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use muster_cache_store::{BlobStore, StoreError};
use muster_proto::code::ErrorCode;
use muster_proto::id::{BlobDigest, NodeId};
use muster_proto::outcome::{Problem, Status};
use muster_proto::v1;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use prost::Message;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::leases::Token;
use super::runner::{Assignment, Runner};
use crate::attempt::{AttemptOutput, News, millis};

/// News of one attempt that wait to be passed on.
const NEWS: usize = 64;
/// The first pause before a record is sent again; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// What a slot needs besides its lease.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) node: NodeId,
    pub(super) runner: Arc<dyn Runner>,
    pub(super) blobs: Arc<dyn BlobStore>,
    /// News of all attempts.
    pub(super) news: mpsc::Sender<(Token, News)>,
}

/// A lease that can be run.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) token: Token,
    pub(super) lease: v1::Lease,
    pub(super) unit: v1::Unit,
    pub(super) cancel: CancellationToken,
}

impl Slot {
    /// The attempt's encoded result; none = it was cancelled, and nobody wants one. A panic of
    /// the attempt is a result too.
    pub(super) async fn work(self, granted: Granted) -> Option<Vec<u8>> {
        let clock = Instant::now();
        let started_at = Timestamp::now();
        let output = self.attempt(&granted).await;
        if granted.cancel.is_cancelled() {
            return None;
        }
        let output = output.unwrap_or_else(|problem| {
            let duration = clock.elapsed();
            AttemptOutput::without_steps(&self.node, started_at, duration, problem)
        });
        tell_span(&output);
        let record = serde_json::to_vec(&output.record).expect("a record is plain data");
        let record_digest = self.keep(&record, &granted.cancel).await?;
        let result = v1::AttemptResult {
            run_id: granted.token.run,
            unit_id: granted.token.unit,
            r#try: granted.lease.r#try,
            epoch: granted.token.epoch,
            node_id: self.node.0,
            status: super::words::status(output.status).into(),
            problem: output.problem.as_ref().map(v1::Problem::from),
            skip_reason: output.skip_reason,
            duration_ms: millis(clock.elapsed()),
            usage: Some(output.usage.into()),
            record_digest,
            staged: output.staged,
            ended_at: Some(now()),
            stop_run: output.stop_run,
        };
        Some(result.encode_to_vec())
    }

    async fn attempt(&self, granted: &Granted) -> Result<AttemptOutput, Problem> {
        let (news, mut told) = mpsc::channel(NEWS);
        let assignment = Assignment {
            lease: granted.lease.clone(),
            unit: granted.unit.clone(),
            node: self.node.clone(),
            news,
            cancel: granted.cancel.clone(),
        };
        let run = AssertUnwindSafe(self.runner.run(assignment)).catch_unwind();
        tokio::pin!(run);
        let ended = loop {
            tokio::select! {
                biased;
                Some(news) = told.recv() => self.pass_on(granted, news),
                ended = &mut run => break ended,
            }
        };
        while let Ok(news) = told.try_recv() {
            self.pass_on(granted, news);
        }
        // The panic's own words went to the log; they were never redacted.
        ended.unwrap_or_else(|_| {
            let message = "the attempt panicked; the node's log says where. Please report it";
            Err(Problem::new(ErrorCode::InternalError, message))
        })
    }

    fn pass_on(&self, granted: &Granted, news: News) {
        // Lossy by contract.
        self.news.try_send((granted.token.clone(), news)).ok();
    }

    /// Puts the record where the result can name it, for as long as the lease holds. The digest;
    /// empty = the store refuses it for good; none = cancelled.
    async fn keep(&self, record: &[u8], cancel: &CancellationToken) -> Option<String> {
        let digest = BlobDigest::of(record);
        let mut pause = PAUSE;
        loop {
            match cancel
                .run_until_cancelled(self.blobs.put(&digest, record))
                .await?
            {
                Ok(()) => return Some(digest.0),
                Err(error @ StoreError::Unavailable { .. }) => {
                    tracing::warn!(%error, "the attempt's record could not be sent yet");
                    cancel.run_until_cancelled(sleep(pause)).await?;
                    pause = (pause * 2).min(LONGEST);
                }
                Err(error) => {
                    tracing::error!(%error, "the attempt's record is lost");
                    return Some(String::new());
                }
            }
        }
    }
}

/// The root span of an attempt: a trace of its own, linked to the lease's. The title is on the
/// attempt's span below it, once it was checked for secrets.
pub(super) fn root_span(granted: &Granted, node: &NodeId) -> Span {
    let span = tracing::info_span!(
        parent: None,
        "attempt",
        test.suite.name = granted.unit.file,
        test.case.result.status = Empty,
        error.r#type = Empty,
        muster.run.id = granted.token.run,
        muster.unit.id = granted.token.unit,
        muster.unit.r#try = granted.lease.r#try,
        muster.lease.epoch = granted.token.epoch,
        muster.node.id = %node,
    );
    if let Some(lease) = span_context(&granted.lease.traceparent) {
        span.add_link(lease);
    }
    span
}

fn tell_span(output: &AttemptOutput) {
    let span = Span::current();
    match output.status {
        Status::Passed | Status::Flaky => {
            span.record("test.case.result.status", "pass");
        }
        Status::Failed | Status::TimedOut => {
            span.record("test.case.result.status", "fail");
        }
        Status::Skipped | Status::Interrupted => {}
    }
    if let Some(problem) = &output.problem {
        span.record("error.type", problem.code.as_str());
    }
}

/// Reads a traceparent (W3C Trace Context, version 00).
fn span_context(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if version.len() != 2
        || version == "ff"
        || trace.len() != 32
        || span.len() != 16
        || flags.len() != 2
    {
        return None;
    }
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?),
        true,
        TraceState::default(),
    );
    context.is_valid().then_some(context)
}

fn now() -> prost_types::Timestamp {
    let now = Timestamp::now();
    prost_types::Timestamp {
        seconds: now.as_second(),
        nanos: now.subsec_nanosecond(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_traceparent_is_linked() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = span_context(good).unwrap();
        assert_eq!(
            context.trace_id().to_string(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        assert!(context.is_sampled());
        for bad in [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
        ] {
            assert!(span_context(bad).is_none(), "{bad}");
        }
    }
}
