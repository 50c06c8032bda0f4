//! The test worker: frames in, frames out, an interpreter in between and nothing else.
//!
//! Reading order: [`serve`] is the loop, `realm` one interpreter with its limits, `door` what
//! JavaScript can call, `report` what becomes of its results. The API that tests see is JavaScript
//! in `../prelude`.

mod door;
mod realm;
mod report;
mod web;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::BytesMut;
use futures::StreamExt;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::codec::{FrameCodec, FrameError};
use muster_suite::collect::CollectedFile;
use muster_suite::frame::{FromWorker, Limits, ModuleSource, TestOutcome, ToWorker, VERSION};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{Encoder, FramedRead};

use self::realm::{Realm, Turn};
use self::report::{Loaded, Ran};
use crate::places::Sources;

/// Turns that the interpreter's own limits may end before a test is given up.
const STRIKES: u32 = 2;

/// Why a worker ends early; the parent sees its pipe close.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The parent's frames are unusable.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The parent closed its end.
    #[error("the parent went away")]
    ParentGone,
    /// The parent sent what it may not at this point.
    #[error("unexpected frame: {0}")]
    Unexpected(String),
}

/// Runs a worker on this process's standard input and output, then exits: 0 after its last frame,
/// 1 otherwise. Call it before anything else has started.
pub fn worker_main() -> ! {
    let served = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map(|runtime| runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout())));
    let code = match served {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            eprintln!("test worker: {error}");
            1
        }
        Err(error) => {
            eprintln!("test worker: no runtime: {error}");
            1
        }
    };
    // Exits rather than returns: a read of standard input may still block its thread.
    std::process::exit(code);
}

/// Serves one request read from `reader`: collects files or runs a test. JavaScript runs on the
/// calling task, at most [`Limits::slice_ms`] at a time.
///
/// # Errors
/// The parent's end is gone or breaks the protocol. User errors are frames.
pub async fn serve<R, W>(reader: R, writer: W) -> Result<(), WorkerError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut wire = Wire {
        inbox: FramedRead::new(reader, FrameCodec::new()),
        writer,
        outgoing: BytesMut::new(),
    };
    let last = match wire.next().await? {
        ToWorker::Collect {
            version: VERSION,
            modules,
            files,
            limits,
        } => {
            let files = collect(&mut wire, modules, files, limits).await?;
            FromWorker::Collected { files }
        }
        ToWorker::Run {
            version: VERSION,
            modules,
            file,
            test_id,
            base_url,
            secrets,
            seed,
            cleanup_timeout_ms,
            limits,
        } => {
            let run = Run {
                file,
                test_id,
                base_url,
                secrets,
                seed,
                cleanup_timeout_ms,
            };
            match run
                .serve(&mut wire, Arc::new(Sources::new(modules)), limits)
                .await?
            {
                Ok(Ran { outcome, secondary }) => FromWorker::Done { outcome, secondary },
                Err(problem) => FromWorker::Broken { problem },
            }
        }
        ToWorker::Collect { version, .. } | ToWorker::Run { version, .. } => {
            let message = format!(
                "the parent speaks worker.v{version}, this worker speaks worker.v{VERSION}"
            );
            FromWorker::Broken {
                problem: Problem::new(ErrorCode::WorkerCrashed, message),
            }
        }
        frame @ (ToWorker::Reply { .. } | ToWorker::Abandon { .. }) => {
            return Err(WorkerError::Unexpected(format!(
                "{frame:?} before a request"
            )));
        }
    };
    wire.push(last)?;
    wire.flush().await
}

