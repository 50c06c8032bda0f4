//! The checkout's rules: what an address needs, and which ways of delivery there are.

use serde::{Deserialize, Serialize};

use crate::money::Pence;

/// The longest text that a field may hold, in characters: a bound on a visitor's memory.
const MAX_FIELD: usize = 200;

/// What the address step asks for, as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Address {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) street: String,
    pub(crate) town: String,
    pub(crate) postcode: String,
    pub(crate) country: String,
}

/// A field that needs the visitor's attention, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FieldError {
    pub(crate) field: &'static str,
    pub(crate) message: &'static str,
}

pub(crate) const COUNTRIES: [&str; 4] = ["United Kingdom", "Ireland", "France", "Norway"];

impl Address {
    /// Everything that is wrong, in the order of the form; empty when the address will do.
    pub(crate) fn errors(&self) -> Vec<FieldError> {
        let plausible_email = self
            .email
            .trim()
            .split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
        let checks = [
            ("name", filled(&self.name), "Enter your full name."),
            (
                "email",
                plausible_email,
                "Enter an email address such as name@example.com.",
            ),
            (
                "street",
                filled(&self.street),
                "Enter a street and house number.",
            ),
            ("town", filled(&self.town), "Enter a town or city."),
            (
                "postcode",
                postcode(&self.postcode),
                "Enter a postcode of 4 to 8 characters.",
            ),
            (
                "country",
                COUNTRIES.contains(&self.country.as_str()),
                "Choose a country.",
            ),
        ];
        checks
            .into_iter()
            .filter(|(_, fine, _)| !fine)
            .map(|(field, _, message)| FieldError { field, message })
            .collect()
    }
}

fn filled(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_FIELD
}

fn postcode(text: &str) -> bool {
    let text = text.trim();
    (4..=8).contains(&text.chars().count())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ')
}

/// How the order gets to the visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Standard,
    Express,
    Collect,
}

impl Delivery {
    pub(crate) const ALL: [Self; 3] = [Self::Standard, Self::Express, Self::Collect];

    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Express => "express",
            Self::Collect => "collect",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Standard => "Standard delivery",
            Self::Express => "Express delivery",
            Self::Collect => "Collect in store",
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Standard => "Three to five working days",
            Self::Express => "Tomorrow before noon",
            Self::Collect => "Ready in two hours",
        }
    }

    pub(crate) const fn price(self) -> Pence {
        match self {
            Self::Standard => Pence(395),
            Self::Express => Pence(750),
            Self::Collect => Pence(0),
        }
    }

    pub(crate) fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|delivery| delivery.slug() == slug)
    }
}

/// How far a visitor has come. A step is open once the one before it is filled in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub(crate) address: Option<Address>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) gift_wrap: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address {
            name: "Ann Fern".into(),
            email: "ann@example.com".into(),
            street: "1 Mill Lane".into(),
            town: "Keswick".into(),
            postcode: "CA12 5AB".into(),
            country: "United Kingdom".into(),
        }
    }

    #[test]
    fn a_whole_address_will_do() {
        assert_eq!(address().errors(), []);
    }

    #[test]
    fn each_field_is_asked_for_by_name() {
        let fields: Vec<_> = Address::default()
            .errors()
            .iter()
            .map(|error| error.field)
            .collect();
        assert_eq!(
            fields,
            ["name", "email", "street", "town", "postcode", "country"]
        );
        for email in ["ann", "@example.com", "ann@host"] {
            let errors = Address {
                email: email.into(),
                ..address()
            }
            .errors();
            assert_eq!(errors.len(), 1, "{email:?}");
        }
        for postcode in ["CA1", "CA12 5AB 9", "CA12-5A"] {
            let errors = Address {
                postcode: postcode.into(),
                ..address()
            }
            .errors();
            assert_eq!(
                errors.first().map(|error| error.field),
                Some("postcode"),
                "{postcode:?}"
            );
        }
    }
}
