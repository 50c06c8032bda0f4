//! Addresses, history, state.

use std::time::Duration;

use muster_engine::{Chromium, EngineError, Gesture, Location, PageOptions, Travel};

use crate::support::*;

async fn location(stage: &Stage) -> Location {
    stage.page.location(SOON).await.unwrap()
}

fn reason(outcome: Result<(), EngineError>) -> String {
    match outcome {
        Err(EngineError::Navigation { reason, .. }) => reason,
        other => panic!("expected a navigation error, got {other:?}"),
    }
}

#[tokio::test]
async fn a_page_starts_blank_and_goes_where_it_is_told() {
    let stage = Stage::new().await;
    assert_eq!(
        location(&stage).await,
        Location {
            url: "about:blank".into(),
            title: String::new()
        }
    );
    let a = stage.site.serve("/a", Reply::html("<title>A</title>"));
    stage.page.goto(&a, SOON).await.unwrap();
    assert_eq!(
        location(&stage).await,
        Location {
            url: a,
            title: "A".into()
        }
    );
}

#[tokio::test]
async fn loading_ends_with_the_load_event_also_after_redirects() {
    let stage = Stage::new().await;
    stage
        .site
        .serve("/slow.js", Reply::html("document.title = 'complete'"));
    let b = stage
        .site
        .serve("/b", Reply::html("<script defer src=/slow.js></script>"));
    let a = stage
        .site
        .serve("/a", Reply::empty("302 Found").with("Location", "/b"));
    stage.page.goto(&a, SOON).await.unwrap();
    assert_eq!(
        location(&stage).await,
        Location {
            url: b,
            title: "complete".into()
        }
    );
}

#[tokio::test]
async fn moves_within_a_document_need_no_load() {
    let stage = Stage::new().await;
    let a = stage.site.serve("/a", Reply::html("<title>A</title>"));
    stage.page.goto(&a, SOON).await.unwrap();
    stage.page.goto(&format!("{a}#part"), SOON).await.unwrap();
    assert_eq!(location(&stage).await.url, format!("{a}#part"));
    stage.page.travel(Travel::Back, SOON).await.unwrap();
    assert_eq!(location(&stage).await.url, a);
}

#[tokio::test]
async fn history_goes_back_forward_and_again() {
    let stage = Stage::new().await;
    let a = stage.site.serve("/a", Reply::html("<title>A</title>"));
    let b = stage.site.serve("/b", Reply::html("<title>B</title>"));
    stage.page.goto(&a, SOON).await.unwrap();
    stage.page.goto(&b, SOON).await.unwrap();
    stage.page.travel(Travel::Back, SOON).await.unwrap();
    assert_eq!(location(&stage).await.title, "A");
    stage.page.travel(Travel::Forward, SOON).await.unwrap();
    assert_eq!(location(&stage).await.title, "B");
    stage.site.serve("/b", Reply::html("<title>B2</title>"));
    stage.page.travel(Travel::Reload, SOON).await.unwrap();
    assert_eq!(location(&stage).await.title, "B2");
    let error = reason(stage.page.travel(Travel::Forward, SOON).await);
    assert_eq!(error, "going forward: the history has no such page");
}

#[tokio::test]
async fn addresses_that_do_not_load_say_why_at_once() {
    let stage = Stage::new().await;
    let free = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let refused = reason(
        stage
            .page
            .goto(&format!("http://127.0.0.1:{free}/"), SOON)
            .await,
    );
    assert_eq!(refused, "net::ERR_CONNECTION_REFUSED");
    let unknown = reason(stage.page.goto("http://nowhere.invalid/", SOON).await);
    assert_eq!(unknown, "net::ERR_NAME_NOT_RESOLVED");
    assert!(!reason(stage.page.goto("no address", SOON).await).is_empty());
    let error = stage
        .page
        .goto(&format!("http://ada:pw@127.0.0.1:{free}/"), SOON)
        .await
        .unwrap_err();
    assert!(!error.to_string().contains("pw"), "{error}");
}

#[tokio::test]
async fn what_did_not_load_is_the_end_of_the_redirections() {
    let stage = Stage::new().await;
    let free = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let gone = format!("http://{free}/gone");
    let a = Reply::empty("302 Found").with("Location", &gone);
    let a = stage.site.serve("/a", a);
    let error = stage.page.goto(&a, SOON).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Navigation { url, .. } if *url == gone),
        "{error}"
    );
}

