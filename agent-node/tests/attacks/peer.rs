//! What a browser that is none may send.

use std::time::Duration;

use async_tungstenite::tokio::accept_async;
use async_tungstenite::tungstenite::Message;
use futures::StreamExt as _;
use muster_engine::{Chromium, EngineError, PageOptions};
use muster_proto::guard::Guard;
use tokio::net::TcpListener;

use crate::case::{Case, Outcome};
use crate::world::{SOON, World};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "A46",
        what: "a browser answers with messages that are none",
        guard: Guard::PeerBound,
        attack: |world| Box::pin(malformed(world)),
    },
    Case {
        id: "A46",
        what: "a browser answers with a message of 70 MB",
        guard: Guard::PeerBound,
        attack: |world| Box::pin(giant(world)),
    },
];

async fn malformed(_: &World) -> Outcome {
    let nonsense = ["{", "[]", "null", r#"{"id":{}}"#, r#"{"method":7}"#];
    says(nonsense.into_iter().cycle().take(400).map(Message::text)).await
}

async fn giant(_: &World) -> Outcome {
    says([Message::text("x".repeat(70 << 20))].into_iter()).await
}

/// A browser that says this to whoever connects.
async fn says(messages: impl Iterator<Item = Message> + Send + 'static) -> Outcome {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("ws://{}/devtools/browser/x", listener.local_addr().unwrap());
    let peer = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let mut socket = accept_async(socket).await.unwrap();
        for message in messages {
            // The other end may have hung up.
            if socket.send(message).await.is_err() {
                return;
            }
        }
        // It reads on, and says no more, until the other end hangs up.
        while let Some(Ok(_)) = socket.next().await {}
    });
    let chromium = Chromium::connect(&address, SOON).await.unwrap();
    let opened = chromium
        .open(PageOptions::default(), Duration::from_secs(3))
        .await;
    drop(chromium);
    let error = opened.err().expect("nothing answers");
    peer.await.unwrap();
    Outcome::of(
        matches!(error, EngineError::Dead(_)),
        format!("it was waited for: {error}"),
    )
}
