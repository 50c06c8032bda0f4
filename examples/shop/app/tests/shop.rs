//! The real server over real sockets: what a visitor sees, and what each planted bug changes.
#![allow(
    clippy::unwrap_used,
    reason = "clippy spares test functions, not the helpers beside them"
)]

mod visitor;

use std::collections::BTreeSet;

use muster_shop::{Bug, DEMO_EMAIL, DEMO_PASSWORD};
use visitor::{Running, Visitor};

const ADDRESS: &[(&str, &str)] = &[
    ("name", "Ann Fern"),
    ("email", "ann@example.com"),
    ("street", "1 Mill Lane"),
    ("town", "Keswick"),
    ("postcode", "CA12 5AB"),
    ("country", "United Kingdom"),
];

async fn log_in(visitor: &mut Visitor) -> String {
    let form = [("email", DEMO_EMAIL), ("password", DEMO_PASSWORD)];
    visitor.post("/login", &form).await.text
}

async fn buy_a_mug(visitor: &mut Visitor) -> String {
    visitor
        .post("/cart/add", &[("product", "enamel-mug")])
        .await;
    visitor.post("/checkout/address", ADDRESS).await;
    visitor
        .post("/checkout/delivery", &[("delivery", "express")])
        .await;
    visitor
        .post("/checkout/review", &[("terms", "on")])
        .await
        .text
}

