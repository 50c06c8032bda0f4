//! The services of `muster.v1` and their doors: [`listen`] (sockets), `access` (who may call),
//! `run` (clients), `node` (nodes). Recordings and blobs are served by `muster_cache_store::serve`.

pub(crate) mod access;
pub mod listen;
pub(crate) mod node;
pub(crate) mod run;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use prost::Message;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status};

/// Largest message that these services take, bytes; clients that read whole runs allow as much.
pub const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// A refusal with its problem in the status' details (an encoded `muster.v1.Problem`).
pub(crate) fn refuse(code: Code, problem: &Problem) -> Status {
    Status::with_details(
        code,
        problem.to_string(),
        v1::Problem::from(problem).encode_to_vec().into(),
    )
}

/// The problem behind a refused call: the one in its details, or what its code says.
pub fn problem_of(status: &Status) -> Problem {
    if !status.details().is_empty()
        && let Ok(problem) = v1::Problem::decode(status.details())
        && !problem.code.is_empty()
    {
        return Problem::from(&problem);
    }
    let code = match status.code() {
        Code::Internal | Code::Unknown | Code::DataLoss => ErrorCode::InternalError,
        _ => ErrorCode::CoordinatorUnavailable,
    };
    Problem::new(code, format!("{}: {}", status.code(), status.message()))
}

pub(crate) fn closed() -> Status {
    Status::unavailable("the coordinator is stopping; try again")
}

/// Cancelled when the listener that a request came through closes: long streams end with it.
#[derive(Clone)]
pub(crate) struct HangUp(pub(crate) CancellationToken);

impl HangUp {
    /// The listener's token, or one that never fires where there is no listener.
    pub(crate) fn of<T>(request: &Request<T>) -> CancellationToken {
        request
            .extensions()
            .get::<HangUp>()
            .map(|hang_up| hang_up.0.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_survives_a_refusal() {
        let problem = Problem::new(ErrorCode::NoTests, "the manifest is empty");
        assert_eq!(
            problem_of(&refuse(Code::InvalidArgument, &problem)),
            problem
        );
        assert_eq!(
            problem_of(&Status::unavailable("gone")).code,
            ErrorCode::CoordinatorUnavailable
        );
    }
}
