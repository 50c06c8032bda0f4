//! The cart's rules: no I/O, no clock.

use crate::catalogue::Product;
use crate::money::Pence;

/// The most that one line may hold.
pub(crate) const MAX_QUANTITY: u32 = 20;
/// The most different lines in one cart: a bound on a visitor's memory.
const MAX_LINES: usize = 40;
/// The one promotion code that works.
const PROMO_CODE: &str = "FERN10";
const PROMO_PERCENT: i64 = 10;

/// One product in the chosen size and colour.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Unique in its cart and never reused there.
    pub(crate) id: u32,
    pub(crate) product: &'static Product,
    /// "Size 42, Forest Green"; empty for a product without options.
    pub(crate) options: String,
    /// 1 to [`MAX_QUANTITY`].
    pub(crate) quantity: u32,
}

impl Line {
    pub(crate) fn total(&self) -> Pence {
        self.product.price * self.quantity
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Cart {
    pub(crate) lines: Vec<Line>,
    pub(crate) promo: bool,
    last_id: u32,
}

/// What the visitor asked for can't be done; the text is shown to them.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    #[error("Enter a quantity between 1 and {MAX_QUANTITY}.")]
    Quantity,
    #[error("Choose one of the sizes and colours that are offered.")]
    Option,
    #[error("{0} is out of stock.")]
    OutOfStock(&'static str),
    #[error("The cart is full.")]
    Full,
    #[error("The code {0} is not valid.")]
    Promo(String),
}

/// Reads what a visitor typed as a quantity.
pub(crate) fn quantity(typed: &str) -> Result<u32, Refusal> {
    typed
        .trim()
        .parse()
        .ok()
        .filter(|quantity| (1..=MAX_QUANTITY).contains(quantity))
        .ok_or(Refusal::Quantity)
}

impl Cart {
    /// Adds to the line with the same options, or begins one. A missing size or colour is the first
    /// that the product has.
    pub(crate) fn add(
        &mut self,
        product: &'static Product,
        size: Option<&str>,
        colour: Option<&str>,
        quantity: u32,
    ) -> Result<(), Refusal> {
        if !product.in_stock {
            return Err(Refusal::OutOfStock(product.name));
        }
        let size = choose(product.sizes, size)?;
        let colour = choose(product.colours, colour)?;
        let options = [
            size.map(|size| format!("Size {size}")),
            colour.map(str::to_owned),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ");
        let same = |line: &&mut Line| line.product.slug == product.slug && line.options == options;
        if let Some(line) = self.lines.iter_mut().find(same) {
            if line.quantity + quantity > MAX_QUANTITY {
                return Err(Refusal::Quantity);
            }
            line.quantity += quantity;
            return Ok(());
        }
        if self.lines.len() == MAX_LINES {
            return Err(Refusal::Full);
        }
        self.last_id += 1;
        self.lines.push(Line {
            id: self.last_id,
            product,
            options,
            quantity,
        });
        Ok(())
    }

    /// Takes a line out and returns it; `None` when it is no longer there.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Line> {
        let index = self.lines.iter().position(|line| line.id == id)?;
        Some(self.lines.remove(index))
    }

    pub(crate) fn apply_promo(&mut self, code: &str) -> Result<(), Refusal> {
        if code.trim().eq_ignore_ascii_case(PROMO_CODE) {
            self.promo = true;
            Ok(())
        } else {
            Err(Refusal::Promo(code.trim().chars().take(40).collect()))
        }
    }

    /// How many things are in the cart, over all lines.
    pub(crate) fn count(&self) -> u32 {
        self.lines.iter().map(|line| line.quantity).sum()
    }

    pub(crate) fn subtotal(&self) -> Pence {
        self.lines.iter().map(Line::total).sum()
    }

    pub(crate) fn discount(&self) -> Pence {
        if self.promo {
            self.subtotal().percent(PROMO_PERCENT)
        } else {
            Pence::default()
        }
    }

    /// Before delivery.
    pub(crate) fn total(&self) -> Pence {
        self.subtotal() - self.discount()
    }
}

fn choose<'a>(
    offered: &'static [&'static str],
    chosen: Option<&'a str>,
) -> Result<Option<&'a str>, Refusal> {
    match chosen.filter(|chosen| !chosen.is_empty()) {
        None => Ok(offered.first().copied()),
        Some(chosen) if offered.contains(&chosen) => Ok(Some(chosen)),
        Some(_) => Err(Refusal::Option),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::product;

    #[test]
    fn the_same_options_share_a_line_and_others_do_not() {
        let mut cart = Cart::default();
        let shoes = product("trail-running-shoes").unwrap();
        cart.add(shoes, Some("42"), Some("Slate Grey"), 1).unwrap();
        cart.add(shoes, Some("42"), Some("Slate Grey"), 2).unwrap();
        cart.add(shoes, Some("43"), None, 1).unwrap();
        let lines: Vec<_> = cart
            .lines
            .iter()
            .map(|line| (line.options.as_str(), line.quantity))
            .collect();
        assert_eq!(
            lines,
            [("Size 42, Slate Grey", 3), ("Size 43, Slate Grey", 1)]
        );
        assert_eq!(cart.total(), Pence::pounds(4 * 89));
    }

    #[test]
    fn what_cannot_be_bought_is_refused_and_changes_nothing() {
        let mut cart = Cart::default();
        let mug = product("enamel-mug").unwrap();
        let tent = product("two-person-tent").unwrap();
        let jacket = product("rain-jacket").unwrap();
        assert_eq!(
            cart.add(tent, None, None, 1),
            Err(Refusal::OutOfStock("Two-Person Tent"))
        );
        assert_eq!(
            cart.add(jacket, Some("Huge"), None, 1),
            Err(Refusal::Option)
        );
        cart.add(mug, None, None, 20).unwrap();
        assert_eq!(cart.add(mug, None, None, 1), Err(Refusal::Quantity));
        assert_eq!(cart.count(), 20);
        for typed in ["0", "21", "-1", "two", ""] {
            assert_eq!(quantity(typed), Err(Refusal::Quantity), "{typed:?}");
        }
    }

    #[test]
    fn the_promotion_takes_a_tenth_off() {
        let mut cart = Cart::default();
        cart.add(product("enamel-mug").unwrap(), None, None, 2)
            .unwrap();
        assert!(cart.apply_promo("OLD").is_err());
        assert_eq!(cart.total(), Pence::pounds(19));
        cart.apply_promo(" fern10 ").unwrap();
        assert_eq!(cart.total(), Pence(1710));
    }
}
