//! The way to a coordinator: one channel that every client of the node shares.

use std::time::Duration;

use hyper_util::rt::TokioIo;
use muster_cache_store::remote::Bearer;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint as Transport, Uri};
use tower::service_fn;

use super::config::{Endpoint, NodeError};

/// Most time for connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a silent connection is asked whether it lives, and how long it may take to answer.
const PING: Duration = Duration::from_secs(10);

/// A coordinator's channel, which connects when it is used and again when it broke, and the token
/// that goes with every call.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) channel: Channel,
    pub(super) bearer: Bearer,
}

impl Line {
    /// Nothing is connected yet.
    pub(super) fn to(endpoint: &Endpoint) -> Result<Self, NodeError> {
        let setup = |message: String| NodeError::Setup(Problem::new(ErrorCode::InvalidConfig, message));
        match endpoint {
            Endpoint::Unix(path) => {
                let path = path.clone();
                let connect = service_fn(move |_: Uri| {
                    let path = path.clone();
                    async move { UnixStream::connect(path).await.map(TokioIo::new) }
                });
                // The name is for the Host header alone.
                let transport = tuned(Transport::from_static("http://coordinator"));
                Ok(Self {
                    channel: transport.connect_with_connector_lazy(connect),
                    bearer: Bearer::none(),
                })
            }
            Endpoint::Tcp { address, token } => {
                let transport = Transport::from_shared(format!("http://{address}"));
                let transport = transport.map_err(|error| setup(format!("{address} is no address: {error}")))?;
                let bearer = Bearer::new(token).ok_or_else(|| {
                    setup("the coordinator's token holds characters that a header can't; copy it again".to_owned())
                })?;
                Ok(Self {
                    channel: tuned(transport).connect_lazy(),
                    bearer,
                })
            }
        }
    }
}

fn tuned(transport: Transport) -> Transport {
    transport
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .keep_alive_while_idle(true)
}
