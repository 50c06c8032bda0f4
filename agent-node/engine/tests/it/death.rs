//! What happens when the browser or a page goes away. Each test has a browser of its own.

use std::sync::Arc;
use std::time::Duration;

use muster_engine::{Chromium, EngineError, PageOptions};
use tokio::io::AsyncReadExt as _;

use crate::support::*;

/// A dead browser must be noticed within this; the browser's own timeouts are 30 s and more.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_killed_browser_ends_every_call_at_once() {
    let browser = Browser::start();
    let chromium = Arc::new(Chromium::connect(&browser.address, SOON).await.unwrap());
    let page = chromium.open(PageOptions::default(), SOON).await.unwrap();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let pending = {
        let page = Arc::clone(&page);
        tokio::spawn(async move { page.goto(&address, Duration::from_secs(60)).await })
    };
    // The request has left the browser: the call is under way.
    let _connection = listener.accept().await.unwrap();
    browser.kill();
    let outcome = tokio::time::timeout(AT_ONCE, pending)
        .await
        .expect("the pending call ends")
        .unwrap();
    assert!(matches!(outcome, Err(EngineError::Dead(_))), "{outcome:?}");
    let reason = tokio::time::timeout(AT_ONCE, chromium.dead())
        .await
        .expect("death is told");
    assert!(!reason.is_empty());
    let later = tokio::time::timeout(AT_ONCE, page.snapshot(SOON))
        .await
        .expect("later calls end");
    assert!(matches!(later, Err(EngineError::Dead(_))), "{later:?}");
    tokio::time::timeout(AT_ONCE, page.close())
        .await
        .expect("closing ends");
    tokio::time::timeout(AT_ONCE, chromium.close())
        .await
        .expect("closing ends");
}

#[tokio::test]
async fn a_crashed_page_is_dead_and_its_browser_is_not() {
    let browser = Browser::start();
    let chromium = Chromium::connect(&browser.address, SOON).await.unwrap();
    let page = chromium.open(PageOptions::default(), SOON).await.unwrap();
    let outcome = tokio::time::timeout(AT_ONCE, page.goto("chrome://crash", SOON))
        .await
        .expect("the call ends");
    let outcome = match outcome {
        Err(EngineError::Navigation { .. }) | Ok(()) => page.snapshot(AT_ONCE).await.map(drop),
        other => other,
    };
    assert!(matches!(outcome, Err(EngineError::Dead(_))), "{outcome:?}");
    let other = chromium.open(PageOptions::default(), SOON).await.unwrap();
    other.snapshot(SOON).await.unwrap();
}

#[tokio::test]
async fn nothing_to_connect_to_is_said_at_once() {
    let free = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let address = format!("ws://{free}/devtools/browser/x");
    let connecting = Chromium::connect(&address, SOON);
    let error = tokio::time::timeout(AT_ONCE, connecting)
        .await
        .unwrap()
        .err()
        .unwrap();
    assert!(
        matches!(&error, EngineError::Dead(why) if why.starts_with("no connection")),
        "{error}"
    );
}

#[tokio::test]
async fn dropping_a_page_disposes_its_context() {
    let browser = Browser::start();
    let chromium = Chromium::connect(&browser.address, SOON).await.unwrap();
    let page = chromium.open(PageOptions::default(), SOON).await.unwrap();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let site = Site::new().await;
    let body = format!(
        "<script>fetch('http://{}/', {{ mode: 'no-cors' }})</script>",
        listener.local_addr().unwrap()
    );
    page.goto(&site.serve("/", Reply::html(body)), SOON)
        .await
        .unwrap();
    let (mut request, _) = listener.accept().await.unwrap();
    drop(page);
    // The request that the page was making ends with it.
    let ended = tokio::time::timeout(AT_ONCE, request.read_to_end(&mut Vec::new())).await;
    ended.expect("the context is disposed").unwrap();
    chromium.close().await;
    assert_eq!(chromium.dead().await, "the connection was closed");
}
