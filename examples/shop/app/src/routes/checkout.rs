//! The checkout, step by step: address, delivery, review, thanks.

use axum::Router;
use axum::extract::{Form, State};
use axum::routing::get;
use minijinja::{Value, context};
use serde::Deserialize;

use super::cart::{line, total};
use super::{Page, page, to};
use crate::bug::Bug;
use crate::checkout::{Address, COUNTRIES, Delivery, Draft, FieldError};
use crate::order::{Order, Status};
use crate::routes::visitor::Visitor;
use crate::session::{DEMO_EMAIL, MAX_KEPT, Session};
use crate::state::{self, Shared};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/checkout", get(async || to("/checkout/address")))
        .route("/checkout/address", get(address).post(take_address))
        .route("/checkout/delivery", get(delivery).post(take_delivery))
        .route("/checkout/review", get(review).post(place))
        .route("/checkout/thanks", get(thanks))
}

/// The step that a visitor must fill in before `wanted`, if any.
fn detour(session: &Session, wanted: Step) -> Option<&'static str> {
    if session.cart.lines.is_empty() {
        Some("/cart")
    } else if wanted > Step::Address && session.draft.address.is_none() {
        Some("/checkout/address")
    } else if wanted > Step::Delivery && session.draft.delivery.is_none() {
        Some("/checkout/delivery")
    } else {
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Address,
    Delivery,
    Review,
}

/// The page of a step, or the way to the one before it.
fn step(
    shop: &Shared,
    visitor: Visitor,
    wanted: Step,
    template: &str,
    inside: impl FnOnce(&mut Session) -> Value,
) -> Page {
    match shop.visit(visitor.id, |session| detour(session, wanted)) {
        Some(elsewhere) => Ok(to(elsewhere)),
        None => page(shop, visitor, template, inside),
    }
}

async fn address(State(shop): State<Shared>, visitor: Visitor) -> Page {
    let typed = shop.visit(visitor.id, |session| match &session.draft.address {
        Some(address) => address.clone(),
        None if session.logged_in => Address {
            name: session.profile.display_name.clone(),
            email: DEMO_EMAIL.to_owned(),
            ..Address::default()
        },
        None => Address::default(),
    });
    address_form(&shop, visitor, &typed, &[])
}

fn address_form(shop: &Shared, visitor: Visitor, typed: &Address, errors: &[FieldError]) -> Page {
    step(
        shop,
        visitor,
        Step::Address,
        "checkout-address.html",
        |session| {
            context! { address => typed, errors, countries => COUNTRIES, saved => session.addresses }
        },
    )
}

async fn take_address(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(typed): Form<Address>,
) -> Page {
    let errors = typed.errors();
    if !errors.is_empty() {
        return address_form(&shop, visitor, &typed, &errors);
    }
    shop.visit(visitor.id, |session| session.draft.address = Some(typed));
    Ok(to("/checkout/delivery"))
}

async fn delivery(State(shop): State<Shared>, visitor: Visitor) -> Page {
    delivery_form(&shop, visitor, None)
}

fn delivery_form(shop: &Shared, visitor: Visitor, error: Option<&str>) -> Page {
    step(
        shop,
        visitor,
        Step::Delivery,
        "checkout-delivery.html",
        |session| {
            context! {
                error,
                gift_wrap => session.draft.gift_wrap,
                deliveries => Delivery::ALL.map(|one| context! {
                    slug => one.slug(),
                    name => one.name(),
                    about => one.about(),
                    price => one.price().to_string(),
                    chosen => session.draft.delivery == Some(one),
                }),
            }
        },
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeliveryForm {
    delivery: String,
    gift_wrap: Option<String>,
}

async fn take_delivery(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<DeliveryForm>,
) -> Page {
    let Some(delivery) = Delivery::from_slug(&form.delivery) else {
        return delivery_form(
            &shop,
            visitor,
            Some("Choose how you want to get your order."),
        );
    };
    shop.visit(visitor.id, |session| {
        session.draft.delivery = Some(delivery);
        session.draft.gift_wrap = form.gift_wrap.is_some();
    });
    Ok(to("/checkout/review"))
}

async fn review(State(shop): State<Shared>, visitor: Visitor) -> Page {
    review_form(&shop, visitor, None)
}

fn review_form(shop: &Shared, visitor: Visitor, error: Option<&str>) -> Page {
    step(
        shop,
        visitor,
        Step::Review,
        "checkout-review.html",
        |session| {
            let delivery = session.draft.delivery.unwrap_or(Delivery::Standard);
            context! {
                error,
                address => session.draft.address,
                delivery => delivery.name(),
                delivery_price => delivery.price().to_string(),
                gift_wrap => session.draft.gift_wrap,
                lines => session.cart.lines.iter().map(line).collect::<Vec<_>>(),
                total => (total(shop, session) + delivery.price()).to_string(),
            }
        },
    )
}

#[derive(Debug, Deserialize)]
struct Consent {
    terms: Option<String>,
}

async fn place(State(shop): State<Shared>, visitor: Visitor, Form(form): Form<Consent>) -> Page {
    if form.terms.is_none() {
        return review_form(
            &shop,
            visitor,
            Some("Agree to the terms of sale to place the order."),
        );
    }
    let elsewhere = shop.visit(visitor.id, |session| {
        if let Some(elsewhere) = detour(session, Step::Review) {
            return elsewhere;
        }
        let draft = std::mem::take(&mut session.draft);
        if let Some(order) = order(&shop, session, draft) {
            session.placed = Some((order.id.clone(), order.placed));
            if !shop.has(Bug::CheckoutNoOrder) && session.orders.len() < MAX_KEPT {
                session.orders.push(order);
            }
        }
        session.cart = crate::cart::Cart::default();
        "/checkout/thanks"
    });
    Ok(to(elsewhere))
}

/// `None` for a draft that isn't filled in, which [`detour`] sent back already.
fn order(shop: &Shared, session: &Session, draft: Draft) -> Option<Order> {
    let (address, delivery) = (draft.address?, draft.delivery?);
    Some(Order {
        id: shop.order_id(),
        placed: state::today(),
        lines: session.cart.lines.clone(),
        delivery,
        gift_wrap: draft.gift_wrap,
        total: total(shop, session) + delivery.price(),
        deliver_to: [
            address.name,
            address.street,
            address.town,
            address.postcode,
            address.country,
        ]
        .join(", "),
        status: Status::Preparing,
    })
}

async fn thanks(State(shop): State<Shared>, visitor: Visitor) -> Page {
    page(&shop, visitor, "checkout-thanks.html", |session| {
        let (id, placed) = session.placed.clone().unzip();
        context! { id, placed => placed.map(super::account::date) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::product;

    #[test]
    fn no_step_opens_before_the_one_before_it() {
        let mut session = Session::default();
        assert_eq!(detour(&session, Step::Address), Some("/cart"));
        session
            .cart
            .add(product("enamel-mug").unwrap(), None, None, 1)
            .unwrap();
        assert_eq!(detour(&session, Step::Address), None);
        assert_eq!(detour(&session, Step::Review), Some("/checkout/address"));
        session.draft.address = Some(Address::default());
        assert_eq!(detour(&session, Step::Review), Some("/checkout/delivery"));
        session.draft.delivery = Some(Delivery::Express);
        assert_eq!(detour(&session, Step::Review), None);
    }
}
