//! The client's side of the wire: blobs up, one submission, events, the fold, records down.

use std::time::Duration;

use muster_cache_store::BlobStore as _;
use muster_cache_store::remote::{Bearer, RemoteBlobStore};
use muster_coordinator::report::{Records, wanted};
use muster_coordinator::{MAX_MESSAGE, problem_of};
use muster_proto::canonical;
use muster_proto::code::ErrorCode;
use muster_proto::id::{BlobDigest, RunId};
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_proto::v1;
use muster_proto::v1::run_service_client::RunServiceClient;
use muster_suite::config::RunSpec;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::plan::Plan;

/// How often a broken watch is taken up again before the run is given up.
const RECONNECTS: u32 = 20;

/// A connection to a coordinator.
#[derive(Clone)]
pub(super) struct Client {
    runs: RunServiceClient<InterceptedService<Channel, Bearer>>,
    blobs: RemoteBlobStore,
}

impl Client {
    /// Connects; `token` is shown with every call.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        token: Option<&Secret>,
    ) -> Result<Self, Failure> {
        let channel = endpoint.connect().await?;
        let bearer = match token {
            Some(token) => Bearer::new(token).ok_or_else(|| {
                Failure::new(
                    ErrorCode::InvalidConfig,
                    "the token file holds what can't be sent in a header",
                )
            })?,
            None => Bearer::none(),
        };
        let runs = RunServiceClient::with_interceptor(channel.clone(), bearer.clone())
            .max_decoding_message_size(MAX_MESSAGE);
        let mut client = Self {
            runs,
            blobs: RemoteBlobStore::new(channel, bearer),
        };
        // A small call first, so that a wrong token is told as such.
        client
            .runs
            .list(v1::ListRunsRequest { limit: 1 })
            .await
            .map_err(|status| refused("a call", &status))?;
        Ok(client)
    }

    /// Uploads what isn't there, then submits.
    pub(super) async fn submit(
        &mut self,
        plan: &Plan,
        spec: &RunSpec,
        options: v1::RunOptions,
    ) -> Result<RunId, Failure> {
        for (digest, bytes) in &plan.packed.blobs {
            self.upload(digest, bytes).await?;
        }
        let bundle = canonical::json(&plan.packed.bundle);
        let bundle_digest = BlobDigest::of(&bundle);
        self.upload(&bundle_digest, &bundle).await?;
        let spec_bytes = canonical::json(spec);
        let spec_digest = BlobDigest::of(&spec_bytes);
        self.upload(&spec_digest, &spec_bytes).await?;
        let manifest = v1::Manifest {
            project_id: spec.project.clone(),
            bundle_digest: bundle_digest.0,
            spec_digest: spec_digest.0,
            units: plan.units.clone(),
            options: Some(options),
        };
        let request = v1::SubmitRequest {
            manifest: Some(manifest),
            idempotency_key: String::new(),
        };
        let answer = self
            .runs
            .submit(request)
            .await
            .map_err(|status| refused("the run", &status))?;
        Ok(RunId(answer.into_inner().run_id))
    }

    async fn upload(&self, digest: &BlobDigest, bytes: &[u8]) -> Result<(), Failure> {
        let lost = |error| {
            Failure::new(
                ErrorCode::CoordinatorUnavailable,
                format!("the suite can't be uploaded: {error}"),
            )
        };
        if !self.blobs.has(digest).await.map_err(lost)? {
            self.blobs.put(digest, bytes).await.map_err(lost)?;
        }
        Ok(())
    }

    /// Hands every event to `on_event` until the final fact; takes a broken stream up where it was.
    pub(super) async fn watch(
        &mut self,
        run: &RunId,
        mut on_event: impl FnMut(&v1::RunEvent),
    ) -> Result<(), Failure> {
        let mut after = None;
        let mut broken = 0;
        loop {
            let status = match self
                .runs
                .watch(v1::WatchRequest {
                    run_id: run.0.clone(),
                    after,
                })
                .await
            {
                Ok(stream) => {
                    let mut stream = stream.into_inner();
                    loop {
                        match stream.message().await {
                            Ok(Some(event)) => {
                                broken = 0;
                                let last =
                                    matches!(event.event, Some(v1::run_event::Event::Final(_)));
                                on_event(&event);
                                if event.cursor.is_some() {
                                    after.clone_from(&event.cursor);
                                }
                                if last {
                                    return Ok(());
                                }
                            }
                            Ok(None) => break tonic::Status::unavailable("the stream ended early"),
                            Err(status) => break status,
                        }
                    }
                }
                Err(status) => status,
            };
            broken += 1;
            if broken > RECONNECTS || status.code() == tonic::Code::NotFound {
                return Err(refused(&format!("run {run}"), &status));
            }
            tokio::time::sleep(Duration::from_millis(100 * u64::from(broken))).await;
        }
    }

    pub(super) async fn cancel(
        mut self,
        run: &RunId,
        reason: &str,
        problem: Option<&Problem>,
    ) -> Result<(), Failure> {
        let request = v1::CancelRequest {
            run_id: run.0.clone(),
            reason: reason.to_owned(),
            problem: problem.map(v1::Problem::from),
        };
        self.runs
            .cancel(request)
            .await
            .map_err(|status| refused(&format!("run {run}"), &status))?;
        Ok(())
    }

    /// Waits for the final fact, then answers with the fold.
    pub(super) async fn finished(&mut self, run: &RunId) -> Result<v1::Run, Failure> {
        self.watch(run, |_| {}).await?;
        let answer = self
            .runs
            .get(v1::GetRunRequest {
                run_id: run.0.clone(),
            })
            .await;
        Ok(answer
            .map_err(|status| refused(&format!("run {run}"), &status))?
            .into_inner())
    }

    /// The records of all attempts that can be fetched. A missing one costs detail in the report,
    /// never a verdict.
    pub(super) async fn records(&self, run: &v1::Run) -> Records {
        let mut records = Records::new();
        for digest in wanted(run) {
            let lost = |why: String| {
                eprintln!(
                    "muster: the record {digest} of an attempt {why}; the report lacks its steps"
                )
            };
            match self.blobs.get(&digest).await {
                Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
                    Ok(record) => {
                        records.insert(digest, record);
                    }
                    Err(error) => lost(format!("can't be read: {error}")),
                },
                Ok(None) => lost("is missing".to_owned()),
                Err(error) => lost(format!("can't be fetched: {error}")),
            }
        }
        records
    }
}

fn refused(what: &str, status: &tonic::Status) -> Failure {
    let message = format!("the coordinator did not take {what}: {}", status.message());
    match status.code() {
        tonic::Code::Unauthenticated => Failure::new(
            ErrorCode::InvalidConfig,
            format!("{message}; name the coordinator's token file with --token-file"),
        ),
        _ => Failure::new(problem_of(status).code, message),
    }
}
