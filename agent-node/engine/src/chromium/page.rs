//! [`Page`] over a tab.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::guard::Guard;
use muster_suite::locator::Locator;
use serde::Deserialize;
use serde_json::json;

use super::PageOptions;
use super::deadline::Deadline;
use super::picture;
use super::tab::{Ids, Tab};
use super::touch::{self, Aim};
use super::wire::Wire;
use crate::page::{EngineError, Gesture, Location, Page, Travel};
use crate::snapshot::{Found, NodeId, Snapshot};

pub(super) struct ChromiumPage {
    wire: Arc<Wire>,
    options: PageOptions,
    ids: Arc<Ids>,
    /// Replaced as a whole when its state is cleared.
    tab: RwLock<Arc<Tab>>,
}

#[derive(Deserialize)]
struct Where {
    url: String,
    title: String,
}

impl ChromiumPage {
    pub(super) async fn open(
        wire: Arc<Wire>,
        options: PageOptions,
        deadline: Deadline,
    ) -> Result<Self, EngineError> {
        let ids = Arc::new(Ids::new());
        let tab = Tab::open(Arc::clone(&wire), &options, Arc::clone(&ids), deadline).await?;
        Ok(Self {
            wire,
            options,
            ids,
            tab: RwLock::new(Arc::new(tab)),
        })
    }

    fn tab(&self) -> Arc<Tab> {
        Arc::clone(
            &self
                .tab
                .read()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        )
    }
}

#[async_trait]
impl Page for ChromiumPage {
    fn engine(&self) -> &'static str {
        "chromium"
    }

    async fn goto(&self, url: &str, deadline: Duration) -> Result<(), EngineError> {
        self.tab().goto(url, Deadline::after(deadline)).await
    }

    async fn travel(&self, travel: Travel, deadline: Duration) -> Result<(), EngineError> {
        self.tab().travel(travel, Deadline::after(deadline)).await
    }

    async fn location(&self, deadline: Duration) -> Result<Location, EngineError> {
        let at: Where = self
            .tab()
            .ask(
                "where",
                json!([]),
                Deadline::after(deadline),
                "reading the address",
            )
            .await?;
        Ok(Location {
            url: at.url,
            title: at.title,
        })
    }

    fn loading(&self) -> bool {
        self.tab().progress().borrow().loading
    }

    async fn snapshot(&self, deadline: Duration) -> Result<Snapshot, EngineError> {
        let deadline = Deadline::after(deadline);
        let rules = json!({
            "hidden": Guard::ObserveHidden.holds(),
            "bound": Guard::ObserveBound.holds(),
        });
        let snapshot: Snapshot = self
            .tab()
            .ask("snapshot", json!([rules]), deadline, "looking at the page")
            .await?;
        self.ids.remember(snapshot.nodes.iter());
        Ok(snapshot)
    }

    async fn find(
        &self,
        locator: &Locator,
        attribute: Option<&str>,
        deadline: Duration,
    ) -> Result<Vec<Found>, EngineError> {
        let deadline = Deadline::after(deadline);
        let what = format!("finding {locator}");
        let found: Vec<Found> = self
            .tab()
            .ask("find", json!([locator, attribute]), deadline, &what)
            .await?;
        self.ids.remember(found.iter().map(|found| &found.node));
        Ok(found)
    }

    async fn perform(
        &self,
        node: NodeId,
        gesture: &Gesture,
        deadline: Duration,
    ) -> Result<(), EngineError> {
        let tab = self.tab();
        let aim = Aim {
            tab: &tab,
            id: node,
            was: self.ids.was(node),
            deadline: Deadline::after(deadline),
        };
        aim.perform(gesture).await
    }

    async fn press(&self, key: &str, deadline: Duration) -> Result<(), EngineError> {
        touch::press(&self.tab(), key, Deadline::after(deadline), "the page").await
    }

    async fn clear_state(&self, deadline: Duration) -> Result<(), EngineError> {
        // A new context is empty in every respect: cookies, every kind of storage, service
        // workers, caches, history, popups.
        let deadline = Deadline::after(deadline);
        let fresh = Tab::open(
            Arc::clone(&self.wire),
            &self.options,
            Arc::clone(&self.ids),
            deadline,
        )
        .await?;
        let old = {
            let mut tab = self
                .tab
                .write()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            std::mem::replace(&mut *tab, Arc::new(fresh))
        };
        old.dispose().await;
        Ok(())
    }

    async fn screenshot(&self, deadline: Duration) -> Result<Vec<u8>, EngineError> {
        let deadline = Deadline::after(deadline);
        let tab = self.tab();
        if Guard::PixelsMasked.holds() {
            picture::masked(&tab, deadline).await
        } else {
            picture::smaller(&tab, deadline).await
        }
    }

    async fn dialogs(&self) -> Vec<String> {
        self.tab().dialogs()
    }

    async fn close(&self) {
        self.tab().dispose().await;
    }
}
