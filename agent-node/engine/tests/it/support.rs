//! One browser for all tests of this binary, a web server of its own for each, and short words
//! for what tests do.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use muster_engine::{
    Chromium, EngineError, Found, Gesture, Node, NodeId, Page, PageOptions, Snapshot,
};
use muster_suite::locator::{Locator, LocatorStep, States, TextMatch};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Ample for a busy machine; what should be quick is measured by its own bound.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// For what must not happen: long enough to see it happen.
pub(crate) const BRIEF: Duration = Duration::from_secs(2);

const BINARY: &str = "/usr/lib/chromium/chromium-headless-shell";

/// A browser process. A shell stands between, so that the browser ends with this process, however
/// that ends.
pub(crate) struct Browser {
    pub(crate) address: String,
    pub(crate) pid: i32,
    shell: Mutex<std::process::Child>,
}

impl Browser {
    #[allow(
        clippy::disallowed_methods,
        reason = "tests start their browser without the provider, whose supervisor is a room above"
    )]
    pub(crate) fn start() -> Self {
        assert!(
            Path::new(BINARY).exists(),
            "{BINARY} is missing: apt-get install chromium-headless-shell"
        );
        let profile = tempfile::tempdir().unwrap().keep();
        // The profile goes too, at the second try if a dying child still wrote into it.
        let script = "profile=$1; shift; \"$@\" </dev/null & child=$!; echo $child >\"$profile/pid\"; read -r _; kill -9 $child; wait $child; rm -rf \"$profile\" || rm -rf \"$profile\"";
        let shell = std::process::Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .arg(&profile)
            .args([
                BINARY,
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--disable-background-networking",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port_file = profile.join("DevToolsActivePort");
        let written = (0..4000).find_map(|_| {
            let text = std::fs::read_to_string(&port_file)
                .ok()
                .filter(|text| text.lines().count() == 2);
            if text.is_none() {
                // The file is the only sign that the browser gives; there is nothing to wait on.
                std::thread::sleep(Duration::from_millis(5));
            }
            text
        });
        let written = written.expect("the browser opens its DevTools port within 20 s");
        let (port, path) = written.split_once('\n').unwrap();
        let pid = std::fs::read_to_string(profile.join("pid"))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        Self {
            address: format!("ws://127.0.0.1:{port}{}", path.trim()),
            pid,
            shell: Mutex::new(shell),
        }
    }

    /// The one that tests share; it ends with the test process.
    pub(crate) fn shared() -> &'static Browser {
        static SHARED: LazyLock<Browser> = LazyLock::new(Browser::start);
        &SHARED
    }

    #[allow(clippy::disallowed_methods, reason = "as above")]
    pub(crate) fn kill(&self) {
        let status = std::process::Command::new("kill")
            .args(["-9", &self.pid.to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let mut shell = self.shell.lock().unwrap();
        // Any line ends the shell, which ends the browser.
        let _ = shell.stdin.take().unwrap().write_all(b"\n");
        let _ = shell.wait();
    }
}

/// What a server answers to one path.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Told when it is asked for; then the answer waits to be let go.
    held: Option<Arc<(Notify, Notify)>>,
    /// One byte stays away for ever.
    stalls: bool,
}

impl Reply {
    /// Held back until it is let go.
    pub(crate) fn held(mut self) -> (Self, Held) {
        let gates = Arc::new((Notify::new(), Notify::new()));
        self.held = Some(Arc::clone(&gates));
        (self, Held(gates))
    }

    /// Whose last byte never comes.
    pub(crate) fn stalling(mut self) -> Self {
        self.stalls = true;
        self
    }

    pub(crate) fn html(body: impl Into<String>) -> Self {
        let headers = vec![("Content-Type".into(), "text/html; charset=utf-8".into())];
        Self {
            status: "200 OK",
            headers,
            body: body.into().into_bytes(),
            held: None,
            stalls: false,
        }
    }

    pub(crate) fn empty(status: &'static str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            held: None,
            stalls: false,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// A reply that is held back.
pub(crate) struct Held(Arc<(Notify, Notify)>);

impl Held {
    /// Waits until it is asked for.
    pub(crate) async fn asked(&self) {
        self.0.0.notified().await;
    }

    /// Lets it be answered.
    pub(crate) fn let_go(self) {
        self.0.1.notify_one();
    }
}

/// A web server on loopback for one test.
pub(crate) struct Site {
    pub(crate) origin: String,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let replies = Arc::new(Mutex::new(HashMap::new()));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (served, seen) = (Arc::clone(&replies), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&served), Arc::clone(&seen)));
            }
        });
        Self {
            origin,
            replies,
            asked,
        }
    }

    /// What was asked for so far, with queries.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Serves a reply; yields its address.
    pub(crate) fn serve(&self, path: &str, reply: Reply) -> String {
        self.replies.lock().unwrap().insert(path.into(), reply);
        format!("{}{path}", self.origin)
    }
}

async fn answer(
    socket: TcpStream,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
    asked: Arc<Mutex<Vec<String>>>,
) {
    let mut socket = BufReader::new(socket);
    let mut request = String::new();
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        if line == "\r\n" {
            break;
        }
        request += &line;
    }
    let target = request.split(' ').nth(1).unwrap_or("/");
    asked.lock().unwrap().push(target.into());
    let path = target.split(['?', '#']).next().unwrap_or("/");
    let reply = replies
        .lock()
        .unwrap()
        .get(path)
        .cloned()
        .unwrap_or_else(|| Reply::empty("404 Not Found"));
    if let Some(gates) = &reply.held {
        gates.0.notify_one();
        gates.1.notified().await;
    }
    let mut head = format!(
        "HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n",
        reply.status,
        reply.body.len() + usize::from(reply.stalls)
    );
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    // One write, so that nothing waits for an acknowledgement; the browser may have gone away.
    let _ = socket
        .write_all(&[head.as_bytes(), b"\r\n", &reply.body].concat())
        .await;
    if reply.stalls {
        // Until the browser goes away.
        let _ = socket.read_line(&mut request).await;
    }
}

