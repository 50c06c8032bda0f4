//! [`Page`] over the current window of a context.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use muster_proto::action::Direction;
use muster_proto::guard::Guard;
use muster_suite::locator::Locator;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::PageOptions;
use super::deadline::Deadline;
use super::ids::Ids;
use super::keyboard;
use super::news::News;
use super::picture;
use super::pointer;
use super::tab::Tab;
use super::touch::Aim;
use super::windows::Context;
use super::wire::Wire;
use crate::page::{EngineError, Gesture, Location, Notice, Page, Pointer, Travel};
use crate::snapshot::{Found, NodeId, Snapshot};

pub(super) struct ChromiumPage {
    wire: Arc<Wire>,
    options: PageOptions,
    ids: Arc<Ids>,
    news: Arc<News>,
    /// Replaced as a whole when its state is cleared.
    context: RwLock<Arc<Context>>,
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
        let (ids, news) = (Arc::new(Ids::new()), Arc::<News>::default());
        let context = Context::open(
            Arc::clone(&wire),
            &options,
            Arc::clone(&ids),
            Arc::clone(&news),
            deadline,
        )
        .await?;
        Ok(Self {
            wire,
            options,
            ids,
            news,
            context: RwLock::new(Arc::new(context)),
        })
    }

    fn context(&self) -> Arc<Context> {
        let context = self.context.read();
        Arc::clone(&context.unwrap_or_else(PoisonError::into_inner))
    }

    fn tab(&self) -> Arc<Tab> {
        self.context().current()
    }

    /// Whether this window closed and another one is the page now.
    fn left(&self, tab: &Arc<Tab>) -> bool {
        tab.closed() && !Arc::ptr_eq(tab, &self.tab())
    }

    /// Asks the page; where its window closes under the question, the one that is the page then.
    async fn ask<T: DeserializeOwned>(
        &self,
        call: &str,
        args: Value,
        deadline: Deadline,
        what: &str,
    ) -> Result<T, EngineError> {
        loop {
            let tab = self.tab();
            match tab.ask(call, args.clone(), deadline, what).await {
                Err(EngineError::Dead(_)) if self.left(&tab) && !deadline.passed() => {}
                answer => return answer,
            }
        }
    }

    /// What a gesture came to whose window may have closed: a tap that closes it has done its part.
    fn done(
        &self,
        tab: &Arc<Tab>,
        node: Option<NodeId>,
        result: Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match (result, node) {
            (Err(EngineError::Invalid(_)), _) if let Some(why) = self.news.stuck_by() => {
                Err(EngineError::Stuck(why))
            }
            (Err(EngineError::MayHaveCommitted { .. }), _) if self.left(tab) => Ok(()),
            (Err(EngineError::Dead(_)), Some(id)) if self.left(tab) => {
                let was = self.ids.was(id);
                Err(EngineError::NodeStale { id, was })
            }
            (result, _) => result,
        }
    }

    /// What a move came to whose window may have closed.
    fn moved(
        &self,
        tab: &Arc<Tab>,
        what: &str,
        result: Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match result {
            Err(EngineError::Dead(why)) if self.left(tab) => Err(EngineError::MayHaveCommitted {
                what: what.into(),
                why,
            }),
            result => result,
        }
    }
}

#[async_trait]
impl Page for ChromiumPage {
    fn engine(&self) -> &'static str {
        "chromium"
    }

    async fn goto(&self, url: &str, deadline: Duration) -> Result<(), EngineError> {
        let tab = self.tab();
        let result = tab.goto(url, Deadline::after(deadline)).await;
        self.moved(&tab, "loading an address", result)
    }

    async fn travel(&self, travel: Travel, deadline: Duration) -> Result<(), EngineError> {
        let tab = self.tab();
        let result = tab.travel(travel, Deadline::after(deadline)).await;
        self.moved(&tab, "moving in history", result)
    }

    async fn location(&self, deadline: Duration) -> Result<Location, EngineError> {
        let at: Where = self
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
            ids: &self.ids,
            id: node,
            was: self.ids.was(node),
            deadline: Deadline::after(deadline),
        };
        let result = aim.perform(gesture).await;
        self.done(&tab, Some(node), result)
    }

    async fn press(&self, key: &str, deadline: Duration) -> Result<(), EngineError> {
        let tab = self.tab();
        let result = keyboard::press(&tab, key, Deadline::after(deadline), "the page").await;
        self.done(&tab, None, result)
    }

    async fn type_text(&self, text: &str, deadline: Duration) -> Result<(), EngineError> {
        let tab = self.tab();
        let result = keyboard::type_text(&tab, text, Deadline::after(deadline)).await;
        self.done(&tab, None, result)
    }

    async fn scroll(&self, direction: Direction, deadline: Duration) -> Result<(), EngineError> {
        let args = json!([null, direction]);
        let deadline = Deadline::after(deadline);
        self.ask::<IgnoredAny>("scrollBy", args, deadline, "scrolling the page")
            .await
            .map(drop)
    }

    async fn hit(&self, at: (u32, u32), deadline: Duration) -> Result<Vec<NodeId>, EngineError> {
        let args = json!([at.0, at.1]);
        let deadline = Deadline::after(deadline);
        self.ask("hit", args, deadline, "looking at a point").await
    }

    async fn point(
        &self,
        at: (u32, u32),
        pointer: Pointer,
        deadline: Duration,
    ) -> Result<(), EngineError> {
        let tab = self.tab();
        let result = pointer::at(&tab, at, pointer, Deadline::after(deadline)).await;
        self.done(&tab, None, result)
    }

    async fn clear_state(&self, deadline: Duration) -> Result<(), EngineError> {
        // A new context is empty in every respect: cookies, every kind of storage, service
        // workers, caches, history, other windows.
        let deadline = Deadline::after(deadline);
        let fresh = Context::open(
            Arc::clone(&self.wire),
            &self.options,
            Arc::clone(&self.ids),
            Arc::clone(&self.news),
            deadline,
        )
        .await?;
        let old = {
            let mut context = self.context.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *context, Arc::new(fresh))
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

    fn notices(&self) -> Vec<Notice> {
        self.news.take()
    }

    async fn close(&self) {
        self.context().dispose().await;
    }
}
