//! What one visitor did: kept per cookie, in memory, bounded.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;
use uuid::Uuid;

use crate::cart::Cart;
use crate::checkout::{Address, Draft};
use crate::order::Order;

/// The demo account. It is no secret of anybody's: it opens nothing but this shop.
pub const DEMO_EMAIL: &str = "ann@example.com";
/// The demo account's password.
pub const DEMO_PASSWORD: &str = "heather-and-gorse";

/// The most visitors that are remembered; the one not seen for longest goes first.
const MAX_SESSIONS: usize = 512;
/// The most orders, reviews and addresses of one visitor.
pub(crate) const MAX_KEPT: usize = 50;

/// What the account page edits.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) display_name: String,
    pub(crate) activity: String,
    pub(crate) newsletter: bool,
    pub(crate) texts: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            display_name: "Ann Fern".to_owned(),
            activity: "Hiking".to_owned(),
            newsletter: false,
            texts: true,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) logged_in: bool,
    pub(crate) profile: Profile,
    pub(crate) addresses: Vec<Address>,
    pub(crate) cart: Cart,
    pub(crate) draft: Draft,
    /// Oldest first.
    pub(crate) orders: Vec<Order>,
    /// What the thank-you page shows: the id and day of the order just placed.
    pub(crate) placed: Option<(String, Date)>,
    /// Shown once, on the next page.
    pub(crate) toast: Option<String>,
    /// Stars, 1 to 5, by product slug.
    pub(crate) ratings: BTreeMap<&'static str, u8>,
    pub(crate) reviews: Vec<(&'static str, String)>,
    pub(crate) store: Option<&'static str>,
    pub(crate) banner_seen: bool,
    last_seen: u64,
}

impl Session {
    /// Forgets the account and keeps the cart, which belongs to the browser.
    pub(crate) fn log_out(&mut self) {
        *self = Self {
            cart: std::mem::take(&mut self.cart),
            toast: Some("You are logged out.".to_owned()),
            banner_seen: true,
            last_seen: self.last_seen,
            ..Self::default()
        };
    }
}

/// Every visitor, by the id in their cookie.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_id: HashMap<Uuid, Session>,
    /// Counts visits; orders sessions by their last one.
    visits: u64,
}

impl Sessions {
    /// The visitor's session, begun now if the id is new or was forgotten.
    pub(crate) fn visit(&mut self, id: Uuid) -> &mut Session {
        self.visits += 1;
        if !self.by_id.contains_key(&id) && self.by_id.len() >= MAX_SESSIONS {
            let oldest = self
                .by_id
                .iter()
                .min_by_key(|(_, session)| session.last_seen);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.by_id.remove(&oldest);
            }
        }
        let session = self.by_id.entry(id).or_default();
        session.last_seen = self.visits;
        session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_visitor_not_seen_for_longest_is_forgotten_first() {
        let mut sessions = Sessions::default();
        let ids: Vec<Uuid> = (0..=MAX_SESSIONS).map(|_| Uuid::new_v4()).collect();
        let (newcomer, known) = ids.split_last().unwrap();
        for id in known {
            sessions.visit(*id).banner_seen = true;
        }
        sessions.visit(known[0]);
        sessions.visit(*newcomer);
        assert_eq!(sessions.by_id.len(), MAX_SESSIONS);
        assert!(sessions.visit(known[0]).banner_seen, "seen again just now");
        assert!(
            !sessions.by_id.contains_key(&known[1]),
            "not seen for longest"
        );
    }
}
