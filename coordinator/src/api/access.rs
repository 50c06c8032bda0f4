//! Who may call. Loopback is no trust boundary, for a hostile page can reach it: a TCP listener
//! wants its own name as the authority (against DNS rebinding), no `Origin` (browsers send one),
//! and the token. A Unix socket's file mode has decided already.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{Either, Ready, ready};
use muster_proto::secret::Secret;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::codegen::http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use tonic::codegen::http::{Request, Response};
use tower::{Layer, Service};

use super::HangUp;

/// Checks every request of one listener.
#[derive(Clone)]
pub(crate) struct Access {
    guard: Option<Arc<Guard>>,
    hang_up: CancellationToken,
}

struct Guard {
    names: Vec<String>,
    token: [u8; 32],
}

impl Access {
    /// Everybody who can open the socket.
    pub(crate) fn open(hang_up: CancellationToken) -> Self {
        Self {
            guard: None,
            hang_up,
        }
    }

    /// Only who calls `address` by a loopback name and knows the token.
    pub(crate) fn token(address: SocketAddr, token: &Secret, hang_up: CancellationToken) -> Self {
        let names = vec![address.to_string(), format!("localhost:{}", address.port())];
        let guard = Guard {
            names,
            token: Sha256::digest(token.expose()).into(),
        };
        Self {
            guard: Some(Arc::new(guard)),
            hang_up,
        }
    }
}

impl Guard {
    fn check(&self, authority: Option<&str>, headers: &HeaderMap) -> Result<(), Status> {
        let host = authority
            .or_else(|| headers.get(HOST)?.to_str().ok())
            .unwrap_or_default();
        if !self
            .names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host))
        {
            return Err(Status::permission_denied(format!(
                "{host:?} is not this listener's name"
            )));
        }
        if headers.contains_key(ORIGIN) {
            return Err(Status::permission_denied(
                "calls from web pages are not taken",
            ));
        }
        let sent = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        match sent {
            Some(sent) if same(&Sha256::digest(sent).into(), &self.token) => Ok(()),
            Some(_) => Err(Status::unauthenticated(
                "the token is not this coordinator's",
            )),
            None => Err(Status::unauthenticated("a bearer token is needed")),
        }
    }
}

/// Compares in constant time; both sides are digests, so their length tells nothing either.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    std::hint::black_box(
        a.iter()
            .zip(b)
            .fold(0, |different, (a, b)| different | (a ^ b)),
    ) == 0
}

impl<S> Layer<S> for Access {
    type Service = Checked<S>;

    fn layer(&self, inner: S) -> Checked<S> {
        Checked {
            inner,
            access: self.clone(),
        }
    }
}

/// A service behind [`Access`].
#[derive(Clone)]
pub(crate) struct Checked<S> {
    inner: S,
    access: Access,
}

impl<S, In, Out> Service<Request<In>> for Checked<S>
where
    S: Service<Request<In>, Response = Response<Out>>,
    Out: Default,
{
    type Response = Response<Out>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Out>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<In>) -> Self::Future {
        let authority = request
            .uri()
            .authority()
            .map(|authority| authority.as_str());
        let checked = self
            .access
            .guard
            .as_ref()
            .map_or(Ok(()), |guard| guard.check(authority, request.headers()));
        if let Err(status) = checked {
            return Either::Right(ready(Ok(status.into_http())));
        }
        request
            .extensions_mut()
            .insert(HangUp(self.access.hang_up.clone()));
        Either::Left(self.inner.call(request))
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn check(authority: &str, headers: &[(&str, &str)]) -> Result<(), Code> {
        let address = "127.0.0.1:7777".parse().unwrap();
        let access = Access::token(address, &Secret::new("right"), CancellationToken::new());
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        access
            .guard
            .unwrap()
            .check(Some(authority), &headers)
            .map_err(|status| status.code())
    }

    #[test]
    fn only_the_token_under_the_own_name_and_no_page() {
        let token = ("authorization", "Bearer right");
        assert_eq!(check("127.0.0.1:7777", &[token]), Ok(()));
        assert_eq!(check("localhost:7777", &[token]), Ok(()));
        assert_eq!(check("127.0.0.1:7777", &[]), Err(Code::Unauthenticated));
        assert_eq!(
            check("127.0.0.1:7777", &[("authorization", "Bearer wrong")]),
            Err(Code::Unauthenticated)
        );
        assert_eq!(
            check("127.0.0.1:7777", &[("authorization", "right")]),
            Err(Code::Unauthenticated)
        );
        assert_eq!(
            check("evil.example:7777", &[token]),
            Err(Code::PermissionDenied)
        );
        assert_eq!(
            check("127.0.0.1:7778", &[token]),
            Err(Code::PermissionDenied)
        );
        assert_eq!(
            check(
                "127.0.0.1:7777",
                &[token, ("origin", "http://127.0.0.1:7777")]
            ),
            Err(Code::PermissionDenied)
        );
    }
}
