//! The test worker of one attempt: a child with an empty environment and nothing but its pipes.

use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::child::{Child, CommandLine, CommandSpec, Pipe, Supervisor, Tail};
use muster_redact::Redactor;

use crate::attempt::WorkerPipes;

/// A worker that runs. Dropping it kills it; [`Worker::end`] waits for that.
pub(super) struct Worker {
    child: Child,
    words: Tail,
}

/// Starts a worker.
pub(super) fn start(
    supervisor: &Supervisor,
    command: &CommandLine,
) -> Result<(Worker, WorkerPipes), Problem> {
    let mut spec = CommandSpec::new(command.clone());
    (spec.stdin, spec.stdout, spec.stderr) = (Pipe::Piped, Pipe::Piped, Pipe::Piped);
    // It reads no file; a folder of ours would only tell it where it runs.
    spec.cwd = Some("/".into());
    let mut child = supervisor.spawn(&spec).map_err(|error| {
        Problem::new(
            ErrorCode::WorkerCrashed,
            format!("the test worker: {error}"),
        )
    })?;
    let pipes = WorkerPipes {
        from_worker: Box::new(child.take_stdout().expect("stdout was asked for")),
        to_worker: Box::new(child.take_stdin().expect("stdin was asked for")),
    };
    let words = Tail::of(child.take_stderr().expect("stderr was asked for"));
    Ok((Worker { child, words }, pipes))
}

impl Worker {
    /// Ends it and waits until it is gone.
    pub(super) async fn end(self, redactor: &Redactor) {
        self.child.kill_group(Duration::ZERO).await;
        let words = self.words.last_lines().await;
        if !words.is_empty() {
            let words = redactor.text(&words);
            tracing::warn!(words, "the test worker wrote to stderr");
        }
    }
}
