//! What a page opens beside itself: windows, dialogs, prompts and downloads.

use std::time::Duration;

use muster_engine::chromium::Downloads;
use muster_engine::{EngineError, Gesture, Notice, PageOptions};
use muster_proto::guard::Guard;
use tokio::time::Instant;

use crate::support::*;

impl Stage {
    async fn title(&self) -> String {
        self.page.location(SOON).await.unwrap().title
    }

    /// Looks until the page has this title.
    async fn titled(&self, title: &str) {
        let ends = Instant::now() + SOON;
        loop {
            let is = self.title().await;
            if is == title {
                return;
            }
            assert!(Instant::now() < ends, "{title:?} comes, not {is:?}");
        }
    }
}

#[tokio::test]
async fn a_window_is_the_page_until_it_closes() {
    let stage = Stage::new().await;
    let popup = "<title>Popup</title><button id=b onclick='opener.document.title = \"told\"; window.close()'>Done</button>";
    stage.site.serve("/popup", Reply::html(popup));
    stage
        .show("<button id=a onclick='window.open(\"/popup\")'>Open</button>")
        .await;
    let opener = stage.id("a").await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    stage.titled("Popup").await;
    assert_eq!(stage.page.notices(), [Notice::WindowOpened]);
    let gone = stage.page.perform(opener, &Gesture::Tap, BRIEF).await;
    assert!(
        matches!(gone, Err(EngineError::NodeStale { .. })),
        "{gone:?}"
    );

    // The tap that closes its own window is done.
    stage.perform("b", Gesture::Tap).await.unwrap();
    stage.titled("told").await;
    assert_eq!(stage.page.notices(), [Notice::WindowClosed]);
    stage
        .page
        .perform(opener, &Gesture::Focus, SOON)
        .await
        .unwrap();
}

#[tokio::test]
async fn every_way_to_open_a_window_leads_there() {
    // Its own browser: a second client would let a held window run.
    let browser = Browser::start();
    let stage = Stage::of(&browser, PageOptions::default()).await;
    stage
        .site
        .serve("/popup", Reply::html("<title>Popup</title><script>document.title += `${innerWidth}${document.hasFocus()}`</script>"));
    for opens in [
        "<a id=a href=/popup target=_blank>Open</a>",
        "<a id=a href=/popup target=_blank rel=opener>Open</a>",
        "<form action=/popup target=_blank><button id=a>Open</button></form>",
        "<button id=a onclick='const w = window.open(); w.location = \"/popup\"'>Open</button>",
        "<button id=a onclick='window.open(\"/popup\", \"w\", \"width=300,height=200,noopener\")'>Open</button>",
    ] {
        stage.page.clear_state(SOON).await.unwrap();
        stage.show(opens).await;
        stage.perform("a", Gesture::Tap).await.unwrap();
        stage.titled("Popup1280true").await;
    }
}

