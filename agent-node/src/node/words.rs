//! Between the shared words and the wire.

use muster_proto::outcome::Status;
use muster_proto::v1;

use crate::attempt::News;

/// How an attempt ended, for the wire.
pub(super) fn status(status: Status) -> v1::Status {
    match status {
        // Only a unit can be flaky; of an attempt it would mean that it passed.
        Status::Passed | Status::Flaky => v1::Status::Passed,
        Status::Failed => v1::Status::Failed,
        Status::TimedOut => v1::Status::TimedOut,
        Status::Skipped => v1::Status::Skipped,
        Status::Interrupted => v1::Status::Interrupted,
    }
}

/// News of an attempt, for the wire.
pub(super) fn progress(news: News) -> v1::progress::What {
    match news {
        News::Step(line) => v1::progress::What::Step(line),
        News::Console(line) => v1::progress::What::Console(line),
    }
}
