//! Resolving, checking and connecting, in that order and on the same addresses.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::StatusCode;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::denied::DeniedPorts;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreached {
    #[error("{0} is a port of Muster itself; no page may reach it")]
    Denied(String),
    #[error("the name of {server} does not resolve: {reason}")]
    Unresolved { server: String, reason: String },
    #[error("{server} can't be reached: {reason}")]
    Refused {
        server: String,
        reason: std::io::Error,
    },
    #[error("{server} did not answer within {} ms", within.as_millis())]
    TooSlow { server: String, within: Duration },
}

impl Unreached {
    /// What a CONNECT is answered.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Unreached::Denied(_) => StatusCode::FORBIDDEN,
            Unreached::Unresolved { .. } | Unreached::Refused { .. } => StatusCode::BAD_GATEWAY,
            Unreached::TooSlow { .. } => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

/// A connection to `host` (a name or an address, IPv6 without brackets).
pub(super) async fn connect(
    host: &str,
    port: u16,
    denied: &DeniedPorts,
    within: Duration,
) -> Result<TcpStream, Unreached> {
    let server = format!("{host}:{port}");
    let end = Instant::now() + within;
    let too_slow = || Unreached::TooSlow {
        server: server.clone(),
        within,
    };
    let unresolved = |reason: String| Unreached::Unresolved {
        server: server.clone(),
        reason,
    };
    let found = timeout(within, lookup_host((host, port))).await;
    let found = found
        .map_err(|_| too_slow())?
        .map_err(|error| unresolved(error.to_string()))?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err(unresolved("it has no address".to_owned()));
    }
    let allowed: Vec<SocketAddr> = found.into_iter().filter(|a| !denied.denies(*a)).collect();

    let mut last = Unreached::Denied(server.clone());
    for (tried, address) in allowed.iter().enumerate() {
        // An address that swallows packets must not use up the time of those after it.
        let left = end.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(allowed.len() - tried).unwrap_or(u32::MAX);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).ok();
                return Ok(stream);
            }
            Ok(Err(reason)) => {
                last = Unreached::Refused {
                    server: server.clone(),
                    reason,
                };
            }
            Err(_) => last = too_slow(),
        }
    }
    Err(last)
}
