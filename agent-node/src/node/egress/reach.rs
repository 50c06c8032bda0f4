//! Resolving, checking and connecting, in that order and on the same addresses.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::StatusCode;
use muster_proto::guard::Guard;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::forward::Door;
use super::policy::Denied;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreached {
    #[error("{server} is not reached: {}", why.why)]
    Denied { server: String, why: Denied },
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
            Unreached::Denied { .. } => StatusCode::FORBIDDEN,
            Unreached::Unresolved { .. } | Unreached::Refused { .. } => StatusCode::BAD_GATEWAY,
            Unreached::TooSlow { .. } => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

/// Finds the addresses of a host and port.
#[derive(Clone)]
pub struct Resolver(Arc<Lookup>);

type Lookup = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

impl Resolver {
    /// One that answers by a function.
    pub fn new(
        lookup: impl Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(lookup))
    }

    /// This machine's.
    pub fn system() -> Self {
        Self::new(|host, port| {
            async move { Ok(lookup_host((host, port)).await?.collect()) }.boxed()
        })
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// A connection to `host` (a name or an address, IPv6 without brackets).
pub(super) async fn connect(host: &str, port: u16, door: &Door) -> Result<TcpStream, Unreached> {
    let within = door.connect;
    let server = format!("{host}:{port}");
    let refuse = |why: Denied| {
        door.denials.note(&server, why.guard, &why.why);
        Unreached::Denied {
            server: server.clone(),
            why,
        }
    };
    door.policy.host(host, port).map_err(refuse)?;
    let end = Instant::now() + within;
    let too_slow = || Unreached::TooSlow {
        server: server.clone(),
        within,
    };
    let unresolved = |reason: String| Unreached::Unresolved {
        server: server.clone(),
        reason,
    };
    let found = timeout(within, door.resolver.0(host.to_owned(), port)).await;
    let found = found
        .map_err(|_| too_slow())?
        .map_err(|error| unresolved(error.to_string()))?;
    if found.is_empty() {
        return Err(unresolved("it has no address".to_owned()));
    }
    // What is checked here is what is connected to: the name is not asked again.
    let mut allowed = Vec::new();
    let mut refused = None;
    for address in found {
        let own = door.denied.denies(address) && Guard::EgressAddress.holds();
        let checked = match own {
            true => Err(Denied {
                guard: Guard::EgressAddress,
                why: "it is a port of Muster itself; no page may reach it".to_owned(),
            }),
            false => door.policy.address(host, port, address.ip()),
        };
        match checked {
            Ok(()) => allowed.push(address),
            Err(why) => refused = Some(why),
        }
    }
    let mut last = match (allowed.is_empty(), refused) {
        (true, Some(why)) => return Err(refuse(why)),
        _ => too_slow(),
    };
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
