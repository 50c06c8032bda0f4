//! The browser process.

use muster_providers::browser::{BrowserLease, BrowserProvider as _, LocalBrowsers, LocalSettings};
use muster_providers::child::{CommandLine, Supervisor};

use super::SOON;

/// A browser as a node rents it: its supervisor ends it with this process, however that ends.
pub(crate) struct Browser {
    browsers: LocalBrowsers,
    supervisor: Supervisor,
    lease: BrowserLease,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let supervisor = CommandLine {
            program: env!("CARGO_BIN_EXE_muster-node-fixture").into(),
            args: vec!["supervisor".into()],
        };
        let supervisor = Supervisor::start(&supervisor).await.unwrap();
        let settings = LocalSettings {
            path: None,
            window: (1280, 720),
            limit: 1,
        };
        let browsers = LocalBrowsers::new(settings, supervisor.clone());
        let lease = browsers.acquire(SOON).await.unwrap();
        Self {
            browsers,
            supervisor,
            lease,
        }
    }

    /// Its DevTools address.
    pub(crate) fn address(&self) -> &str {
        &self.lease.ws_url
    }

    pub(crate) async fn end(self) {
        self.browsers.release(&self.lease.id).await.unwrap();
        self.supervisor.close().await;
    }
}
