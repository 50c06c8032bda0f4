//! `muster snapshot`: a page as a model would see it.

use std::path::PathBuf;
use std::time::Duration;

use muster_agent_node::harness::{Observation, text};
use muster_engine::chromium::{Chromium, PageOptions};
use muster_engine::{EngineError, Node, Page, Snapshot, States};
use muster_proto::code::ErrorCode;
use muster_providers::browser::{BrowserProvider as _, LocalBrowsers, LocalSettings};
use muster_providers::child::Supervisor;
use serde::Serialize;

use crate::args::SnapshotArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::fleet;

/// For starting the browser, for loading a page, and for looking at it.
const DEADLINE: Duration = Duration::from_secs(30);

/// Most bytes of a screen's text, as for a model.
const TEXT_BUDGET: usize = 262_144;

pub(crate) async fn snapshot(args: SnapshotArgs, env: &Env) -> Result<u8, Failure> {
    let supervisor = fleet::supervisor(env).await?;
    let result = with_browser(&args, &supervisor).await;
    supervisor.close().await;
    result
}

async fn with_browser(args: &SnapshotArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let settings = LocalSettings {
        path: args.browser.as_ref().map(PathBuf::from),
        window: PageOptions::default().viewport,
        limit: 1,
    };
    let browsers = LocalBrowsers::new(settings, supervisor.clone());
    let unavailable = |reason: String| Failure::new(ErrorCode::BrowserUnavailable, reason);
    let lease = browsers
        .acquire(DEADLINE)
        .await
        .map_err(|error| unavailable(error.to_string()))?;
    let result = async {
        let chromium = Chromium::connect(&lease.ws_url, DEADLINE)
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        let page = chromium
            .open(PageOptions::default(), DEADLINE)
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        for url in &args.urls {
            let screen = look(page.as_ref(), url)
                .await
                .map_err(|error| Failure::new(ErrorCode::AppUnreachable, error.to_string()))?;
            show(url, screen, args.json);
        }
        page.close().await;
        chromium.close().await;
        Ok(0)
    }
    .await;
    browsers
        .release(&lease.id)
        .await
        .map_err(|error| unavailable(error.to_string()))?;
    result
}

async fn look(page: &dyn Page, url: &str) -> Result<Snapshot, EngineError> {
    page.goto(url, DEADLINE).await?;
    page.snapshot(DEADLINE).await
}

/// One page as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Screen<'a> {
    url: &'a str,
    title: String,
    /// About four bytes of the text a token.
    tokens: usize,
    truncated: bool,
    nodes: Vec<Shown<'a>>,
}

/// One node as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    role: &'a str,
    name: &'a str,
    description: &'a str,
    dom_id: &'a str,
    depth: u32,
    states: States,
}

impl<'a> From<&'a Node> for Shown<'a> {
    fn from(node: &'a Node) -> Self {
        Self {
            role: &node.role,
            name: &node.name,
            description: &node.description,
            dom_id: &node.dom_id,
            depth: node.depth,
            states: node.states,
        }
    }
}

fn show(url: &str, snapshot: Snapshot, json: bool) {
    // Nothing here is a secret that Muster knows: there is no project.
    let observation = Observation {
        revision: 1,
        location: snapshot.url.clone(),
        notes: Vec::new(),
        snapshot,
    };
    let text = text::render(&observation, TEXT_BUDGET);
    let tokens = text.len().div_ceil(4);
    if json {
        let screen = Screen {
            url,
            title: observation.snapshot.title.clone(),
            tokens,
            truncated: observation.snapshot.truncated,
            nodes: observation.nodes().iter().map(Shown::from).collect(),
        };
        println!(
            "{}",
            serde_json::to_string(&screen).expect("a screen is plain data")
        );
    } else {
        println!("{} — {url}", observation.snapshot.title);
        println!("{text}");
        println!("about {tokens} tokens");
    }
}
