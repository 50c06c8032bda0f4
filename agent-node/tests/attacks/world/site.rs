//! A hostile web server on loopback.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Serves HTML by path, and keeps which paths were asked for.
pub(crate) struct Site {
    /// E.g. `http://127.0.0.1:4000`.
    pub(crate) origin: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    pages: HashMap<String, String>,
    asked: Vec<String>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<Mutex<State>>::default();
        let served = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&served)));
            }
        });
        Self {
            origin,
            state,
            task,
        }
    }

    /// Serves a page, or with `302 ADDRESS` a redirect; yields its address.
    pub(crate) fn serve(&self, path: &str, html: impl Into<String>) -> String {
        let mut state = self.state.lock().unwrap();
        state.pages.insert(path.to_owned(), html.into());
        format!("{}{path}", self.origin)
    }

    /// Whether this path was asked for, with or without a query.
    pub(crate) fn asked(&self, path: &str) -> bool {
        let state = self.state.lock().unwrap();
        state.asked.iter().any(|asked| asked == path)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(socket: TcpStream, state: Arc<Mutex<State>>) {
    let mut socket = BufReader::new(socket);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        if socket.read_line(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let length = request.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let wanted = name.eq_ignore_ascii_case("content-length");
        wanted.then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    if socket.read_exact(&mut body).await.is_err() {
        return;
    }
    let target = request.split(' ').nth(1).unwrap_or("/");
    let path = target.split('?').next().unwrap_or("/").to_owned();
    let page = {
        let mut state = state.lock().unwrap();
        state.asked.push(path.clone());
        state.pages.get(&path).cloned()
    };
    let redirect = page.as_ref().and_then(|page| page.strip_prefix("302 "));
    let (status, more) = match (&page, redirect) {
        (_, Some(to)) => ("302 Found", format!("Location: {to}\r\n")),
        (Some(_), None) => ("200 OK", String::new()),
        (None, None) => ("404 Not Found", String::new()),
    };
    let body = page.unwrap_or_default();
    let answer = format!(
        "HTTP/1.1 {status}\r\n{more}Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // The browser may have gone away.
    let _ = socket.write_all(answer.as_bytes()).await;
}
