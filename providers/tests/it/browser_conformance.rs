//! What every provider of browsers promises, asked of a real one.

use std::time::Duration;

use muster_providers::browser::{
    BrowserError, BrowserLease, BrowserProvider, FixedBrowser, LocalBrowsers,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::browser_local::settings;
use crate::{DEADLINE, supervisor};

/// `provider` can give `limits().browsers` and has none out.
async fn conforms(provider: &dyn BrowserProvider) {
    let limit = provider.limits().browsers;
    assert!(!provider.name().is_empty());
    assert!(provider.list().await.is_empty());

    let mut leases: Vec<BrowserLease> = Vec::new();
    for _ in 0..limit {
        let lease = provider.acquire(DEADLINE).await.unwrap();
        assert!(lease.product.contains("Chrome/"), "{}", lease.product);
        assert!(leases.iter().all(|other| other.id != lease.id));
        assert!(speaks_devtools(&lease.ws_url).await, "{}", lease.ws_url);
        assert!(provider.status(&lease.id).await.unwrap());
        leases.push(lease);
    }
    let mut listed = provider.list().await;
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(listed, leases);

    let error = provider.acquire(DEADLINE).await.unwrap_err();
    assert!(
        matches!(error, BrowserError::Exhausted { limit: told } if told == limit),
        "{error}"
    );

    provider.release("never leased").await.unwrap();
    for lease in &leases {
        provider.release(&lease.id).await.unwrap();
        provider.release(&lease.id).await.unwrap();
        assert!(!provider.status(&lease.id).await.unwrap());
    }
    assert!(provider.list().await.is_empty());

    let again = provider.acquire(DEADLINE).await.unwrap();
    assert!(provider.status(&again.id).await.unwrap());
    provider.release(&again.id).await.unwrap();
}

/// Whether a WebSocket opens there.
async fn speaks_devtools(ws_url: &str) -> bool {
    let url = Url::parse(ws_url).unwrap();
    let (host, port) = (url.host_str().unwrap(), url.port().unwrap());
    let mut socket = TcpStream::connect((host, port)).await.unwrap();
    let path = url.path();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    timeout(DEADLINE, socket.read_exact(&mut start))
        .await
        .expect("an answer in time")
        .unwrap();
    &start == b"HTTP/1.1 101"
}

#[tokio::test]
async fn local_browsers_conform() {
    let supervisor = supervisor().await;
    conforms(&LocalBrowsers::new(settings(2), supervisor.clone())).await;
    supervisor.close().await;
}

#[tokio::test]
async fn a_fixed_browser_conforms_by_either_address() {
    let supervisor = supervisor().await;
    let local = LocalBrowsers::new(settings(1), supervisor.clone());
    let lease = local.acquire(DEADLINE).await.unwrap();
    let url = Url::parse(&lease.ws_url).unwrap();
    conforms(&FixedBrowser::new(&lease.ws_url).unwrap()).await;
    conforms(&FixedBrowser::new(&format!("http://localhost:{}", url.port().unwrap())).unwrap())
        .await;
    assert!(
        local.status(&lease.id).await.unwrap(),
        "whoever started it still has it"
    );
    local.release(&lease.id).await.unwrap();

    let gone = FixedBrowser::new(&format!("http://127.0.0.1:{}", url.port().unwrap())).unwrap();
    let error = gone.acquire(Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, BrowserError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
    supervisor.close().await;
}