/// Both directions of the pipe.
struct Wire<R, W> {
    inbox: FramedRead<R, FrameCodec<ToWorker>>,
    writer: W,
    outgoing: BytesMut,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Wire<R, W> {
    async fn next(&mut self) -> Result<ToWorker, WorkerError> {
        self.inbox
            .next()
            .await
            .ok_or(WorkerError::ParentGone)?
            .map_err(WorkerError::from)
    }

    fn push(&mut self, frame: FromWorker) -> Result<(), WorkerError> {
        Ok(FrameCodec::<ToWorker>::new().encode(frame, &mut self.outgoing)?)
    }

    async fn flush(&mut self) -> Result<(), WorkerError> {
        self.writer
            .write_all_buf(&mut self.outgoing)
            .await
            .map_err(FrameError::Io)?;
        Ok(self.writer.flush().await.map_err(FrameError::Io)?)
    }

    /// Drives `realm` until its current call finishes; the result's JSON, or the limit that ended it.
    /// Reads even while it can't write, so that two full pipes never wait for each other.
    async fn drive(
        &mut self,
        realm: &Realm,
        first: Turn,
    ) -> Result<Result<String, Problem>, WorkerError> {
        let mut turn = first;
        let mut strikes = 0;
        loop {
            for frame in realm.take_outgoing() {
                self.push(frame)?;
            }
            if let Some(json) = realm.take_finished() {
                return Ok(Ok(json));
            }
            if let Some(problem) = turn.problem.take().or_else(|| realm.stalled()) {
                strikes += 1;
                if strikes > STRIKES {
                    return Ok(Err(problem));
                }
                turn = realm.abandon(&problem, true);
                continue;
            }
            turn = tokio::select! {
                frame = self.inbox.next() => match frame.ok_or(WorkerError::ParentGone)?? {
                    ToWorker::Reply { id, result } => realm.reply(id, &result),
                    ToWorker::Abandon { problem } => realm.abandon(&problem, false),
                    frame @ (ToWorker::Collect { .. } | ToWorker::Run { .. }) => {
                        return Err(WorkerError::Unexpected(format!("{frame:.60?} in the middle of a request")));
                    }
                },
                written = self.writer.write_buf(&mut self.outgoing), if !self.outgoing.is_empty() => {
                    if written.map_err(FrameError::Io)? == 0 {
                        return Err(WorkerError::ParentGone);
                    }
                    if self.outgoing.is_empty() {
                        self.writer.flush().await.map_err(FrameError::Io)?;
                    }
                    Turn::default()
                }
                id = realm.timer() => realm.fire(id),
            };
        }
    }
}

/// Each file in an interpreter of its own: files share nothing.
async fn collect<R, W>(
    wire: &mut Wire<R, W>,
    modules: BTreeMap<String, ModuleSource>,
    files: Vec<String>,
    limits: Limits,
) -> Result<Vec<CollectedFile>, WorkerError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let sources = Arc::new(Sources::new(modules));
    let mut collected = Vec::new();
    for file in files {
        let loaded = match Realm::open(Arc::clone(&sources), limits, 0) {
            Ok(realm) => load(wire, &realm, &file, None).await?,
            Err(problem) => Err(problem),
        };
        let (tests, problem) = match loaded.and_then(|loaded| loaded.tests(&file)) {
            Ok(tests) => (tests, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        collected.push(CollectedFile {
            file,
            tests,
            problem,
        });
    }
    Ok(collected)
}

async fn load<R, W>(
    wire: &mut Wire<R, W>,
    realm: &Realm,
    file: &str,
    secrets: Option<&[String]>,
) -> Result<Result<Loaded, Problem>, WorkerError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let first = realm.load(file, secrets);
    let loaded = wire
        .drive(realm, first)
        .await?
        .and_then(|json| Loaded::parse(&json));
    Ok(loaded.map_err(|problem| report::collection_error(file, problem)))
}

/// What a run asks for.
struct Run {
    file: String,
    test_id: String,
    base_url: String,
    secrets: Vec<String>,
    seed: u64,
    cleanup_timeout_ms: u64,
}

impl Run {
    async fn serve<R, W>(
        self,
        wire: &mut Wire<R, W>,
        sources: Arc<Sources>,
        limits: Limits,
    ) -> Result<Result<Ran, Problem>, WorkerError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let realm = match Realm::open(sources, limits, self.seed) {
            Ok(realm) => realm,
            Err(problem) => return Ok(Err(problem)),
        };
        let loaded = load(wire, &realm, &self.file, Some(&self.secrets)).await?;
        let index = match loaded.and_then(|loaded| loaded.index_of(&self.file, &self.test_id)) {
            Ok(index) => index,
            Err(problem) => return Ok(Err(problem)),
        };
        let first = realm.run(index, &self.base_url, self.cleanup_timeout_ms);
        let ran = wire.drive(&realm, first).await?.map_or_else(
            |problem| {
                Ok(Ran {
                    outcome: TestOutcome::Failed { problem },
                    secondary: Vec::new(),
                })
            },
            |json| Ran::parse(&json),
        );
        Ok(ran)
    }
}
