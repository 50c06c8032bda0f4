//! Clients: submit, watch, cancel, get, list.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use muster_cache_store::BlobStore;
use muster_proto::code::ErrorCode;
use muster_proto::id::{BlobDigest, RunId};
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::run_event::Event;
use muster_proto::v1::run_service_server::RunService;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Code, Request, Response, Status};

use super::{HangUp, closed, refuse};
use crate::dispatch::{Command, Dispatch};
use crate::feed::Seat;
use crate::runs::fold::{self, RunFold};
use crate::runs::{RunStore, RunStoreError, all_facts};
use crate::verdict;

/// Events that a watcher may be behind before the log is read no further for it.
const WATCH: usize = 64;
/// Facts read from the log at once.
const PAGE: usize = 256;
/// How long the loop may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Longest idempotency key, bytes.
const MAX_KEY: usize = 256;

/// The service.
pub(crate) struct RunApi {
    pub(crate) dispatch: Dispatch,
    pub(crate) runs: Arc<dyn RunStore>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

#[tonic::async_trait]
impl RunService for RunApi {
    async fn submit(
        &self,
        request: Request<v1::SubmitRequest>,
    ) -> Result<Response<v1::SubmitResponse>, Status> {
        let v1::SubmitRequest {
            manifest,
            idempotency_key: key,
        } = request.into_inner();
        let manifest = manifest.unwrap_or_default();
        check(&manifest).map_err(|problem| refuse(Code::InvalidArgument, &problem))?;
        if key.len() > MAX_KEY {
            return Err(Status::invalid_argument(format!(
                "the idempotency key is over {MAX_KEY} bytes"
            )));
        }
        self.check_blob("bundle", &manifest.bundle_digest).await?;
        self.check_blob("run configuration", &manifest.spec_digest)
            .await?;
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Submit {
            manifest,
            key,
            reply,
        })
        .await?;
        let run = within(answer).await?.map_err(status)?;
        Ok(Response::new(v1::SubmitResponse { run_id: run.0 }))
    }

    type WatchStream = ReceiverStream<Result<v1::RunEvent, Status>>;

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let hang_up = HangUp::of(&request);
        let v1::WatchRequest { run_id, after } = request.into_inner();
        let run = RunId(run_id);
        // The seat first, then the log: what is written in between is seen in one or the other.
        let seat = self.dispatch.feeds.watch(&run);
        let generation = self.runs.generation(&run).await.map_err(status)?;
        let (events, stream) = mpsc::channel(WATCH);
        let watch = Watch {
            run,
            generation,
            seen: 0,
            runs: self.runs.clone(),
            events,
        };
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = watch.serve(seat, after) => {}
                () = stop.cancelled() => {}
                () = hang_up.cancelled() => {}
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn cancel(
        &self,
        request: Request<v1::CancelRequest>,
    ) -> Result<Response<v1::CancelResponse>, Status> {
        let v1::CancelRequest {
            run_id,
            reason,
            problem,
        } = request.into_inner();
        let run = RunId(run_id);
        self.runs.generation(&run).await.map_err(status)?;
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Cancel {
            run,
            reason,
            problem,
            reply,
        })
        .await?;
        within(answer).await?;
        Ok(Response::new(v1::CancelResponse {}))
    }

    async fn get(&self, request: Request<v1::GetRunRequest>) -> Result<Response<v1::Run>, Status> {
        let run = RunId(request.into_inner().run_id);
        let facts = all_facts(self.runs.as_ref(), &run).await.map_err(status)?;
        let view = fold::view(run.as_str(), &facts);
        view.map(Response::new)
            .ok_or_else(|| Status::data_loss(format!("the log of run {run} has no plan")))
    }

    async fn list(
        &self,
        request: Request<v1::ListRunsRequest>,
    ) -> Result<Response<v1::ListRunsResponse>, Status> {
        let limit = match request.into_inner().limit {
            0 => 20,
            limit => limit.min(200),
        };
        let mut runs = Vec::new();
        for run in self.runs.newest(limit as usize).await.map_err(status)? {
            match all_facts(self.runs.as_ref(), &run).await {
                Ok(facts) => runs.extend(summary(run, &facts)),
                // Another process has it, or it is gone by now.
                Err(RunStoreError::Busy(_) | RunStoreError::NotFound(_)) => {}
                Err(error) => return Err(status(error)),
            }
        }
        Ok(Response::new(v1::ListRunsResponse { runs }))
    }
}

impl RunApi {
    async fn ask(&self, command: Command) -> Result<(), Status> {
        self.dispatch.send(command).await.map_err(|_| closed())
    }

    async fn check_blob(&self, what: &str, digest: &str) -> Result<(), Status> {
        match self.blobs.has(&BlobDigest::from(digest)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(refuse(
                Code::FailedPrecondition,
                &Problem::new(
                    ErrorCode::InternalError,
                    format!("the {what}'s blob {digest:?} is not here; put it before submitting"),
                ),
            )),
            Err(error) => Err(Status::unavailable(error.to_string())),
        }
    }
}

