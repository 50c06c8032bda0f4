//! Home, shelves, search and the product page with its ratings and reviews.

use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use minijinja::context;
use serde::Deserialize;

use super::{NoPage, Page, page, to};
use crate::bug::Bug;
use crate::catalogue::{self, PRODUCTS, Product, Sort};
use crate::pages;
use crate::routes::visitor::Visitor;
use crate::session::MAX_KEPT;
use crate::state::Shared;

/// The longest review, in characters.
const MAX_REVIEW: usize = 500;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(home))
        .route("/category/{slug}", get(shelf))
        .route("/search", get(search))
        .route("/product/{slug}", get(product))
        .route("/product/{slug}/rating", post(rate))
        .route("/product/{slug}/review", post(review))
}

/// What the address bar says about a list. Anything may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Listing {
    q: String,
    sort: String,
    /// Present when the box is ticked.
    in_stock: Option<String>,
}

async fn home(
    State(shop): State<Shared>,
    visitor: Visitor,
    Query(listing): Query<Listing>,
) -> Page {
    list(
        &shop,
        visitor,
        "Everything for outside",
        "",
        PRODUCTS.iter().collect(),
        &listing,
    )
}

async fn shelf(
    State(shop): State<Shared>,
    visitor: Visitor,
    Path(slug): Path<String>,
    Query(listing): Query<Listing>,
) -> Page {
    let category = catalogue::category(&slug).ok_or(NoPage::Missing)?;
    let products = PRODUCTS
        .iter()
        .filter(|product| product.category == slug)
        .collect();
    list(
        &shop,
        visitor,
        category.name,
        category.slug,
        products,
        &listing,
    )
}

async fn search(
    State(shop): State<Shared>,
    visitor: Visitor,
    Query(listing): Query<Listing>,
) -> Page {
    let found = if shop.has(Bug::SearchEmpty) {
        Vec::new()
    } else {
        catalogue::search(&listing.q)
    };
    let heading = format!("Results for “{}”", listing.q);
    list(&shop, visitor, &heading, "", found, &listing)
}

fn list(
    shop: &Shared,
    visitor: Visitor,
    heading: &str,
    current: &str,
    mut products: Vec<&'static Product>,
    listing: &Listing,
) -> Page {
    let in_stock = listing.in_stock.is_some();
    let sort = Sort::from_slug(&listing.sort);
    products.retain(|product| product.in_stock || !in_stock);
    sort.apply(&mut products);
    page(shop, visitor, "list.html", |_| {
        context! {
            heading,
            current,
            query => listing.q,
            in_stock,
            sorts => Sort::ALL.map(|one| context! {
                slug => one.slug(), label => one.label(), chosen => one == sort,
            }),
            products => products.iter().copied().map(pages::product).collect::<Vec<_>>(),
        }
    })
}

async fn product(State(shop): State<Shared>, visitor: Visitor, Path(slug): Path<String>) -> Page {
    let product = catalogue::product(&slug).ok_or(NoPage::Missing)?;
    let category = catalogue::category(product.category).ok_or(NoPage::Missing)?;
    page(&shop, visitor, "product.html", |session| {
        let of_this = session
            .reviews
            .iter()
            .filter(|(slug, _)| *slug == product.slug);
        context! {
            product => pages::product(product),
            category => pages::category(category),
            rated => session.ratings.get(product.slug).copied().unwrap_or(0),
            reviews => of_this.map(|(_, text)| text).collect::<Vec<_>>(),
        }
    })
}

#[derive(Debug, Deserialize)]
struct Rating {
    stars: u8,
}

async fn rate(
    State(shop): State<Shared>,
    visitor: Visitor,
    Path(slug): Path<String>,
    Json(rating): Json<Rating>,
) -> Result<Response, NoPage> {
    let product = catalogue::product(&slug).ok_or(NoPage::Missing)?;
    if !(1..=5).contains(&rating.stars) {
        return Ok((StatusCode::BAD_REQUEST, "a rating is 1 to 5 stars").into_response());
    }
    shop.visit(visitor.id, |session| {
        session.ratings.insert(product.slug, rating.stars)
    });
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[derive(Debug, Deserialize)]
struct Review {
    review: String,
}

async fn review(
    State(shop): State<Shared>,
    visitor: Visitor,
    Path(slug): Path<String>,
    Form(form): Form<Review>,
) -> Result<Response, NoPage> {
    let product = catalogue::product(&slug).ok_or(NoPage::Missing)?;
    let text: String = form.review.trim().chars().take(MAX_REVIEW).collect();
    shop.visit(visitor.id, |session| {
        if text.is_empty() {
            session.toast = Some("Write something first.".to_owned());
        } else if session.reviews.len() < MAX_KEPT {
            session.reviews.push((product.slug, text));
            session.toast = Some("Thanks for your review.".to_owned());
        }
    });
    Ok(to(&format!("/product/{}", product.slug)))
}