#[tokio::test]
async fn a_window_that_is_still_to_come_is_on_its_way() {
    // Its own browser: a second client would let a held window run.
    let browser = Browser::start();
    let stage = Stage::of(&browser, PageOptions::default()).await;
    let (popup, held) = Reply::html("<title>Popup</title>").held();
    stage.site.serve("/popup", popup);
    stage
        .show("<a id=a href=/popup target=_blank>Open</a>")
        .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    held.asked().await;
    assert!(stage.page.loading());
    held.let_go();
    stage.titled("Popup").await;
    let ends = Instant::now() + SOON;
    while stage.page.loading() {
        assert!(Instant::now() < ends, "it arrives");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_window_that_closes_leads_back_to_its_opener_not_to_the_one_before() {
    let stage = Stage::new().await;
    let open = "<script>function go(path, id) { const w = window.open(path); document.title += w ? '' : '?' }</script>";
    stage.site.serve(
        "/second",
        Reply::html("<title>Second</title><button id=b onclick='window.close()'>Close</button>"),
    );
    stage.site.serve(
        "/first",
        Reply::html(
            "<title>First</title><script>setTimeout(() => opener.go('/second'), 0)</script>",
        ),
    );
    stage
        .show(&format!(
            "{open}<button id=a onclick='go(\"/first\")'>Open</button>"
        ))
        .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    stage.titled("Second").await;
    stage.perform("b", Gesture::Tap).await.unwrap();
    stage.titled("Stage").await;
}

#[tokio::test]
async fn windows_are_bounded_and_one_too_many_loads_nothing() {
    // Its own browser: a second client would let a held window run.
    let browser = Browser::start();
    let stage = Stage::of(&browser, PageOptions::default()).await;
    stage
        .site
        .serve("/popup", Reply::html("<title>Popup</title>"));
    let body = format!(
        "{LOG}<button id=a onclick='for (let n = 0; n < 12; n++) window.open(\"/popup?\" + n); say(\"done\")'>Open</button>"
    );
    stage.show(&body).await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    stage.titled("Popup").await;
    let ends = Instant::now() + SOON;
    let mut notices = Vec::new();
    while notices.len() < 12 {
        notices.extend(stage.page.notices());
        assert!(Instant::now() < ends, "{notices:?}");
        tokio::task::yield_now().await;
    }
    let opened = notices
        .iter()
        .filter(|notice| **notice == Notice::WindowOpened);
    assert_eq!(opened.count(), 7);
    let denied = notices.iter().filter(
        |notice| matches!(notice, Notice::Denied { guard, .. } if *guard == Guard::WindowBound),
    );
    assert_eq!(denied.count(), 5);
    let asked = stage.site.asked();
    let loaded = asked.iter().filter(|path| path.starts_with("/popup"));
    assert_eq!(loaded.count(), 7, "{asked:?}");
}

#[tokio::test]
async fn windows_close_with_their_page() {
    let stage = Stage::new().await;
    stage
        .site
        .serve("/popup", Reply::html("<title>Popup</title>"));
    stage
        .show("<button id=a onclick='window.open(\"/popup\")'>Open</button>")
        .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    stage.titled("Popup").await;
    stage.page.close().await;
    let error = stage.page.snapshot(BRIEF).await.unwrap_err();
    assert!(matches!(error, EngineError::Dead(_)), "{error}");
}

#[tokio::test]
async fn dialogs_are_answered_at_once_and_told_once() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a onclick='alert(\"Hello\"); say(confirm(\"Sure?\")); say(prompt(\"Name?\"))'>Ask</button>"
    ))
    .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert_eq!(stage.log().await, "false null");
    let said = [
        ("alert", "Hello"),
        ("confirm", "Sure?"),
        ("prompt", "Name?"),
    ];
    let said = said.map(|(kind, message)| Notice::dialog(kind, message));
    assert_eq!(stage.page.notices(), said);
    assert!(stage.page.notices().is_empty());
}

#[tokio::test]
async fn the_first_dialog_of_a_window_is_answered_too() {
    // Its own browser: a second client would let a held window run.
    let browser = Browser::start();
    let stage = Stage::of(&browser, PageOptions::default()).await;
    let popup = "<title>Popup</title><script>document.title = confirm('Stay?')</script>";
    stage.site.serve("/popup", Reply::html(popup));
    stage
        .show("<a id=a href=/popup target=_blank>Open</a>")
        .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    stage.titled("false").await;
    let dialog = Notice::dialog("confirm", "Stay?");
    assert_eq!(stage.page.notices(), [Notice::WindowOpened, dialog]);
}

#[tokio::test]
async fn a_page_that_wants_to_stay_is_left_all_the_same() {
    let stage = Stage::showing(
        "<button id=a>A</button><script>onbeforeunload = event => event.preventDefault()</script>",
    )
    .await;
    // Only a page that was touched may ask.
    stage.perform("a", Gesture::Tap).await.unwrap();
    let next = stage
        .site
        .serve("/next", Reply::html("<title>Next</title>"));
    stage.page.goto(&next, SOON).await.unwrap();
    assert_eq!(stage.title().await, "Next");
    assert!(stage.page.notices().is_empty());
}

#[tokio::test]
async fn a_page_of_endless_dialogs_is_stuck_and_says_so_at_once() {
    let stage =
        Stage::showing("<button id=a onclick='for (;;) confirm(\"Again?\")'>Ask</button>").await;
    let error = stage.perform("a", Gesture::Tap).await.unwrap_err();
    let why = "it opened more than 50 dialogs";
    assert!(
        matches!(&error, EngineError::MayHaveCommitted { why: told, .. } if told == why),
        "{error}"
    );
    let stuck = Err(EngineError::Stuck(why.into()));
    let again = async {
        assert_eq!(stage.page.snapshot(SOON).await.map(drop), stuck);
        assert_eq!(stage.page.goto(&stage.site.origin, SOON).await, stuck);
        assert_eq!(stage.page.press("Enter", SOON).await, stuck);
    };
    let at_once = Duration::from_secs(5);
    tokio::time::timeout(at_once, again).await.unwrap();
    let notices = stage.page.notices();
    assert_eq!(notices.len(), 51);
    assert!(
        matches!(
            notices[50],
            Notice::Denied {
                guard: Guard::DialogBound,
                ..
            }
        ),
        "{notices:?}"
    );
    tokio::time::timeout(at_once, stage.page.close())
        .await
        .unwrap();
}