fn check(manifest: &v1::Manifest) -> Result<(), Problem> {
    if manifest.units.is_empty() {
        return Err(Problem::new(
            ErrorCode::NoTests,
            "the manifest holds no test; nothing would be proven",
        ));
    }
    let mut ids = HashSet::new();
    for unit in &manifest.units {
        if unit.unit_id.is_empty() || !ids.insert(&unit.unit_id) {
            let message = format!(
                "unit id {:?} is empty or there twice in the manifest",
                unit.unit_id
            );
            return Err(Problem::new(ErrorCode::InternalError, message));
        }
    }
    Ok(())
}

fn summary(run: RunId, facts: &[v1::RunEvent]) -> Option<v1::RunSummary> {
    let fold = RunFold::of(facts.iter().filter_map(|fact| fact.event.as_ref()))?;
    Some(v1::RunSummary {
        run_id: run.0,
        submitted_at: facts.first().and_then(|fact| fact.at),
        counts: Some(verdict::count(&fold)),
        project_id: fold.manifest.project_id,
        r#final: fold.last,
    })
}

async fn within<T>(answer: oneshot::Receiver<T>) -> Result<T, Status> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(closed()),
        Err(_) => Err(Status::deadline_exceeded(
            "the coordinator is too busy; ask for the run before trying again",
        )),
    }
}

fn status(error: RunStoreError) -> Status {
    match &error {
        RunStoreError::NotFound(_) => Status::not_found(error.to_string()),
        RunStoreError::Busy(_) => Status::failed_precondition(error.to_string()),
        RunStoreError::Failed { .. } => refuse(
            Code::Unavailable,
            &Problem::new(ErrorCode::CoordinatorUnavailable, error.to_string()),
        ),
    }
}

/// One watcher.
struct Watch {
    run: RunId,
    generation: u64,
    /// Number of the last fact sent.
    seen: u64,
    runs: Arc<dyn RunStore>,
    events: mpsc::Sender<Result<v1::RunEvent, Status>>,
}

/// Why a watch ends early.
struct Ended;

impl Watch {
    async fn serve(mut self, seat: Option<Seat>, after: Option<v1::Cursor>) {
        let follow = async {
            if let Some(after) = after {
                self.go_on_after(after).await?;
            }
            self.follow(seat).await
        };
        if follow.await.is_err() {
            tracing::debug!("a watch ended early");
        }
    }

    /// A cursor of another generation, or beyond the log, means that the watcher knows another log.
    async fn go_on_after(&mut self, after: v1::Cursor) -> Result<(), Ended> {
        let known = after.generation == self.generation
            && (after.sequence == 0 || !self.page(after.sequence - 1, 1).await?.is_empty());
        if known {
            self.seen = after.sequence;
            return Ok(());
        }
        self.send(Event::Reset(v1::Reset {}), None).await
    }

    async fn follow(&mut self, seat: Option<Seat>) -> Result<(), Ended> {
        let Some(Seat {
            mut head,
            mut progress,
        }) = seat
        else {
            return if self.catch_up().await? {
                Ok(())
            } else {
                self.fail(closed()).await
            };
        };
        loop {
            head.mark_unchanged();
            if self.catch_up().await? {
                return Ok(());
            }
            loop {
                tokio::select! {
                    biased;
                    changed = head.changed() => {
                        if changed.is_err() {
                            // The run is over here: its last facts are in the log, or never will be.
                            return if self.catch_up().await? { Ok(()) } else { self.fail(closed()).await };
                        }
                        break;
                    }
                    said = progress.recv() => match said {
                        Ok(said) => self.send(Event::Progress(said), None).await?,
                        Err(broadcast::error::RecvError::Lagged(_)) => {}
                        Err(broadcast::error::RecvError::Closed) => break,
                    },
                }
            }
        }
    }

    /// Sends what the log holds beyond what was seen; whether the final fact was among it.
    async fn catch_up(&mut self) -> Result<bool, Ended> {
        loop {
            let facts = self.page(self.seen, PAGE).await?;
            if facts.is_empty() {
                return Ok(false);
            }
            for fact in facts {
                self.seen = fact
                    .cursor
                    .as_ref()
                    .map_or(self.seen, |cursor| cursor.sequence);
                let Some(event) = fact.event else { continue };
                let over = matches!(event, Event::Final(_));
                self.send(event, fact.at).await?;
                if over {
                    return Ok(true);
                }
            }
        }
    }

    async fn page(&self, after: u64, limit: usize) -> Result<Vec<v1::RunEvent>, Ended> {
        match self.runs.facts(&self.run, after, limit).await {
            Ok(facts) => Ok(facts),
            Err(error) => self.fail(status(error)).await.and(Err(Ended)),
        }
    }

    async fn send(&self, event: Event, at: Option<prost_types::Timestamp>) -> Result<(), Ended> {
        // Facts of an earlier generation are part of this one's log.
        let cursor = Some(v1::Cursor {
            generation: self.generation,
            sequence: self.seen,
        });
        self.events
            .send(Ok(v1::RunEvent {
                cursor,
                at,
                event: Some(event),
            }))
            .await
            .map_err(|_| Ended)
    }

    async fn fail(&self, status: Status) -> Result<(), Ended> {
        self.events.send(Err(status)).await.map_err(|_| Ended)
    }
}