/// A page of the shared browser, with a server beside it.
pub(crate) struct Stage {
    pub(crate) page: Arc<dyn Page>,
    pub(crate) site: Site,
    _chromium: Chromium,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::of(Browser::shared(), PageOptions::default()).await
    }

    /// A page of this browser.
    pub(crate) async fn of(browser: &Browser, options: PageOptions) -> Self {
        let chromium = Chromium::connect(&browser.address, SOON).await.unwrap();
        let page = chromium.open(options, SOON).await.unwrap();
        Self {
            page,
            site: Site::new().await,
            _chromium: chromium,
        }
    }

    /// A page that shows this body.
    pub(crate) async fn showing(body: &str) -> Self {
        let stage = Self::new().await;
        stage.show(body).await;
        stage
    }

    pub(crate) async fn show(&self, body: &str) {
        let address = self.site.serve(
            "/",
            Reply::html(format!("<!doctype html><title>Stage</title>{body}")),
        );
        self.page.goto(&address, SOON).await.unwrap();
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        self.page.snapshot(SOON).await.unwrap()
    }

    /// The screen, one line a node: indent, role, quoted name, text.
    pub(crate) async fn outline(&self) -> Vec<String> {
        let snapshot = self.snapshot().await;
        let line = |node: &Node| {
            let mut line = format!("{}{}", "  ".repeat(node.depth as usize), node.role);
            if !node.name.is_empty() {
                line += &format!(" {:?}", node.name);
            }
            if !node.text.is_empty() {
                line += &format!(" text={:?}", node.text);
            }
            if node.clickable {
                line += " clickable";
            }
            line
        };
        snapshot.nodes.iter().map(line).collect()
    }

    /// The node with this DOM id.
    pub(crate) async fn node(&self, dom_id: &str) -> Node {
        let snapshot = self.snapshot().await;
        let node = snapshot.nodes.iter().find(|node| node.dom_id == dom_id);
        node.unwrap_or_else(|| panic!("#{dom_id} is on the screen: {:#?}", snapshot.nodes))
            .clone()
    }

    pub(crate) async fn id(&self, dom_id: &str) -> NodeId {
        self.node(dom_id).await.id
    }

    pub(crate) async fn find(&self, steps: Vec<LocatorStep>) -> Vec<Found> {
        self.page
            .find(&Locator { steps }, None, SOON)
            .await
            .unwrap()
    }

    /// DOM ids of the matches.
    pub(crate) async fn found(&self, steps: Vec<LocatorStep>) -> Vec<String> {
        self.find(steps)
            .await
            .into_iter()
            .map(|found| found.node.dom_id)
            .collect()
    }

    pub(crate) async fn perform(&self, dom_id: &str, gesture: Gesture) -> Result<(), EngineError> {
        let id = self.id(dom_id).await;
        self.page.perform(id, &gesture, SOON).await
    }

    /// The text of the element with this test id; pages write what they saw into it.
    /// Waits until the log says this.
    pub(crate) async fn until(&self, said: &str) {
        let ends = tokio::time::Instant::now() + SOON;
        while !self.log().await.contains(said) {
            assert!(tokio::time::Instant::now() < ends, "{}", self.log().await);
        }
    }

    pub(crate) async fn log(&self) -> String {
        let found = self.find(vec![test_id("log")]).await;
        found
            .first()
            .expect("the page has a log")
            .text_content
            .clone()
    }
}

/// For pages: `say(text)` writes into the log, which takes no room and no events.
pub(crate) const LOG: &str = "<p data-testid=log id=log style='position:fixed; right:0; bottom:0; margin:0; pointer-events:none'></p>
<script>function say(text) { log.textContent += text + ' ' }</script>";

pub(crate) fn role(role: &str) -> LocatorStep {
    LocatorStep::Role {
        role: role.into(),
        name: None,
        states: States::default(),
        visible: false,
    }
}

pub(crate) fn role_named(role: &str, name: &str) -> LocatorStep {
    LocatorStep::Role {
        role: role.into(),
        name: Some(exact(name)),
        states: States::default(),
        visible: false,
    }
}

pub(crate) fn role_with(role: &str, states: States) -> LocatorStep {
    LocatorStep::Role {
        role: role.into(),
        name: None,
        states,
        visible: false,
    }
}

pub(crate) fn text(text: TextMatch) -> LocatorStep {
    LocatorStep::Text {
        text,
        visible: false,
    }
}

pub(crate) fn label(text: &str) -> LocatorStep {
    LocatorStep::Label {
        text: exact(text),
        visible: false,
    }
}

pub(crate) fn test_id(id: &str) -> LocatorStep {
    LocatorStep::TestId {
        id: id.into(),
        visible: false,
    }
}

pub(crate) fn exact(text: &str) -> TextMatch {
    TextMatch::Exact { text: text.into() }
}

pub(crate) fn part(text: &str) -> TextMatch {
    TextMatch::Substring { text: text.into() }
}

pub(crate) fn pattern(source: &str, flags: &str) -> TextMatch {
    TextMatch::Pattern {
        source: source.into(),
        flags: flags.into(),
    }
}
