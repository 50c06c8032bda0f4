//! Orders, and the ids and dates that differ at every start.

use jiff::ToSpan as _;
use jiff::civil::Date;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::cart::Line;
use crate::catalogue;
use crate::checkout::Delivery;
use crate::money::Pence;

/// Where an order is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Preparing,
    OnItsWay,
    Delivered,
    Cancelled,
}

impl Status {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Preparing => "Being prepared",
            Self::OnItsWay => "On its way",
            Self::Delivered => "Delivered",
            Self::Cancelled => "Cancelled",
        }
    }

    pub(crate) const fn can_cancel(self) -> bool {
        matches!(self, Self::Preparing)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Such as `ORD-4F7K2`.
    pub(crate) id: String,
    pub(crate) placed: Date,
    pub(crate) lines: Vec<Line>,
    pub(crate) delivery: Delivery,
    pub(crate) gift_wrap: bool,
    /// What was paid, delivery included.
    pub(crate) total: Pence,
    pub(crate) deliver_to: String,
    pub(crate) status: Status,
}

impl Order {
    /// "Enamel Mug and 2 more": the first product, and how many other lines there are.
    pub(crate) fn title(&self) -> String {
        match self.lines.as_slice() {
            [] => "Empty order".to_owned(),
            [line] => line.product.name.to_owned(),
            [line, others @ ..] => format!("{} and {} more", line.product.name, others.len()),
        }
    }
}

/// Draws order ids. Two numberers with the same seed draw the same ids.
#[derive(Debug)]
pub(crate) struct Numberer {
    random: StdRng,
}

impl Numberer {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// Digits and letters take turns, without those that look alike.
    pub(crate) fn order_id(&mut self) -> String {
        const DIGITS: &[u8] = b"23456789";
        const LETTERS: &[u8] = b"BCDFGHJKMNPQRSTVWXZ";
        let drawn = (0..5).map(|place| {
            let alphabet = if place % 2 == 0 { DIGITS } else { LETTERS };
            char::from(
                *alphabet
                    .choose(&mut self.random)
                    .expect("both alphabets have characters"),
            )
        });
        format!("ORD-{}", drawn.collect::<String>())
    }

    /// The orders that the demo account has from before, newest first.
    pub(crate) fn past_orders(&mut self, today: Date) -> Vec<Order> {
        /// Product slugs and how many of each.
        type Bought = &'static [(&'static str, u32)];
        /// The number is the fewest days ago.
        const PAST: [(Bought, Status, i32); 3] = [
            (&[("head-torch", 1)], Status::Preparing, 1),
            (&[("ridge-backpack", 1)], Status::OnItsWay, 30),
            (
                &[("wool-hiking-socks", 2), ("enamel-mug", 4)],
                Status::Delivered,
                90,
            ),
        ];
        PAST.map(|(bought, status, days)| {
            let lines: Vec<Line> = (1..)
                .zip(bought)
                .map(|(id, (slug, quantity))| Line {
                    id,
                    product: catalogue::product(slug).expect("past orders name real products"),
                    options: String::new(),
                    quantity: *quantity,
                })
                .collect();
            let days = days + self.random.random_range(0..20);
            let delivery = Delivery::Standard;
            Order {
                id: self.order_id(),
                placed: today.saturating_sub(days.days()),
                total: lines.iter().map(Line::total).sum::<Pence>() + delivery.price(),
                lines,
                delivery,
                gift_wrap: false,
                deliver_to: "Ann Fern, 1 Mill Lane, Keswick, CA12 5AB, United Kingdom".to_owned(),
                status,
            }
        })
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_ids_and_dates_and_another_seed_others() {
        let today = jiff::civil::date(2025, 12, 1);
        let show = |seed| {
            let orders = Numberer::new(seed).past_orders(today);
            orders
                .iter()
                .map(|order| (order.id.clone(), order.placed))
                .collect::<Vec<_>>()
        };
        assert_eq!(show(1), show(1));
        for ((id, placed), (other_id, _)) in show(1).iter().zip(&show(2)) {
            assert_ne!(id, other_id);
            assert!(*placed < today);
            assert_eq!(id.len(), "ORD-4F7K2".len());
        }
        assert!(
            show(1).is_sorted_by(|one, next| one.1 > next.1),
            "newest first"
        );
    }

    #[test]
    fn an_order_is_called_after_its_first_product() {
        let orders = Numberer::new(1).past_orders(jiff::civil::date(2025, 12, 1));
        let titles: Vec<_> = orders.iter().map(Order::title).collect();
        assert_eq!(
            titles,
            [
                "Head Torch",
                "Ridge Backpack",
                "Wool Hiking Socks and 1 more"
            ]
        );
    }
}
