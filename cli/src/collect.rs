//! Collection: test files are loaded in a worker of the client's own, and no body runs.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use muster_proto::code::ErrorCode;
use muster_providers::child::{CommandSpec, Pipe, Supervisor};
use muster_suite::bundle::Packed;
use muster_suite::codec::FrameCodec;
use muster_suite::collect::CollectedFile;
use muster_suite::frame::{FromWorker, Limits, ToWorker};
use tokio::time::timeout;
use tokio_util::codec::{FramedRead, FramedWrite};

use crate::env::Env;
use crate::failure::Failure;
use crate::fleet;

/// Longest time that all files together may take to load.
const DEADLINE: Duration = Duration::from_secs(120);

/// The tests of `files`, in their order.
pub(crate) async fn collect(
    packed: &Packed,
    files: &[String],
    env: &Env,
) -> Result<Vec<CollectedFile>, Failure> {
    let supervisor = fleet::supervisor(env).await?;
    let result = timeout(DEADLINE, ask(&supervisor, packed, files, env)).await;
    supervisor.close().await;
    result.unwrap_or_else(|_| {
        Err(Failure::new(
            ErrorCode::CollectionError,
            format!(
                "loading the test files took longer than {} s",
                DEADLINE.as_secs()
            ),
        ))
    })
}

async fn ask(
    supervisor: &Supervisor,
    packed: &Packed,
    files: &[String],
    env: &Env,
) -> Result<Vec<CollectedFile>, Failure> {
    let crashed = |reason: String| {
        Failure::new(
            ErrorCode::WorkerCrashed,
            format!("the test worker {reason}"),
        )
    };
    let mut spec = CommandSpec::new(fleet::own_command(env, "worker"));
    spec.stdin = Pipe::Piped;
    spec.stdout = Pipe::Piped;
    spec.stderr = Pipe::Inherited;
    let mut worker = supervisor
        .spawn(&spec)
        .map_err(|error| crashed(format!("did not start: {error}")))?;
    let stdin = worker.take_stdin().expect("stdin was asked for");
    let stdout = worker.take_stdout().expect("stdout was asked for");
    let mut to_worker = FramedWrite::new(stdin, FrameCodec::<ToWorker>::new());
    let mut from_worker = FramedRead::new(stdout, FrameCodec::<FromWorker>::new());
    let request = muster_script::collect_request(packed, files.to_vec(), Limits::default())?;
    to_worker
        .send(request)
        .await
        .map_err(|error| crashed(format!("did not take the test files: {error}")))?;
    let answer = loop {
        match from_worker.next().await {
            Some(Ok(FromWorker::Collected { files })) => break Ok(files),
            Some(Ok(FromWorker::Broken { problem })) => break Err(Failure::from(problem)),
            Some(Ok(FromWorker::Console { level, text })) => eprintln!("  {level}: {text}"),
            Some(Ok(FromWorker::Call { op, .. })) => {
                break Err(crashed(format!(
                    "asked for a step while collecting: {op:?}"
                )));
            }
            Some(Ok(
                FromWorker::Done { .. } | FromWorker::Failed {} | FromWorker::BodyEnded { .. },
            )) => {
                break Err(crashed("ran a test while collecting".to_owned()));
            }
            Some(Err(error)) => break Err(crashed(format!("broke its protocol: {error}"))),
            None => break Err(crashed("ended without an answer".to_owned())),
        }
    };
    worker.kill_group(Duration::ZERO).await;
    answer
}
