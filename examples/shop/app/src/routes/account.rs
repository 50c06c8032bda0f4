//! Log-in, the account, its address book and its orders.

use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use jiff::civil::Date;
use minijinja::{Value, context};
use serde::Deserialize;

use super::cart::line;
use super::{NoPage, Page, page, to};
use crate::bug::Bug;
use crate::checkout::{Address, COUNTRIES, FieldError};
use crate::order::{Order, Status};
use crate::routes::visitor::Visitor;
use crate::session::{DEMO_EMAIL, DEMO_PASSWORD, MAX_KEPT, Session};
use crate::state::Shared;

const ACTIVITIES: [&str; 4] = ["Hiking", "Running", "Camping", "Climbing"];

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/login", get(login).post(take_login))
        .route("/logout", post(logout))
        .route("/account", get(account).post(save_account))
        .route("/account/addresses", get(addresses))
        .route(
            "/account/addresses/new",
            get(new_address).post(save_address),
        )
        .route("/account/addresses/remove", post(remove_address))
        .route("/orders", get(orders))
        .route("/orders/{id}", get(order))
        .route("/orders/{id}/cancel", post(cancel))
        .route("/orders/{id}/again", post(again))
}

/// "1 December 2025".
pub(super) fn date(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}

/// A page that only a logged-in visitor sees; others are asked to log in and come back.
fn private(
    shop: &Shared,
    visitor: Visitor,
    path: &str,
    template: &str,
    inside: impl FnOnce(&mut Session) -> Value,
) -> Page {
    if shop.visit(visitor.id, |session| session.logged_in) {
        page(shop, visitor, template, inside)
    } else {
        Ok(to(&format!("/login?next={path}")))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Next {
    next: String,
}

/// Where to go after log-in: a path of this shop, whatever the address bar asked for.
fn safe_next(next: &str) -> &str {
    if next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\r', '\n']) {
        next
    } else {
        "/account"
    }
}

async fn login(State(shop): State<Shared>, visitor: Visitor, Query(next): Query<Next>) -> Page {
    page(&shop, visitor, "login.html", |_| {
        context! { next => safe_next(&next.next), email => "", error => () }
    })
}

#[derive(Debug, Deserialize)]
struct Login {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

async fn take_login(State(shop): State<Shared>, visitor: Visitor, Form(form): Form<Login>) -> Page {
    let right = form.email.trim().eq_ignore_ascii_case(DEMO_EMAIL)
        && form.password == DEMO_PASSWORD
        && !shop.has(Bug::LoginRejects);
    if !right {
        return page(&shop, visitor, "login.html", |_| {
            context! {
                next => safe_next(&form.next),
                email => form.email,
                error => "The email or the password is not right.",
            }
        });
    }
    shop.visit(visitor.id, |session| {
        if !session.logged_in {
            session.logged_in = true;
            let earlier = shop.past_orders().iter().rev().cloned();
            session.orders.splice(0..0, earlier);
            session.toast = Some(format!("Welcome back, {}.", session.profile.display_name));
        }
    });
    Ok(to(safe_next(&form.next)))
}

async fn logout(State(shop): State<Shared>, visitor: Visitor) -> Response {
    shop.visit(visitor.id, Session::log_out);
    to("/")
}

async fn account(State(shop): State<Shared>, visitor: Visitor) -> Page {
    private(&shop, visitor, "/account", "account.html", |session| {
        let profile = &session.profile;
        context! {
            email => DEMO_EMAIL,
            newsletter => profile.newsletter,
            texts => profile.texts,
            activity => profile.activity,
            activities => ACTIVITIES,
            store => session.store,
        }
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProfileForm {
    display_name: String,
    activity: String,
    newsletter: Option<String>,
    texts: Option<String>,
}

async fn save_account(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<ProfileForm>,
) -> Response {
    let name: String = form.display_name.trim().chars().take(80).collect();
    shop.visit(visitor.id, |session| {
        if name.is_empty() {
            session.toast = Some("A display name is needed.".to_owned());
            return;
        }
        let profile = &mut session.profile;
        profile.display_name = name;
        if ACTIVITIES.contains(&form.activity.as_str()) {
            profile.activity = form.activity;
        }
        profile.newsletter = form.newsletter.is_some();
        profile.texts = form.texts.is_some();
        session.toast = Some("Your details are saved.".to_owned());
    });
    to("/account")
}

async fn addresses(State(shop): State<Shared>, visitor: Visitor) -> Page {
    private(
        &shop,
        visitor,
        "/account/addresses",
        "addresses.html",
        |session| {
            context! { addresses => session.addresses }
        },
    )
}

async fn new_address(State(shop): State<Shared>, visitor: Visitor) -> Page {
    address_form(&shop, visitor, &Address::default(), &[])
}

fn address_form(shop: &Shared, visitor: Visitor, typed: &Address, errors: &[FieldError]) -> Page {
    private(
        shop,
        visitor,
        "/account/addresses/new",
        "address-new.html",
        |_| {
            context! { address => typed, errors, countries => COUNTRIES }
        },
    )
}

async fn save_address(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(typed): Form<Address>,
) -> Page {
    // The address book has no e-mail addresses: the account's is used.
    let typed = Address {
        email: DEMO_EMAIL.to_owned(),
        ..typed
    };
    let errors = typed.errors();
    if !errors.is_empty() {
        return address_form(&shop, visitor, &typed, &errors);
    }
    shop.visit(visitor.id, |session| {
        if session.addresses.len() < MAX_KEPT {
            session.addresses.push(typed);
            session.toast = Some("The address is saved.".to_owned());
        }
    });
    Ok(to("/account/addresses"))
}

#[derive(Debug, Deserialize)]
struct Position {
    index: usize,
}

async fn remove_address(
    State(shop): State<Shared>,
    visitor: Visitor,
    Form(form): Form<Position>,
) -> Response {
    shop.visit(visitor.id, |session| {
        if form.index < session.addresses.len() {
            let address = session.addresses.remove(form.index);
            session.toast = Some(format!("The address of {} is gone.", address.name));
        }
    });
    to("/account/addresses")
}

/// An order as the templates show it.
fn show(order: &Order) -> Value {
    context! {
        id => order.id,
        title => order.title(),
        placed => date(order.placed),
        status => order.status.label(),
        can_cancel => order.status.can_cancel(),
        total => order.total.to_string(),
        delivery => order.delivery.name(),
        delivery_price => order.delivery.price().to_string(),
        gift_wrap => order.gift_wrap,
        deliver_to => order.deliver_to,
        lines => order.lines.iter().map(line).collect::<Vec<_>>(),
    }
}

/// A visitor who isn't logged in sees the orders of this visit.
async fn orders(State(shop): State<Shared>, visitor: Visitor) -> Page {
    page(&shop, visitor, "orders.html", |session| {
        context! { orders => session.orders.iter().rev().map(show).collect::<Vec<_>>() }
    })
}

async fn order(State(shop): State<Shared>, visitor: Visitor, Path(id): Path<String>) -> Page {
    let find = |session: &mut Session| session.orders.iter().find(|order| order.id == id).map(show);
    let order = shop.visit(visitor.id, find).ok_or(NoPage::Missing)?;
    page(&shop, visitor, "order.html", |_| context! { order })
}

async fn cancel(
    State(shop): State<Shared>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, NoPage> {
    shop.visit(visitor.id, |session| {
        let order = session.orders.iter_mut().find(|order| order.id == id)?;
        if order.status.can_cancel() {
            order.status = Status::Cancelled;
            session.toast = Some("The order is cancelled.".to_owned());
        }
        Some(to(&format!("/orders/{id}")))
    })
    .ok_or(NoPage::Missing)
}

async fn again(
    State(shop): State<Shared>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, NoPage> {
    shop.visit(visitor.id, |session| {
        let order = session.orders.iter().find(|order| order.id == id)?;
        let refused = order
            .lines
            .iter()
            .filter_map(|line| {
                session
                    .cart
                    .add(line.product, None, None, line.quantity)
                    .err()
            })
            .next();
        session.toast = Some(match refused {
            None => "Everything from that order is in your cart.".to_owned(),
            Some(refusal) => refusal.to_string(),
        });
        Some(to("/cart"))
    })
    .ok_or(NoPage::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_in_never_leads_out_of_the_shop() {
        assert_eq!(safe_next("/orders"), "/orders");
        for outside in [
            "",
            "https://example.com",
            "//example.com",
            "/\\example.com",
            "/a\r\nb",
        ] {
            assert_eq!(safe_next(outside), "/account", "{outside:?}");
        }
    }
}
