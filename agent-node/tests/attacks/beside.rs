//! What a page opens beside itself.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_agent_node::harness::Harness as _;
use muster_engine::chromium::Downloads;
use muster_engine::{Chromium, Notice, PageOptions};
use muster_proto::action::{Action, Typed};
use muster_proto::guard::Guard;
use tokio::time::{Instant, sleep, timeout};

use crate::case::{Case, Outcome};
use crate::world::{PASSWORD, SOON, Site, Stage, World, id};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "A13",
        what: "the page opens windows without end",
        guard: Guard::WindowBound,
        attack: |world| Box::pin(many_windows(world)),
    },
    Case {
        id: "A13",
        what: "a window of another site asks for the password",
        guard: Guard::SecretOrigin,
        attack: |world| Box::pin(foreign_window(world)),
    },
    Case {
        id: "A17",
        what: "the page opens dialogs without end",
        guard: Guard::DialogBound,
        attack: |world| Box::pin(many_dialogs(world)),
    },
    Case {
        id: "A17",
        what: "the page asks a person for permissions",
        guard: Guard::PermissionDenied,
        attack: |world| Box::pin(permission(world)),
    },
    Case {
        id: "A17",
        what: "the page downloads without end",
        guard: Guard::DownloadBound,
        attack: |world| Box::pin(many_downloads(world)),
    },
    Case {
        id: "A32",
        what: "a downloaded file is named by a secret in base64",
        guard: Guard::RedactEncoded,
        attack: |world| Box::pin(telling_name(world)),
    },
];

async fn many_windows(world: &World) -> Outcome {
    let body = "<script>for (let n = 0; n < 12; n++) window.open('/window?' + n)</script>";
    let stage = world.showing(body).await;
    stage.site.serve("/window", "<title>Window</title>");
    let ends = Instant::now() + SOON;
    let (mut opened, mut denied) = (0, 0);
    while opened + denied < 12 {
        for notice in stage.page.notices() {
            match notice {
                Notice::WindowOpened => opened += 1,
                Notice::Denied { .. } => denied += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(Instant::now() < ends, "{opened} opened, {denied} denied");
        sleep(Duration::from_millis(10)).await;
    }
    Outcome::of(opened < 8, format!("{opened} windows opened"))
}

/// The field stands in a window of the attacker's, which is the page when the model looks.
async fn foreign_window(world: &World) -> Outcome {
    let evil = Site::start().await;
    evil.serve(
        "/login",
        "<title>Login</title><input type=password aria-label=Password oninput='document.title = value'>",
    );
    let body = format!("<a href='{}/login' target=_blank>Log in</a>", evil.origin);
    let stage = world.showing(&body).await;
    let step = stage.step(stage.grant());
    let link = id(&step.observe().await.unwrap(), "link", "Log in");
    step.perform(Action::Tap { target: link }).await.unwrap();
    let screen = step.observe().await.unwrap();
    let target = id(&screen, "textbox", "Password");
    let value = Typed::Secret { name: "pw".into() };
    // Whether it is refused is seen in the window.
    let _ = step
        .perform(Action::Type {
            target,
            value,
            replace: true,
        })
        .await;
    Outcome::of(stage.title().await != PASSWORD, "it was typed there")
}

async fn many_dialogs(world: &World) -> Outcome {
    let stage = world
        .showing("<button onclick='for (;;) confirm(\"Again?\")'>Ask</button>")
        .await;
    let step = stage.step(stage.grant());
    let ask = id(&step.observe().await.unwrap(), "button", "Ask");
    let tapped = timeout(
        Duration::from_secs(4),
        step.perform(Action::Tap { target: ask }),
    );
    Outcome::of(tapped.await.is_ok(), "the action waited for its deadline")
}

async fn permission(world: &World) -> Outcome {
    let stage = world
        .showing("<script>navigator.permissions.query({ name: 'camera' }).then(is => document.title = is.state)</script>")
        .await;
    let ends = Instant::now() + SOON;
    let mut state = stage.title().await;
    while state == "Stage" {
        assert!(Instant::now() < ends, "the browser answers");
        sleep(Duration::from_millis(10)).await;
        state = stage.title().await;
    }
    Outcome::of(state == "denied", format!("it is told {state:?}"))
}

/// A stage whose page may download two files, and where to.
async fn downloading(world: &World, body: &str) -> (Stage, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let home = site.serve("/", format!("<!doctype html><title>Stage</title>{body}"));
    let chromium = Chromium::connect(world.browser().await, SOON)
        .await
        .unwrap();
    let options = PageOptions {
        downloads: Some(Downloads {
            folder: folder.path().to_owned(),
            files: 2,
            bytes: 1_000_000,
        }),
        ..PageOptions::default()
    };
    let page = chromium.open(options, SOON).await.unwrap();
    page.goto(&home, SOON).await.unwrap();
    (Stage::of(page, site, Some(chromium)), folder)
}

const SAVE: &str = "<script>function save(name) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(['content']));
    link.download = name;
    link.click();
}</script>";

async fn many_downloads(world: &World) -> Outcome {
    let body = format!(
        "{SAVE}<script>for (let n = 0; n < 4; n++) setTimeout(() => save('f' + n), n * 100)</script>"
    );
    let (stage, folder) = downloading(world, &body).await;
    let ends = Instant::now() + SOON;
    let mut told = 0;
    while told < 4 {
        told += stage.page.notices().len();
        assert!(Instant::now() < ends, "{told} of 4 were told of");
        sleep(Duration::from_millis(10)).await;
    }
    // Small ones may have come before they could be stopped; those are removed.
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let ends = Instant::now() + Duration::from_secs(2);
    while files() > 2 && Instant::now() < ends {
        sleep(Duration::from_millis(10)).await;
    }
    Outcome::of(files() <= 2, format!("{} files were kept", files()))
}

/// All that leaves of a download is its name.
async fn telling_name(world: &World) -> Outcome {
    let name = STANDARD.encode(PASSWORD);
    let body = format!("{SAVE}<script>save('{name}.txt')</script>");
    let (stage, _folder) = downloading(world, &body).await;
    let ends = Instant::now() + SOON;
    loop {
        let notes = stage.screen().await.notes;
        if let Some(note) = notes.first() {
            let events = stage.attempt.events();
            let told = format!("{note} {}", events.last().unwrap().detail);
            assert!(!told.contains("content"), "{told}");
            return Outcome::of(!told.contains(&name), told);
        }
        assert!(Instant::now() < ends, "it is told of");
        sleep(Duration::from_millis(10)).await;
    }
}
