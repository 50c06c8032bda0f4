//! The shops in town: a page, and the store finder that it holds in an iframe.

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use minijinja::context;
use serde::Deserialize;

use super::{NoPage, Page, page, to};
use crate::routes::visitor::Visitor;
use crate::state::Shared;

struct Store {
    name: &'static str,
    street: &'static str,
    /// From Keswick, the only town that the finder knows, in miles.
    miles: u32,
    sundays: bool,
}

const TOWN: &str = "Keswick";
const STORES: [Store; 4] = [
    Store {
        name: "Keswick",
        street: "12 Market Square",
        miles: 0,
        sundays: true,
    },
    Store {
        name: "Grasmere",
        street: "3 Church Stile",
        miles: 12,
        sundays: false,
    },
    Store {
        name: "Ambleside",
        street: "40 Lake Road",
        miles: 16,
        sundays: true,
    },
    Store {
        name: "Penrith",
        street: "8 Burrowgate",
        miles: 18,
        sundays: true,
    },
];
const DISTANCES: [u32; 3] = [5, 15, 50];

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/stores", get(stores))
        .route("/embed/stores", get(finder))
        .route("/embed/stores/mine", post(choose))
}

async fn stores(State(shop): State<Shared>, visitor: Visitor) -> Page {
    page(&shop, visitor, "stores.html", |_| context! {})
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Finder {
    town: String,
    within: u32,
    sundays: Option<String>,
}

async fn finder(State(shop): State<Shared>, visitor: Visitor, Query(form): Query<Finder>) -> Page {
    let known = form.town.trim().eq_ignore_ascii_case(TOWN);
    let found = STORES
        .iter()
        .filter(|store| known && store.miles <= form.within)
        .filter(|store| store.sundays || form.sundays.is_none())
        .map(|store| context! { name => store.name, street => store.street, miles => store.miles });
    let values = context! {
        town => form.town,
        within => form.within,
        sundays => form.sundays.is_some(),
        distances => DISTANCES,
        stores => found.collect::<Vec<_>>(),
        mine => shop.visit(visitor.id, |session| session.store),
    };
    Ok(Html(shop.pages().render("embed-stores.html", values)?).into_response())
}

#[derive(Debug, Deserialize)]
struct Choice {
    store: String,
}

async fn choose(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<Choice>,
) -> Result<Response, NoPage> {
    let store = STORES
        .iter()
        .find(|store| store.name == form.store)
        .ok_or(NoPage::Missing)?;
    shop.visit(visitor.id, |session| session.store = Some(store.name));
    Ok(to("/embed/stores"))
}
