//! Browsers: local processes and fixed addresses.
//!
//! [`BrowserProvider`] is the seam; [`LocalBrowsers`] starts processes on this machine and
//! [`FixedBrowser`] uses one that somebody else runs. Both pass the suite in
//! `tests/it/browser_conformance.rs`; a new provider is added there.

mod devtools;
mod fixed;
mod launch;
mod local;

use std::time::Duration;

use async_trait::async_trait;

pub use fixed::FixedBrowser;
pub use local::{LocalBrowsers, LocalSettings};

/// A leased browser. It is given back with [`BrowserProvider::release`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserLease {
    /// The provider's own id for it.
    pub id: String,
    /// WebSocket address of the browser's DevTools endpoint.
    pub ws_url: String,
    /// Product and version as the browser tells them, e.g. `HeadlessChrome/156.0.8078.114`.
    pub product: String,
    /// The local process, where there is one.
    pub pid: Option<u32>,
}

/// What a provider can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most browsers at a time.
    pub browsers: u32,
    /// Whether its browsers can be told to use a node's egress proxy.
    pub egress: bool,
}

/// Why there is no browser.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// No binary was found.
    #[error(
        "no browser found: looked for {looked_for}; install the Debian package chromium-headless-shell or set browser.path in muster.toml"
    )]
    NotFound {
        /// The paths, comma-separated.
        looked_for: String,
    },
    /// The process ended or never became ready.
    #[error("the browser {path} did not start: {reason}")]
    StartFailed {
        /// The binary.
        path: String,
        /// Its exit status or the last lines of its stderr.
        reason: String,
    },
    /// A fixed address does not answer.
    #[error("no browser answers at {address}: {reason}")]
    Unreachable {
        /// Without credentials.
        address: String,
        /// The socket's error.
        reason: String,
    },
    /// The provider's limit is reached.
    #[error("all {limit} browsers are in use")]
    Exhausted {
        /// How many.
        limit: u32,
    },
}

/// Where browsers come from.
#[async_trait]
pub trait BrowserProvider: Send + Sync {
    /// Its name, e.g. `local`.
    fn name(&self) -> &'static str;
    /// What it can give.
    fn limits(&self) -> Limits;
    /// A ready browser, within `deadline`.
    async fn acquire(&self, deadline: Duration) -> Result<BrowserLease, BrowserError>;
    /// Whether the browser lives.
    async fn status(&self, id: &str) -> Result<bool, BrowserError>;
    /// Every lease that is out.
    async fn list(&self) -> Vec<BrowserLease>;
    /// Ends the browser and waits until it is gone. Unknown ids are fine.
    async fn release(&self, id: &str) -> Result<(), BrowserError>;
}