#[tokio::test]
async fn no_permission_is_given_and_none_is_waited_for() {
    let stage = Stage::showing(&format!(
        "{LOG}<button id=a onclick='ask()'>Ask</button><script>async function ask() {{
            const tell = (what, asked) => asked.then(told => say(what + \":\" + told), error => say(what + \":\" + error.name));
            await tell('note', Notification.requestPermission());
            await tell('place', new Promise((_, no) => navigator.geolocation.getCurrentPosition(_, () => no({{ name: 'denied' }}))));
            await tell('midi', navigator.requestMIDIAccess({{ sysex: true }}));
            await tell('clip', navigator.clipboard.readText());
            for (const name of ['camera', 'microphone', 'notifications', 'geolocation', 'clipboard-read', 'midi'])
                await tell(name, navigator.permissions.query({{ name }}).then(is => is.state));
            say('end');
        }}</script>"
    ))
    .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    let ends = Instant::now() + Duration::from_secs(5);
    while !stage.log().await.ends_with("end") {
        assert!(Instant::now() < ends, "{}", stage.log().await);
    }
    assert_eq!(
        stage.log().await,
        "note:denied place:denied midi:NotAllowedError clip:NotAllowedError camera:denied microphone:denied \
         notifications:denied geolocation:denied clipboard-read:denied midi:denied end"
    );
}

/// A page that may download, and where to.
async fn loading(files: u32, bytes: u64) -> (Stage, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = PageOptions {
        downloads: Some(Downloads {
            folder: folder.path().to_owned(),
            files,
            bytes,
        }),
        ..PageOptions::default()
    };
    let stage = Stage::of(Browser::shared(), options).await;
    (stage, folder)
}

fn attachment(body: impl Into<String>) -> Reply {
    Reply::html(body).with("Content-Disposition", "attachment; filename=report.txt")
}

impl Stage {
    /// Waits for so many notices.
    async fn notices(&self, many: usize) -> Vec<Notice> {
        let ends = Instant::now() + SOON;
        let mut notices = Vec::new();
        while notices.len() < many {
            notices.extend(self.page.notices());
            assert!(Instant::now() < ends, "{notices:?}");
            tokio::task::yield_now().await;
        }
        notices
    }
}

#[tokio::test]
async fn a_download_is_kept_and_told_and_the_page_stays() {
    let (stage, folder) = loading(20, 1000).await;
    stage.site.serve("/file", attachment("hello"));
    stage
        .show("<a id=a href=/file>Save</a><a id=b href=/file target=_blank>Save</a>")
        .await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    let told = Notice::download("report.txt", Some(5));
    assert_eq!(stage.notices(1).await, std::slice::from_ref(&told));
    let kept: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(kept.len(), 1);
    let kept = std::fs::read_to_string(kept[0].as_ref().unwrap().path());
    assert_eq!(kept.unwrap(), "hello");
    assert_eq!(stage.title().await, "Stage");

    // The window that a download opens is closed again.
    stage.perform("b", Gesture::Tap).await.unwrap();
    let notices = stage.notices(3).await;
    for expected in [Notice::WindowOpened, told, Notice::WindowClosed] {
        assert!(notices.contains(&expected), "{notices:?}");
    }
    assert_eq!(stage.title().await, "Stage");
}

#[tokio::test]
async fn a_page_that_may_not_download_says_what_did_not_come() {
    let stage = Stage::new().await;
    stage.site.serve("/file", attachment("hello"));
    stage.show("<a id=a href=/file>Save</a>").await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert_eq!(
        stage.notices(1).await,
        [Notice::download("report.txt", None)]
    );
}

#[tokio::test]
async fn downloads_are_bounded_in_number_and_bytes() {
    let denied = |notice: &Notice| {
        matches!(
            notice,
            Notice::Denied {
                guard: Guard::DownloadBound,
                ..
            }
        )
    };
    let (stage, folder) = loading(2, 1000).await;
    stage.site.serve("/file", attachment("hello"));
    stage.show("<a id=a href=/file>Save</a>").await;
    let mut notices = Vec::new();
    for _ in 0..4 {
        stage.perform("a", Gesture::Tap).await.unwrap();
        notices.extend(stage.notices(1).await);
    }
    assert_eq!(notices.iter().filter(|notice| denied(notice)).count(), 2);
    holds(&folder, 2).await;

    let (stage, folder) = loading(2, 1000).await;
    let endless = attachment("y".repeat(100_000)).stalling();
    stage.site.serve("/file", endless);
    stage.show("<a id=a href=/file>Save</a>").await;
    stage.perform("a", Gesture::Tap).await.unwrap();
    assert!(denied(&stage.notices(1).await[0]));
    holds(&folder, 0).await;
}

/// Waits until the folder has so many files.
async fn holds(folder: &tempfile::TempDir, files: usize) {
    let ends = Instant::now() + SOON;
    while std::fs::read_dir(folder.path()).unwrap().count() != files {
        assert!(Instant::now() < ends, "{files} files are left");
        tokio::task::yield_now().await;
    }
}
