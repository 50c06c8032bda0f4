//! The templates, and what every page shows around its own content.

use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::bug::Bug;
use crate::catalogue::{CATEGORIES, Category, Product};
use crate::session::Session;
use crate::state::Shared;

macro_rules! templates {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("templates/", $name)))),+]
    };
}

const TEMPLATES: [(&str, &str); 20] = templates![
    "account.html",
    "address-new.html",
    "addresses.html",
    "cart.html",
    "checkout-address.html",
    "checkout-delivery.html",
    "checkout-review.html",
    "checkout-thanks.html",
    "embed-stores.html",
    "field.html",
    "help.html",
    "layout.html",
    "list.html",
    "login.html",
    "missing.html",
    "order.html",
    "orders.html",
    "picture.html",
    "product.html",
    "stores.html",
];

/// How late a toast shows, in milliseconds, with [`Bug::SlowToast`].
const SLOW_TOAST_MS: u32 = 4000;

/// The compiled templates.
#[derive(Debug)]
pub(crate) struct Pages(Environment<'static>);

impl Pages {
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, source) in TEMPLATES {
            environment
                .add_template(name, source)
                .expect("the templates are part of the binary and a test renders each");
        }
        Self(environment)
    }

    pub(crate) fn render(&self, name: &str, values: Value) -> Result<String, minijinja::Error> {
        self.0.get_template(name)?.render(values)
    }
}

/// What the layout needs. Takes the waiting toast, and counts the banner as seen.
pub(crate) fn around(shop: &Shared, session: &mut Session) -> Value {
    let first_visit = !std::mem::replace(&mut session.banner_seen, true);
    context! {
        categories => CATEGORIES.iter().map(category).collect::<Vec<_>>(),
        cart_count => session.cart.count(),
        logged_in => session.logged_in,
        display_name => session.profile.display_name,
        toast => session.toast.take(),
        toast_delay => if shop.has(Bug::SlowToast) { SLOW_TOAST_MS } else { 0 },
        banner => first_visit && shop.has(Bug::Banner),
        twin_buttons => shop.has(Bug::TwinButtons),
        add_label => if shop.has(Bug::RenameAddButton) { "Put in basket" } else { "Add to cart" },
    }
}

pub(crate) fn category(category: &Category) -> Value {
    context! { slug => category.slug, name => category.name }
}

pub(crate) fn product(product: &Product) -> Value {
    context! {
        slug => product.slug,
        name => product.name,
        price => product.price.to_string(),
        about => product.about,
        hue => product.hue(),
        sizes => product.sizes,
        colours => product.colours,
        in_stock => product.in_stock,
        has_options => product.has_options(),
    }
}
