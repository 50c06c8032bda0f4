//! The engine that drives Chromium (headless shell or full) through DevTools.
//!
//! [`Chromium`] is one browser's connection; [`Chromium::open`] makes a page in a browser context
//! of its own. Launching and killing the browser is its provider's business.

mod deadline;
mod downloads;
mod ids;
mod keyboard;
mod keys;
mod news;
mod page;
mod picture;
mod pointer;
mod script;
mod tab;
mod touch;
mod travel;
mod watch;
mod windows;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::page::{EngineError, Page};
use deadline::Deadline;
pub use downloads::Downloads;
use page::ChromiumPage;
use wire::Wire;

/// How a page is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOptions {
    /// Forward proxy of the context, e.g. `http://127.0.0.1:4567`; loopback goes through it too.
    /// None = the browser's own way out.
    pub proxy: Option<String>,
    /// Width and height, CSS px.
    pub viewport: (u32, u32),
    /// What is downloaded; none = nothing.
    pub downloads: Option<Downloads>,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            proxy: None,
            viewport: (1280, 720),
            downloads: None,
        }
    }
}

/// A connection to a running browser. Its pages share it and outlive this handle.
pub struct Chromium {
    wire: Arc<Wire>,
}

impl Chromium {
    /// Connects to a browser's DevTools address (`ws://host:port/devtools/browser/id`).
    pub async fn connect(address: &str, deadline: Duration) -> Result<Self, EngineError> {
        let deadline = Deadline::after(deadline);
        let wire = Wire::connect(address, deadline.until);
        let wire = wire
            .await
            .map_err(|error| deadline.explain(error, "connecting to the browser"))?;
        Ok(Self {
            wire: Arc::new(wire),
        })
    }

    /// Opens a page in a new context: no cookies, no storage, nothing shared with other pages.
    pub async fn open(
        &self,
        options: PageOptions,
        deadline: Duration,
    ) -> Result<Arc<dyn Page>, EngineError> {
        let page =
            ChromiumPage::open(Arc::clone(&self.wire), options, Deadline::after(deadline)).await?;
        Ok(Arc::new(page))
    }

    /// Ends when the browser is gone, at the first socket error; says why. Its pages fail from
    /// then on, and there is no way back but a new browser.
    pub async fn dead(&self) -> String {
        self.wire.dead().await
    }

    /// Closes the connection, which also disposes the contexts that were opened through it. The
    /// browser itself goes on; who started it ends it.
    pub async fn close(&self) {
        self.wire.close().await;
    }
}
