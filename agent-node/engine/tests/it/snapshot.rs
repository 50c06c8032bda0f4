//! What a snapshot holds.

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn smoke() {
    let stage = Stage::showing("<h1>Hello</h1><p>Some <b>bold</b> text <a href=/x>link</a></p><button id=b>Go</button>").await;
    for line in stage.outline().await {
        println!("{line}");
    }
    let other = Site::new().await;
    let inner = other.serve("/in", Reply::html("<button id=inner>Inner</button>"));
    stage.show(&format!("<iframe src='{inner}'></iframe><iframe srcdoc='<button>Same</button>'></iframe>")).await;
    for line in stage.outline().await {
        println!("{line}");
    }
}