#[tokio::test]
async fn downloads_and_empty_answers_do_not_hang() {
    let stage = Stage::showing("<p>here</p>").await;
    let file = Reply::html("bytes").with("Content-Disposition", "attachment; filename=a.bin");
    let file = stage.site.serve("/file", file);
    let nothing = stage.site.serve("/nothing", Reply::empty("204 No Content"));
    for address in [file, nothing] {
        let reason = reason(stage.page.goto(&address, SOON).await);
        assert!(
            reason.starts_with("net::ERR_ABORTED: no document came"),
            "{reason}"
        );
    }
    assert_eq!(
        stage.outline().await,
        [" text=\"here\""],
        "the page stays where it was"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_meets_the_deadline() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let stage = Stage::new().await;
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let error = stage.page.goto(&address, BRIEF).await.unwrap_err();
    assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn a_click_may_lead_away() {
    let stage = Stage::new().await;
    stage
        .site
        .serve("/next", Reply::html("<title>Next</title><h1>Next</h1>"));
    stage.show("<a id=a href=/next>Next</a>").await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    // The harness settles; here the heading is waited for by looking again.
    let deadline = tokio::time::Instant::now() + SOON;
    while stage.find(vec![role("heading")]).await.is_empty() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the next page comes"
        );
    }
}

const STATE: &str = "<title>State</title><p data-testid=log id=log></p><script>
    log.textContent = [document.cookie, localStorage.a, sessionStorage.a].join();
    document.cookie = 'a=1'; localStorage.a = 1; sessionStorage.a = 1;
</script>";

#[tokio::test]
async fn pages_share_nothing_and_clearing_forgets_everything() {
    let stage = Stage::new().await;
    let address = stage.site.serve("/", Reply::html(STATE));
    stage.page.goto(&address, SOON).await.unwrap();
    assert_eq!(stage.log().await, ",,");
    stage.page.goto(&address, SOON).await.unwrap();
    assert_eq!(stage.log().await, "a=1,1,1");

    let other = Stage::new().await;
    other.page.goto(&address, SOON).await.unwrap();
    assert_eq!(other.log().await, ",,");

    let id = stage.id("log").await;
    stage.page.clear_state(SOON).await.unwrap();
    assert_eq!(location(&stage).await.url, "about:blank");
    stage.page.goto(&address, SOON).await.unwrap();
    assert_eq!(stage.log().await, ",,");
    assert!(stage.id("log").await > id, "ids go on counting");
}

#[tokio::test]
async fn a_screenshot_has_the_viewports_size() {
    let chromium = Chromium::connect(&Browser::shared().address, SOON)
        .await
        .unwrap();
    let options = PageOptions {
        viewport: (400, 300),
        ..PageOptions::default()
    };
    let page = chromium.open(options, SOON).await.unwrap();
    let png = page.screenshot(SOON).await.unwrap();
    assert_eq!(&png[1..4], b"PNG");
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((size(16), size(20)), (400, 300));
    assert_eq!(page.snapshot(SOON).await.unwrap().viewport, (400, 300));
}

#[tokio::test]
async fn a_proxy_carries_loopback_too() {
    let proxy = Site::new().await;
    let chromium = Chromium::connect(&Browser::shared().address, SOON)
        .await
        .unwrap();
    let options = PageOptions {
        proxy: Some(proxy.origin.clone()),
        ..PageOptions::default()
    };
    let page = chromium.open(options, SOON).await.unwrap();
    // A forward proxy is asked for the whole address; behind this one nobody listens.
    proxy.serve(
        "http://127.0.0.1:9009/page",
        Reply::html("<title>Through the proxy</title>"),
    );
    page.goto("http://127.0.0.1:9009/page", Duration::from_secs(5))
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        page.location(SOON).await.unwrap().title,
        "Through the proxy"
    );
}

#[tokio::test]
async fn a_page_that_waits_for_its_server_is_on_its_way() {
    let stage = Stage::new().await;
    let (sent, held) = Reply::html("<title>Sent</title>").held();
    stage.site.serve("/sent", sent);
    let form = "<form action=/sent><button id=send>Send</button></form>";
    let form = stage.site.serve("/form", Reply::html(form));
    stage.page.goto(&form, SOON).await.unwrap();
    stage.perform("send", Gesture::Tap).await.unwrap();
    held.asked().await;
    until(|| stage.page.loading()).await;
    held.let_go();
    until(|| !stage.page.loading()).await;
    assert_eq!(location(&stage).await.title, "Sent");
}

/// Lets other tasks run until it is so.
async fn until(so: impl Fn() -> bool) {
    let waits = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, waits).await.unwrap();
}
