//! HTTP through the proxy: tunnels (CONNECT), requests in absolute form, and upgrades.
//!
//! A request gets an upstream connection of its own: none is kept, so none can turn out dead
//! under a request that must not be sent twice. Nothing is retried. An answer may take as long as
//! its context lives.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::Either;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::denied::DeniedPorts;
use super::headers;
use super::policy::Policy;
use super::reach::{self, Resolver, Unreached};
use crate::harness::Denials;

/// How long a client may take for the head of a request, idle time before it included.
const HEAD: Duration = Duration::from_secs(60);
/// Most headers of a message.
const HEADERS: usize = 256;

/// What every connection of one proxy shares.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) denied: DeniedPorts,
    pub(super) policy: Arc<Policy>,
    pub(super) resolver: Resolver,
    pub(super) denials: Arc<Denials>,
    pub(super) connect: Duration,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
}

type Body = BoxBody<Bytes, hyper::Error>;
/// A connection's place among the bounded number; its tunnels and bodies hold it too.
type Place = Arc<OwnedSemaphorePermit>;

/// No answer: hyper closes the connection, and the page sees a network error.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error(transparent)]
    Unreached(#[from] Unreached),
    #[error("the server broke off: {0}")]
    Broken(#[from] hyper::Error),
    #[error("a server asked for proxy credentials")]
    ProxyCredentials,
}

/// Serves one client connection until it ends or the proxy stops.
pub(super) async fn serve(client: TcpStream, door: Arc<Door>, place: Place) {
    let service = service_fn(|request| answer(request, Arc::clone(&door), Arc::clone(&place)));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .preserve_header_case(true)
        .half_close(true)
        .serve_connection(TokioIo::new(client), service)
        .with_upgrades();
    if let Some(Err(error)) = door.stop.run_until_cancelled(connection).await {
        tracing::debug!(%error, "an egress connection ended early");
    }
}

async fn answer(
    request: Request<Incoming>,
    door: Arc<Door>,
    place: Place,
) -> Result<Response<Body>, Unanswered> {
    if request.method() == Method::CONNECT {
        return Ok(tunnel(request, &door, place).await);
    }
    let (Some("http"), Some(authority)) = (request.uri().scheme_str(), request.uri().authority())
    else {
        return Ok(says(
            StatusCode::BAD_REQUEST,
            "this is a proxy: it takes CONNECT and http:// requests in absolute form",
        ));
    };
    let (host, port) = (bare(authority.host()), authority.port_u16().unwrap_or(80));
    let host_header = match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_owned(),
    };
    let upstream = reach::connect(&host, port, &door).await;
    let upstream =
        upstream.inspect_err(|error| tracing::info!(%error, "a request went nowhere"))?;
    forward(request, &host_header, upstream, &door, place).await
}

async fn forward(
    mut request: Request<Incoming>,
    host_header: &str,
    upstream: TcpStream,
    door: &Door,
    place: Place,
) -> Result<Response<Body>, Unanswered> {
    let wants_upgrade = request.headers().contains_key(header::UPGRADE);
    let client = wants_upgrade.then(|| hyper::upgrade::on(&mut request));
    headers::strip(request.headers_mut(), wants_upgrade);
    // RFC 9112 §3.2.2: the target's authority is right, whatever the Host header said.
    let host = HeaderValue::from_str(host_header).expect("an authority is made of visible ASCII");
    request.headers_mut().insert(header::HOST, host);
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);

    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_headers(HEADERS)
        .preserve_header_case(true)
        .handshake(TokioIo::new(upstream))
        .await?;
    let stop = door.stop.clone();
    let holds = Arc::clone(&place);
    door.tasks.spawn(async move {
        // Its errors reach whoever waits for the answer or reads its body.
        stop.run_until_cancelled(connection.with_upgrades()).await;
        drop(holds);
    });

    let mut response = sender.send_request(request).await?;
    let upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        // The browser would take this for ours.
        return Err(Unanswered::ProxyCredentials);
    }
    if let (true, Some(client)) = (upgraded, client) {
        let server = hyper::upgrade::on(&mut response);
        door.relay(client, Either::Left(server), place);
    }
    headers::strip(response.headers_mut(), upgraded);
    Ok(response.map(BodyExt::boxed))
}

async fn tunnel(mut request: Request<Incoming>, door: &Door, place: Place) -> Response<Body> {
    let Some((host, port)) = request
        .uri()
        .authority()
        .and_then(|to| Some((bare(to.host()), to.port_u16()?)))
    else {
        return says(StatusCode::BAD_REQUEST, "CONNECT wants host:port");
    };
    match reach::connect(&host, port, door).await {
        Ok(upstream) => {
            let client = hyper::upgrade::on(&mut request);
            door.relay(client, Either::Right(upstream), place);
            Response::new(empty())
        }
        Err(error) => {
            tracing::info!(%error, "a request went nowhere");
            says(error.status(), &error.to_string())
        }
    }
}

impl Door {
    /// Passes bytes both ways until both have ended or the proxy stops.
    fn relay(&self, client: OnUpgrade, server: Either<OnUpgrade, TcpStream>, place: Place) {
        let pass = async move {
            let mut client = TokioIo::new(client.await?);
            let passed = match server {
                Either::Left(server) => {
                    let mut server = TokioIo::new(server.await?);
                    tokio::io::copy_bidirectional(&mut client, &mut server).await
                }
                Either::Right(mut server) => {
                    tokio::io::copy_bidirectional(&mut client, &mut server).await
                }
            };
            if let Err(error) = passed {
                tracing::debug!(%error, "a tunnel ended early");
            }
            Ok::<(), hyper::Error>(())
        };
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            if let Some(Err(error)) = stop.run_until_cancelled(pass).await {
                tracing::debug!(%error, "a tunnel did not open");
            }
            drop(place);
        });
    }
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> String {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).to_owned()
}

fn says(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(format!("muster egress: {text}\n")));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

fn empty() -> Body {
    Full::new(Bytes::new())
        .map_err(|never| match never {})
        .boxed()
}
