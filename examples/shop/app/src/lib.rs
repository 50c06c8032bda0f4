//! Fernhill Outfitters, the demo shop that `muster demo-app` serves.
//!
//! It exists to be tested: a small server-rendered shop with the things that end-to-end suites meet
//! every day. Search, product options, a cart, a checkout in steps with validation, log-in, orders
//! whose ids and dates change at every start, toasts, native dialogs, an iframe and a widget in an
//! open shadow root.
//!
//! Reading order: [`Shop`] binds and serves; `catalogue`, `cart`, `checkout` and `order` are the
//! pure rules; `session` keeps what one visitor did; `routes` has a file per group of pages;
//! `pages` renders the templates in `src/templates`. [`Bug`] lists the faults that can be planted:
//! a new one is a variant there, and the compiler leads to its name and help text.
//!
//! All state is in memory, per visitor (a cookie), and bounded. Nothing is ever written to disk.

mod bug;
mod cart;
mod catalogue;
mod checkout;
mod money;
mod order;
mod pages;
mod routes;
mod session;
mod state;

use std::collections::BTreeSet;
use std::future::{Future, IntoFuture as _};
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

pub use bug::{Bug, UnknownBug};
pub use session::{DEMO_EMAIL, DEMO_PASSWORD};

/// How to start a shop.
#[derive(Debug, Clone)]
pub struct ShopOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The faults to plant; empty for a shop that works.
    pub bugs: BTreeSet<Bug>,
    /// Decides order ids and how long ago the past orders were placed. `None` draws a new one, so
    /// that two starts never show the same ids.
    pub seed: Option<u64>,
}

/// A shop that has its port and isn't answering yet.
#[derive(Debug)]
pub struct Shop {
    address: SocketAddr,
    listener: TcpListener,
    state: state::Shared,
}

impl Shop {
    /// Takes the port. Connections queue from here on, so a client may connect at once.
    ///
    /// # Errors
    ///
    /// The listener's own error, such as an address in use.
    pub async fn bind(options: ShopOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            state: state::Shared::new(options.bugs, options.seed.unwrap_or_else(rand::random)),
        })
    }

    /// The bound address, with the port that was taken. `GET /healthz` on it answers 200.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` resolves, then lets the open requests end.
    ///
    /// # Errors
    ///
    /// A listener that can't accept any more.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        axum::serve(self.listener, routes::router(self.state))
            .with_graceful_shutdown(stop)
            .into_future()
            .await
    }
}
