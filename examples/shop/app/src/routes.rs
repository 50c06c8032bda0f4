//! The router: a file per group of pages.

mod account;
mod browse;
mod cart;
mod checkout;
mod stores;
mod visitor;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use minijinja::{Value, context};

use crate::pages;
use crate::state::Shared;
use visitor::Visitor;

pub(crate) fn router(shop: Shared) -> Router {
    let pages = Router::new()
        .merge(browse::routes())
        .merge(cart::routes())
        .merge(checkout::routes())
        .merge(account::routes())
        .merge(stores::routes())
        .route("/help", get(help))
        .fallback(missing)
        .layer(middleware::from_fn(visitor::recognise));
    // Neither needs a session, and a readiness probe must not begin one.
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route(
            "/static/shop.css",
            get(async || asset("text/css", include_str!("static/shop.css"))),
        )
        .route(
            "/static/shop.js",
            get(async || asset("text/javascript", include_str!("static/shop.js"))),
        )
        .merge(pages)
        .with_state(shop)
}

/// Why a request got no page.
#[derive(Debug, thiserror::Error)]
enum NoPage {
    #[error("there is no such page")]
    Missing,
    #[error("the page could not be made: {0}")]
    Template(#[from] minijinja::Error),
}

impl IntoResponse for NoPage {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Template(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, self.to_string()).into_response()
    }
}

type Page = Result<Response, NoPage>;

/// A page in the layout. `inside` runs on the session first; what it returns reaches the template.
fn page(
    shop: &Shared,
    visitor: Visitor,
    template: &str,
    inside: impl FnOnce(&mut crate::session::Session) -> Value,
) -> Page {
    let values = shop.visit(visitor.id, |session| {
        let inside = inside(session);
        context! { ..inside, ..pages::around(shop, session) }
    });
    Ok(Html(shop.pages().render(template, values)?).into_response())
}

fn to(path: &str) -> Response {
    Redirect::to(path).into_response()
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, format!("{kind}; charset=utf-8"))],
        text,
    )
}

async fn help(axum::extract::State(shop): axum::extract::State<Shared>, visitor: Visitor) -> Page {
    page(&shop, visitor, "help.html", |_| context! {})
}

async fn missing(
    axum::extract::State(shop): axum::extract::State<Shared>,
    visitor: Visitor,
) -> Page {
    let page = page(&shop, visitor, "missing.html", |_| context! {})?;
    Ok((StatusCode::NOT_FOUND, page).into_response())
}
