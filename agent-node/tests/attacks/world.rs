//! Where attacks take place: one real browser for all, and for each case a site and a page of its own.

mod browser;
mod site;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::harness::{
    AttemptHarness, Limits, Observation, Purse, Rules, Scope, StepGrant, StepHarness, StepModel,
    StepModels,
};
use muster_engine::{Chromium, NodeId, Page, PageOptions};
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_providers::model::ModelClient;
use muster_suite::config::SecretSource;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use url::Url;

use browser::Browser;
pub(crate) use site::Site;

/// Ample for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The password that stages know under the name `pw`.
pub(crate) const PASSWORD: &str = "hunter22-Tulip";

/// What all cases share.
pub(crate) struct World {
    browser: OnceCell<Browser>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            browser: OnceCell::new(),
        }
    }

    /// The DevTools address of the browser, which starts when it is first asked for.
    pub(crate) async fn browser(&self) -> &str {
        self.browser.get_or_init(Browser::start).await.address()
    }

    /// Ends the browser.
    pub(crate) async fn end(self) {
        if let Some(browser) = self.browser.into_inner() {
            browser.end().await;
        }
    }

    /// A fresh page that shows this body, served by a site of its own.
    pub(crate) async fn showing(&self, body: &str) -> Stage {
        let site = Site::start().await;
        let home = site.serve("/", format!("<!doctype html><title>Stage</title>{body}"));
        let chromium = Chromium::connect(self.browser().await, SOON).await.unwrap();
        let page = chromium.open(PageOptions::default(), SOON).await.unwrap();
        page.goto(&home, SOON).await.unwrap();
        Stage::of(page, site, Some(chromium))
    }
}

/// One attempt, standing on a page.
pub(crate) struct Stage {
    pub(crate) page: Arc<dyn Page>,
    pub(crate) site: Site,
    pub(crate) attempt: AttemptHarness,
    pub(crate) scope: Scope,
    pub(crate) _chromium: Option<Chromium>,
}

impl Stage {
    /// An attempt on a page, with the secret `pw` declared and known.
    pub(crate) fn of(page: Arc<dyn Page>, site: Site, chromium: Option<Chromium>) -> Self {
        let source = SecretSource {
            env: Some("PW".to_owned()),
            password: true,
            ..SecretSource::default()
        };
        let attempt = AttemptHarness::new(
            Arc::clone(&page),
            Url::parse(&site.origin).unwrap(),
            Arc::new(BTreeMap::from([("pw".to_owned(), Secret::new(PASSWORD))])),
            BTreeMap::from([("pw".to_owned(), source)]),
        );
        Self {
            page,
            site,
            attempt,
            scope: Scope::phase(&CancellationToken::new(), Duration::from_secs(60)),
            _chromium: chromium,
        }
    }

    /// What a step may use: ten actions, ten calls, the secret `pw`, and no model.
    pub(crate) fn grant(&self) -> StepGrant {
        StepGrant {
            rules: Rules {
                app: self.attempt.app().clone(),
                secrets: [("pw".to_owned(), true)].into(),
            },
            limits: Limits {
                actions: 10,
                model_calls: 10,
            },
            models: StepModels::none(&Problem::new(ErrorCode::ModelUnavailable, "none")),
            action_timeout: Duration::from_secs(5),
            purse: Purse::default(),
        }
    }

    /// A step with this grant.
    pub(crate) fn step(&self, grant: StepGrant) -> StepHarness<'_> {
        StepHarness::new(&self.attempt, self.scope.clone(), grant)
    }

    /// A step that this model drives.
    pub(crate) fn driven(&self, model: Arc<dyn ModelClient>) -> StepHarness<'_> {
        let mut grant = self.grant();
        grant.models.act = Ok(StepModel::unpriced(Arc::clone(&model)));
        grant.models.judge = Ok(StepModel::unpriced(model));
        self.step(grant)
    }

    /// The screen, as executors see it.
    pub(crate) async fn screen(&self) -> Observation {
        self.attempt.observe(&self.scope).await.unwrap()
    }

    /// The page's title, in which pages write what was done to them.
    pub(crate) async fn title(&self) -> String {
        self.page.location(SOON).await.unwrap().title
    }
}

/// The element of this role and name.
pub(crate) fn id(screen: &Observation, role: &str, name: &str) -> NodeId {
    let mut nodes = screen.nodes().iter();
    let found = nodes.find(|node| node.role == role && node.name == name);
    found
        .unwrap_or_else(|| panic!("no {role} {name:?} on the screen: {:#?}", screen.nodes()))
        .id
}
