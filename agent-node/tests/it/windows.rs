//! A goal that goes through a window of its own, recorded and replayed; a download's way out.

use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::harness::{
    AttemptHarness, Harness as _, Limits, Purse, Rules, Scope, StepGrant, StepHarness, StepModels,
};
use muster_agent_node::node::egress::{Egress, EgressLimits, Policy};
use muster_agent_node::replay::{self, RecordInput, ReplayOutcome};
use muster_engine::chromium::Downloads;
use muster_engine::{Chromium, NodeId, Page, PageOptions};
use muster_proto::action::{Action, Typed};
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_providers::browser::{BrowserProvider as _, LocalBrowsers, LocalSettings};
use muster_providers::child::Supervisor;
use muster_suite::config::{self, EgressPolicy};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::live::fixture;
use crate::{DEADLINE, soon};

/// Serves by path; a path that ends with `.csv` is a download.
async fn site(pages: &'static [(&'static str, &'static str)]) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let mut client = BufReader::new(client);
            let mut line = String::new();
            if client.read_line(&mut line).await.is_err() {
                continue;
            }
            while client.read_line(&mut line).await.unwrap_or(0) > 2 {}
            let path = line.split(' ').nth(1).unwrap_or_default();
            let page = pages.iter().find(|(at, _)| *at == path);
            let page = page.map_or("", |(_, page)| page);
            let more = match path.ends_with(".csv") {
                true => "Content-Disposition: attachment\r\n",
                false => "",
            };
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let answer = format!("{head}{more}Content-Length: {}\r\n\r\n{page}", page.len());
            client.write_all(answer.as_bytes()).await.ok();
        }
    });
    url.parse().unwrap()
}

/// A browser, and a connection to it.
struct Rented {
    browsers: LocalBrowsers,
    supervisor: Supervisor,
    lease: String,
    chromium: Chromium,
}

impl Rented {
    async fn new() -> Self {
        let supervisor = Supervisor::start(&fixture("supervisor")).await.unwrap();
        let settings = LocalSettings {
            path: None,
            window: (1280, 720),
            limit: 1,
        };
        let browsers = LocalBrowsers::new(settings, supervisor.clone());
        let lease = browsers.acquire(DEADLINE).await.unwrap();
        let chromium = Chromium::connect(&lease.ws_url, DEADLINE).await.unwrap();
        Self {
            browsers,
            supervisor,
            lease: lease.id,
            chromium,
        }
    }

    async fn end(self) {
        self.chromium.close().await;
        self.browsers.release(&self.lease).await.unwrap();
        self.supervisor.close().await;
    }
}

/// An attempt on a fresh page that shows the app.
async fn attempt(rented: &Rented, app: &Url) -> AttemptHarness {
    let options = PageOptions::default();
    let page = rented.chromium.open(options, DEADLINE).await.unwrap();
    page.goto(app.as_str(), DEADLINE).await.unwrap();
    let secrets = Arc::new(Default::default());
    AttemptHarness::new(page, app.clone(), secrets, Default::default())
}

fn step(attempt: &AttemptHarness) -> StepHarness<'_> {
    let grant = StepGrant {
        rules: Rules {
            app: attempt.app().clone(),
            secrets: Default::default(),
        },
        limits: Limits {
            actions: 10,
            model_calls: 0,
        },
        models: StepModels::none(&Problem::new(ErrorCode::ModelUnavailable, "none")),
        action_timeout: Duration::from_secs(10),
        purse: Purse::default(),
    };
    let scope = Scope::phase(&CancellationToken::new(), Duration::from_secs(60));
    StepHarness::new(attempt, scope, grant)
}

async fn id(step: &StepHarness<'_>, name: &str) -> NodeId {
    let screen = step.observe().await.unwrap();
    let found = screen.nodes().iter().find(|node| node.name == name);
    found
        .unwrap_or_else(|| panic!("{name:?} in {:#?}", screen.nodes()))
        .id
}

const CHOOSER: &[(&str, &str)] = &[
    (
        "/",
        "<title>Trip</title><h1>Trip</h1><button onclick='window.open(\"/cities\")'>Choose a city</button><p id=city>No city</p>",
    ),
    (
        "/cities",
        "<title>Cities</title><h1>Cities</h1><label>City <input id=name></label><button onclick='opener.city.textContent = \"You go to \" + document.querySelector(\"input\").value; window.close()'>Take it</button>",
    ),
];

