//! The faults that can be planted, so that a suite can show what it catches.

use std::fmt;
use std::str::FromStr;

/// A planted fault, or a change that isn't one, for `--bug NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// The add button announces success and adds nothing.
    CartIgnoresAdd,
    /// The add button has another name: a change of the app, not a fault.
    RenameAddButton,
    /// Placing an order thanks the visitor and stores nothing.
    CheckoutNoOrder,
    /// Search never finds anything.
    SearchEmpty,
    /// Toasts come late.
    SlowToast,
    /// The right password is refused.
    LoginRejects,
    /// Product pages have a second, identical add button.
    TwinButtons,
    /// A promotion dialog covers the first page that a visitor opens.
    Banner,
    /// The cart's total is one pound too high.
    TotalWrong,
}

impl Bug {
    /// Every bug, in the order in which help lists them.
    pub const ALL: [Self; 9] = [
        Self::CartIgnoresAdd,
        Self::RenameAddButton,
        Self::CheckoutNoOrder,
        Self::SearchEmpty,
        Self::SlowToast,
        Self::LoginRejects,
        Self::TwinButtons,
        Self::Banner,
        Self::TotalWrong,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CartIgnoresAdd => "cart-ignores-add",
            Self::RenameAddButton => "rename-add-button",
            Self::CheckoutNoOrder => "checkout-no-order",
            Self::SearchEmpty => "search-empty",
            Self::SlowToast => "slow-toast",
            Self::LoginRejects => "login-rejects",
            Self::TwinButtons => "twin-buttons",
            Self::Banner => "banner",
            Self::TotalWrong => "total-wrong",
        }
    }

    /// One line for `--help`.
    pub const fn help(self) -> &'static str {
        match self {
            Self::CartIgnoresAdd => "the add button shows its toast, but the cart stays as it was",
            Self::RenameAddButton => {
                "\"Add to cart\" is called \"Put in basket\" (a change, not a fault)"
            }
            Self::CheckoutNoOrder => "placing an order says thank you, but no order is stored",
            Self::SearchEmpty => "search finds nothing, whatever was asked",
            Self::SlowToast => "toasts show four seconds late",
            Self::LoginRejects => "the right password is refused",
            Self::TwinButtons => "product pages have two identical add buttons",
            Self::Banner => "a promotion dialog covers the first page of a visit",
            Self::TotalWrong => "the cart's total is £1.00 too high",
        }
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A `--bug` that no variant has.
#[derive(Debug, thiserror::Error)]
#[error("no bug is named {name:?}; the shop knows {}", Bug::ALL.map(Bug::name).join(", "))]
pub struct UnknownBug {
    name: String,
}

impl FromStr for Bug {
    type Err = UnknownBug;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|bug| bug.name() == name)
            .ok_or_else(|| UnknownBug {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_an_unknown_one_lists_them_all() {
        for bug in Bug::ALL {
            assert_eq!(bug.name().parse::<Bug>().unwrap(), bug);
            assert!(!bug.help().is_empty());
        }
        let message = "cart-ignores".parse::<Bug>().unwrap_err().to_string();
        assert!(message.contains("\"cart-ignores\""), "{message}");
        assert!(
            message.contains("cart-ignores-add, rename-add-button"),
            "{message}"
        );
    }
}
