//! Who is asking: one random id per browser, in a cookie.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use uuid::Uuid;

const COOKIE: &str = "shop-visitor";

/// The visitor of this request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visitor {
    pub(super) id: Uuid,
}

/// Reads the cookie, or gives the visitor one.
pub(super) async fn recognise(mut request: Request, next: Next) -> Response {
    let known = request
        .headers()
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE)
        .and_then(|(_, id)| id.parse().ok());
    let id = known.unwrap_or_else(Uuid::new_v4);
    request.extensions_mut().insert(Visitor { id });
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if known.is_none() {
        let cookie = format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax");
        let cookie = HeaderValue::try_from(cookie).expect("a uuid is ASCII");
        headers.append(header::SET_COOKIE, cookie);
    }
    response
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        // Only a route outside the `recognise` layer lacks it.
        parts
            .extensions
            .get()
            .copied()
            .ok_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
