//! The cart: adding, quantities, removing, the promotion code.

use std::collections::BTreeMap;

use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use minijinja::{Value, context};
use serde::Deserialize;
use serde_json::json;

use super::{NoPage, Page, page, to};
use crate::bug::Bug;
use crate::cart::{self, Line};
use crate::catalogue;
use crate::money::Pence;
use crate::routes::visitor::Visitor;
use crate::session::Session;
use crate::state::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/cart", get(show).post(update))
        .route("/cart/add", post(add))
        .route("/cart/remove", post(remove))
        .route("/cart/promo", post(promo))
}

/// A line as the templates show it.
pub(super) fn line(line: &Line) -> Value {
    context! {
        id => line.id,
        slug => line.product.slug,
        name => line.product.name,
        options => line.options,
        quantity => line.quantity,
        price => line.product.price.to_string(),
        total => line.total().to_string(),
    }
}

/// What the shop asks for, delivery not included.
pub(super) fn total(shop: &Shared, session: &Session) -> Pence {
    let wrong = if shop.has(Bug::TotalWrong) {
        Pence::pounds(1)
    } else {
        Pence::default()
    };
    session.cart.total() + wrong
}

async fn show(State(shop): State<Shared>, visitor: Visitor) -> Page {
    cart(&shop, visitor, None)
}

fn cart(shop: &Shared, visitor: Visitor, error: Option<String>) -> Page {
    page(shop, visitor, "cart.html", |session| {
        context! {
            error,
            lines => session.cart.lines.iter().map(line).collect::<Vec<_>>(),
            promo => session.cart.promo,
            subtotal => session.cart.subtotal().to_string(),
            discount => session.cart.discount().to_string(),
            total => total(shop, session).to_string(),
        }
    })
}

#[derive(Debug, Deserialize)]
struct Addition {
    product: String,
    size: Option<String>,
    colour: Option<String>,
    quantity: Option<String>,
}

/// Answers the page's script: what to announce, and how many things the cart holds now.
async fn add(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<Addition>,
) -> Result<Response, NoPage> {
    let product = catalogue::product(&form.product).ok_or(NoPage::Missing)?;
    let added = shop.visit(visitor.id, |session| {
        let quantity = cart::quantity(form.quantity.as_deref().unwrap_or("1"))?;
        if !shop.has(Bug::CartIgnoresAdd) {
            let (size, colour) = (form.size.as_deref(), form.colour.as_deref());
            session.cart.add(product, size, colour, quantity)?;
        }
        Ok::<_, cart::Refusal>(session.cart.count())
    });
    Ok(match added {
        Ok(count) => {
            let toast = format!("{} is in your cart.", product.name);
            Json(json!({ "toast": toast, "count": count })).into_response()
        }
        Err(refusal) => {
            let error = json!({ "error": refusal.to_string() });
            (StatusCode::UNPROCESSABLE_ENTITY, Json(error)).into_response()
        }
    })
}

/// Fields are called `quantity-<line id>`; a line without a field keeps its quantity.
async fn update(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<BTreeMap<String, String>>,
) -> Page {
    let updated = shop.visit(visitor.id, |session| {
        let mut lines = session.cart.lines.clone();
        for line in &mut lines {
            if let Some(typed) = form.get(&format!("quantity-{}", line.id)) {
                line.quantity = cart::quantity(typed)?;
            }
        }
        session.cart.lines = lines;
        session.toast = Some("Your cart is up to date.".to_owned());
        Ok::<_, cart::Refusal>(())
    });
    match updated {
        Ok(()) => Ok(to("/cart")),
        Err(refusal) => cart(&shop, visitor, Some(refusal.to_string())),
    }
}

#[derive(Debug, Deserialize)]
struct Removal {
    line: u32,
}

async fn remove(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<Removal>,
) -> Response {
    shop.visit(visitor.id, |session| {
        if let Some(line) = session.cart.remove(form.line) {
            session.toast = Some(format!("{} was removed.", line.product.name));
        }
    });
    to("/cart")
}

#[derive(Debug, Deserialize)]
struct Promo {
    code: String,
}

async fn promo(State(shop): State<Shared>, visitor: Visitor, Form(form): Form<Promo>) -> Page {
    let applied = shop.visit(visitor.id, |session| {
        session.cart.apply_promo(&form.code)?;
        session.toast = Some("Ten percent off.".to_owned());
        Ok::<_, cart::Refusal>(())
    });
    match applied {
        Ok(()) => Ok(to("/cart")),
        Err(refusal) => cart(&shop, visitor, Some(refusal.to_string())),
    }
}