#[tokio::test]
async fn a_goal_that_goes_through_a_window_replays_and_one_that_has_no_effect_does_not_pass() {
    let app = site(CHOOSER).await;
    let rented = Rented::new().await;
    let live = attempt(&rented, &app).await;
    let door = step(&live);
    let target = id(&door, "Choose a city").await;
    let opened = door.perform(Action::Tap { target }).await.unwrap();
    assert_eq!(opened.after.location, "/cities");
    assert_eq!(
        opened.after.notes,
        ["a new window opened; it is the page now"]
    );
    let target = id(&door, "City").await;
    let value = Typed::Literal {
        text: "Ghent".into(),
    };
    door.perform(Action::Type {
        target,
        value,
        replace: true,
    })
    .await
    .unwrap();
    let target = id(&door, "Take it").await;
    let closed = door.perform(Action::Tap { target }).await.unwrap();
    assert_eq!(closed.after.location, "/");
    let end = door.observe().await.unwrap();
    let trace = door.trace();
    assert_eq!(trace.gap, None);
    let input = RecordInput {
        trace: &trace.performed,
        start: trace.first.as_ref().unwrap(),
        end: &end,
        instruction: "choose Ghent as the city",
        params: &Value::Null,
        unique: &[],
        executor_name: "test",
        executor_version: "1",
        summary: "Ghent is chosen",
        end_wait: Duration::from_millis(100),
    };
    let recording = replay::record(&input).unwrap();

    let again = attempt(&rented, &app).await;
    let door = step(&again);
    let replayed = replay::run(&door, &recording).await;
    assert!(
        matches!(replayed, ReplayOutcome::Replayed { .. }),
        "{replayed:?}"
    );
    let shown = door.observe().await.unwrap();
    let texts: Vec<_> = shown.nodes().iter().map(|node| &*node.text).collect();
    assert!(texts.contains(&"You go to Ghent"), "{texts:?}");

    // A window that does nothing to its opener is no pass.
    let broken: &[_] = Box::leak(Box::new([
        CHOOSER[0],
        (
            "/cities",
            "<title>Cities</title><h1>Cities</h1><label>City <input id=name></label><button onclick='window.close()'>Take it</button>",
        ),
    ]));
    let broken = site(broken).await;
    let again = attempt(&rented, &broken).await;
    let replayed = replay::run(&step(&again), &recording).await;
    assert!(
        matches!(replayed, ReplayOutcome::HandedOff { .. }),
        "{replayed:?}"
    );
    rented.end().await;
}

#[tokio::test]
async fn a_download_goes_out_by_the_contexts_proxy() {
    let evil = site(&[("/out.csv", "1")]).await;
    let server = evil.authority().to_owned();
    let app = site(&[("/", "<title>App</title>"), ("/own.csv", "1")]).await;
    let target = config::Egress {
        policy: EgressPolicy::List,
        allow: Vec::new(),
    };
    let policy = Policy::new(&app, &target, EgressPolicy::Open);
    let proxy = Egress::new([], EgressLimits::default())
        .open(Arc::new(policy))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rented = Rented::new().await;
    let options = PageOptions {
        proxy: Some(proxy.url()),
        downloads: Some(Downloads {
            folder: folder.path().to_owned(),
            files: 20,
            bytes: 1000,
        }),
        ..PageOptions::default()
    };
    let page: Arc<dyn Page> = rented.chromium.open(options, DEADLINE).await.unwrap();
    page.goto(app.as_str(), DEADLINE).await.unwrap();
    // Neither makes a document.
    page.goto(app.join("own.csv").unwrap().as_str(), DEADLINE)
        .await
        .unwrap_err();
    page.goto(evil.join("out.csv").unwrap().as_str(), DEADLINE)
        .await
        .unwrap_err();
    let denials = proxy.denials();
    assert_eq!(denials.all()[0].server, server);
    assert_eq!(denials.all()[0].guard, Guard::EgressPolicy);
    let kept = async {
        while std::fs::read_dir(folder.path()).unwrap().count() == 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("the app's own file", kept).await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    page.close().await;
    rented.end().await;
    proxy.close().await;
}