#[tokio::test]
async fn every_page_renders_and_an_unknown_one_is_missing() {
    let shop = Running::start(&[], Some(1)).await;
    let mut visitor = shop.visitor();
    log_in(&mut visitor).await;
    visitor
        .post("/cart/add", &[("product", "enamel-mug")])
        .await;
    visitor.post("/account/addresses/new", ADDRESS).await;
    for (path, heading) in [
        ("/", "<h1>Everything for outside</h1>"),
        ("/category/packs", "<h1>Packs</h1>"),
        ("/search?q=socks", "<h1>Results for “socks”</h1>"),
        ("/product/rain-jacket", "<h1>Rain Jacket</h1>"),
        ("/product/two-person-tent", "Out of stock"),
        ("/cart", "<h1>Your cart</h1>"),
        ("/checkout", "<h1>Your address</h1>"),
        ("/account", "<h1>Your account</h1>"),
        ("/account/addresses", "1 Mill Lane"),
        ("/account/addresses/new", "<h1>New address</h1>"),
        ("/orders", "<h1>Your orders</h1>"),
        ("/stores", "<iframe title=\"Store finder\""),
        ("/embed/stores?town=keswick&within=15", "Grasmere"),
        ("/help", "<h1>Help</h1>"),
        ("/healthz", "ok"),
        ("/static/shop.js", "customElements"),
        ("/static/shop.css", ":root"),
    ] {
        let answer = visitor.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.text.contains(heading), "{path}: {}", answer.text);
    }
    for path in [
        "/nowhere",
        "/product/umbrella",
        "/category/x",
        "/orders/ORD-0",
    ] {
        assert_eq!(visitor.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_cart_belongs_to_one_visitor() {
    let shop = Running::start(&[], None).await;
    let (mut one, mut other) = (shop.visitor(), shop.visitor());
    let added = one
        .post("/cart/add", &[("product", "enamel-mug"), ("quantity", "3")])
        .await;
    assert!(
        added.text.contains("Enamel Mug is in your cart."),
        "{}",
        added.text
    );
    assert!(added.text.contains("\"count\":3"), "{}", added.text);
    let cart = one.get("/cart").await.text;
    assert!(
        cart.contains("Enamel Mug") && cart.contains("£28.50"),
        "{cart}"
    );
    assert!(
        other
            .get("/cart")
            .await
            .text
            .contains("Your cart is empty.")
    );
}

#[tokio::test]
async fn quantities_change_and_lines_go() {
    let shop = Running::start(&[], None).await;
    let mut visitor = shop.visitor();
    visitor
        .post("/cart/add", &[("product", "enamel-mug")])
        .await;
    visitor.post("/cart/add", &[("product", "sun-hat")]).await;
    let cart = visitor.post("/cart", &[("quantity-1", "4")]).await.text;
    assert!(cart.contains("£60.00"), "4 mugs and a hat: {cart}");
    let refused = visitor.post("/cart", &[("quantity-1", "99")]).await.text;
    assert!(
        refused.contains("Enter a quantity between 1 and 20."),
        "{refused}"
    );
    let cart = visitor.post("/cart/remove", &[("line", "1")]).await.text;
    assert!(!cart.contains("£9.50") && cart.contains("£22.00"), "{cart}");
}

#[tokio::test]
async fn a_checkout_asks_for_what_is_missing_and_stores_the_order() {
    let shop = Running::start(&[], None).await;
    let mut visitor = shop.visitor();
    visitor
        .post("/cart/add", &[("product", "enamel-mug")])
        .await;
    let refused = visitor
        .post("/checkout/address", &[("name", "Ann Fern")])
        .await
        .text;
    assert!(refused.contains("Enter a town or city.") && refused.contains("aria-invalid"));
    visitor.post("/checkout/address", ADDRESS).await;
    let refused = visitor
        .post("/checkout/delivery", &[("gift_wrap", "on")])
        .await
        .text;
    assert!(
        refused.contains("Choose how you want to get your order."),
        "{refused}"
    );
    visitor
        .post(
            "/checkout/delivery",
            &[("delivery", "express"), ("gift_wrap", "on")],
        )
        .await;
    let refused = visitor.post("/checkout/review", &[]).await.text;
    assert!(refused.contains("Agree to the terms of sale"), "{refused}");
    assert!(refused.contains("£17.00"), "a mug by express: {refused}");
    let thanks = visitor
        .post("/checkout/review", &[("terms", "on")])
        .await
        .text;
    assert!(
        thanks.contains("Thank you for your order") && thanks.contains("ORD-"),
        "{thanks}"
    );
    let orders = visitor.get("/orders").await.text;
    assert!(
        orders.contains("Enamel Mug") && orders.contains("Being prepared"),
        "{orders}"
    );
    assert!(
        visitor
            .get("/cart")
            .await
            .text
            .contains("Your cart is empty.")
    );
}

#[tokio::test]
async fn log_in_shows_the_past_orders_and_log_out_hides_them() {
    let shop = Running::start(&[], None).await;
    let mut visitor = shop.visitor();
    assert!(
        visitor
            .get("/account")
            .await
            .text
            .contains("<h1>Log in</h1>")
    );
    let wrong = visitor
        .post("/login", &[("email", DEMO_EMAIL), ("password", "guess")])
        .await
        .text;
    assert!(
        wrong.contains("The email or the password is not right."),
        "{wrong}"
    );
    assert!(
        log_in(&mut visitor)
            .await
            .contains("Welcome back, Ann Fern.")
    );
    assert!(visitor.get("/orders").await.text.contains("Ridge Backpack"));
    visitor.post("/logout", &[]).await;
    assert!(!visitor.get("/orders").await.text.contains("Ridge Backpack"));
}

#[tokio::test]
async fn an_order_is_cancelled_and_bought_again() {
    let shop = Running::start(&[], Some(3)).await;
    let mut visitor = shop.visitor();
    log_in(&mut visitor).await;
    let orders = visitor.get("/orders").await.text;
    let newest = order_ids(&orders).into_iter().next().unwrap();
    assert!(
        visitor
            .get(&format!("/orders/{newest}"))
            .await
            .text
            .contains("Cancel order")
    );
    let order = visitor
        .post(&format!("/orders/{newest}/cancel"), &[])
        .await
        .text;
    assert!(
        order.contains("<dd data-testid=\"status\">Cancelled</dd>"),
        "{order}"
    );
    assert!(!order.contains("Cancel order"), "{order}");
    let cart = visitor
        .post(&format!("/orders/{newest}/again"), &[])
        .await
        .text;
    assert!(
        cart.contains("Your cart") && cart.contains("Head Torch"),
        "{cart}"
    );
}

fn order_ids(page: &str) -> BTreeSet<String> {
    page.match_indices("ORD-")
        .map(|(at, _)| page[at..at + 9].to_owned())
        .collect()
}

#[tokio::test]
async fn a_seed_decides_the_ids_and_no_seed_draws_new_ones() {
    let mut seen = Vec::new();
    for seed in [Some(7), Some(7), None, None] {
        let shop = Running::start(&[], seed).await;
        let mut visitor = shop.visitor();
        log_in(&mut visitor).await;
        seen.push(order_ids(&visitor.get("/orders").await.text));
    }
    assert_eq!(seen[0].len(), 3);
    assert_eq!(seen[0], seen[1]);
    assert!(seen[2].is_disjoint(&seen[3]), "{seen:?}");
}

#[tokio::test]
async fn what_a_visitor_typed_is_never_markup() {
    let shop = Running::start(&[], None).await;
    let mut visitor = shop.visitor();
    let typed = "<b onclick=x>bold</b>";
    let form = [("review", typed)];
    let page = visitor.post("/product/enamel-mug/review", &form).await.text;
    assert!(
        page.contains("&lt;b onclick") && !page.contains(typed),
        "{page}"
    );
    let page = visitor.get("/search?q=%3Cb%3E").await.text;
    assert!(!page.contains("<b>"), "{page}");
}

/// Each bug is seen where it is planted, and the shop without it looks otherwise.
#[tokio::test]
async fn each_bug_changes_what_it_says() {
    for bug in Bug::ALL {
        let healthy = symptom(&Running::start(&[], Some(1)).await, bug).await;
        let ill = symptom(&Running::start(&[bug], Some(1)).await, bug).await;
        assert_eq!((healthy, ill), (false, true), "{bug}");
    }
}

async fn symptom(shop: &Running, bug: Bug) -> bool {
    let mut visitor = shop.visitor();
    match bug {
        Bug::CartIgnoresAdd => {
            let added = visitor
                .post("/cart/add", &[("product", "enamel-mug")])
                .await
                .text;
            assert!(
                added.contains("is in your cart"),
                "the toast shows either way: {added}"
            );
            visitor
                .get("/cart")
                .await
                .text
                .contains("Your cart is empty.")
        }
        Bug::RenameAddButton => visitor
            .get("/product/enamel-mug")
            .await
            .text
            .contains(">Put in basket</button>"),
        Bug::CheckoutNoOrder => {
            let thanks = buy_a_mug(&mut visitor).await;
            assert!(
                thanks.contains("ORD-"),
                "the thanks show either way: {thanks}"
            );
            visitor
                .get("/orders")
                .await
                .text
                .contains("You have no orders yet.")
        }
        Bug::SearchEmpty => visitor
            .get("/search?q=socks")
            .await
            .text
            .contains("Nothing here matches."),
        Bug::SlowToast => visitor.get("/").await.text.contains("data-delay=\"4000\""),
        Bug::LoginRejects => log_in(&mut visitor).await.contains("is not right."),
        Bug::TwinButtons => {
            visitor
                .get("/product/enamel-mug")
                .await
                .text
                .matches("add-to-cart")
                .count()
                == 2
        }
        Bug::Banner => {
            let first = visitor.get("/").await.text.contains("No thanks");
            assert!(
                !visitor.get("/").await.text.contains("No thanks"),
                "only on the first page"
            );
            first
        }
        Bug::TotalWrong => {
            visitor
                .post("/cart/add", &[("product", "enamel-mug")])
                .await;
            visitor
                .get("/cart")
                .await
                .text
                .contains("data-testid=\"total\">£10.50<")
        }
    }
}

#[tokio::test]
async fn a_taken_port_is_an_error() {
    let shop = Running::start(&[], None).await;
    let error = visitor::bind(shop.address(), &[], None).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
