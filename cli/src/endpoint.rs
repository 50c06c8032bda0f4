//! Addresses of coordinators: `unix:PATH` or `HOST:PORT`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use muster_proto::code::ErrorCode;
use muster_proto::secret::Secret;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Uri};

use crate::failure::Failure;

/// How long connecting may take; how often a silent coordinator is asked whether it lives, and how
/// long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a coordinator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Unix(PathBuf),
    Tcp(String),
}

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err(bad(text));
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        match text.rsplit_once(':') {
            Some((host, port))
                if !host.is_empty() && port.parse::<u16>().is_ok() && !text.contains('/') =>
            {
                Ok(Self::Tcp(text.to_owned()))
            }
            _ => Err(bad(text)),
        }
    }

    /// Whether an app on this machine's loopback is in reach of the nodes behind it.
    pub(crate) fn on_this_machine(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(address) => address
                .rsplit_once(':')
                .is_some_and(|(host, _)| matches!(host, "127.0.0.1" | "localhost" | "[::1]")),
        }
    }

    /// Opens a channel.
    pub(crate) async fn connect(&self) -> Result<Channel, Failure> {
        let unavailable = |reason: String| {
            Failure::new(
                ErrorCode::CoordinatorUnavailable,
                format!(
                    "no coordinator answers at {self}: {reason}; start one with `muster coordinator --listen {self}`"
                ),
            )
        };
        let channel = match self {
            Self::Unix(path) => {
                let path = path.clone();
                tuned(tonic::transport::Endpoint::from_static(
                    "http://muster.invalid",
                ))
                .connect_with_connector(tower::service_fn(move |_: Uri| {
                    let path = path.clone();
                    async move { UnixStream::connect(path).await.map(TokioIo::new) }
                }))
                .await
            }
            Self::Tcp(address) => {
                let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}"))
                    .map_err(|error| unavailable(error.to_string()))?;
                tuned(endpoint).connect().await
            }
        };
        channel.map_err(|error| unavailable(root_cause(&error)))
    }
}

/// A coordinator that is gone without a word is noticed: no call and no watch waits for ever.
fn tuned(endpoint: tonic::transport::Endpoint) -> tonic::transport::Endpoint {
    endpoint
        .connect_timeout(PATIENCE)
        .http2_keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE)
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

/// Reads a token file.
pub(crate) fn read_token(path: &Path) -> Result<Secret, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(
            ErrorCode::InvalidConfig,
            format!("the token file {} can't be read: {error}", path.display()),
        )
    })?;
    match text.trim() {
        "" => Err(Failure::new(
            ErrorCode::InvalidConfig,
            format!("the token file {} is empty", path.display()),
        )),
        token => Ok(Secret::new(token)),
    }
}

/// The innermost message of an error chain: tonic's outer ones say only "transport error".
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

fn bad(text: &str) -> Failure {
    Failure::new(
        ErrorCode::InvalidConfig,
        format!(
            "{text:?} is no coordinator address; write unix:PATH or HOST:PORT, e.g. 127.0.0.1:7700"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_sockets_or_host_and_port() {
        assert_eq!(
            Endpoint::parse("unix:/run/m.sock").unwrap(),
            Endpoint::Unix("/run/m.sock".into())
        );
        assert_eq!(
            Endpoint::parse("127.0.0.1:7700").unwrap(),
            Endpoint::Tcp("127.0.0.1:7700".into())
        );
        assert!(Endpoint::parse("[::1]:7700").unwrap().on_this_machine());
        assert!(
            !Endpoint::parse("farm.example:7700")
                .unwrap()
                .on_this_machine()
        );
        for wrong in ["", "unix:", "7700", "http://a:7700", "host:port"] {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
    }
}
