//! The egress proxy between a raw client and raw servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use muster_agent_node::node::egress::{Egress, EgressLimits, EgressProxy, Policy, Resolver};
use muster_suite::config::{self, EgressPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::soon;

async fn open(denied: &[u16]) -> EgressProxy {
    under("http://127.0.0.1:1/", EgressPolicy::Open, denied).await
}

/// The proxy of a context whose app is there.
async fn under(app: &str, policy: EgressPolicy, denied: &[u16]) -> EgressProxy {
    let policy = narrowed(app, policy);
    let egress = Egress::new(denied.iter().copied(), EgressLimits::default());
    egress.open(policy).await.unwrap()
}

fn narrowed(app: &str, policy: EgressPolicy) -> Arc<Policy> {
    let target = config::Egress {
        policy,
        allow: Vec::new(),
    };
    Arc::new(Policy::new(
        &Url::parse(app).unwrap(),
        &target,
        EgressPolicy::Open,
    ))
}

/// An app on this machine, and everything open.
fn local() -> Arc<Policy> {
    narrowed("http://127.0.0.1:1/", EgressPolicy::Open)
}

async fn dial(proxy: &EgressProxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

/// A server that takes one connection, reads a head, answers, and tells what it read. `answer`
/// gets the connection after the head.
async fn server<F, Fut>(answer: F) -> (SocketAddr, JoinHandle<String>)
where
    F: FnOnce(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let head = head(&mut client).await;
        answer(client).await;
        head
    });
    (address, task)
}

/// Reads up to the empty line.
async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let byte = soon("a head", stream.read_u8()).await;
        match byte {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = String::new();
    // A reset is an end too.
    soon("the end", stream.read_to_string(&mut rest)).await.ok();
    rest
}

async fn echo(mut stream: TcpStream) {
    let (mut read, mut write) = stream.split();
    tokio::io::copy(&mut read, &mut write).await.unwrap();
}

/// Sends bytes and expects them back.
async fn echoes(client: &mut TcpStream, text: &str) {
    client.write_all(text.as_bytes()).await.unwrap();
    let mut back = vec![0; text.len()];
    soon("the echo", client.read_exact(&mut back))
        .await
        .unwrap();
    assert_eq!(back, text.as_bytes());
}

async fn connect(proxy: &EgressProxy, to: &str) -> (String, TcpStream) {
    let mut client = dial(proxy).await;
    client
        .write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let head = head(&mut client).await;
    (head, client)
}

#[tokio::test]
async fn a_tunnel_passes_bytes_both_ways_until_both_ends_close() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { echo(listener.accept().await.unwrap().0).await });
    let proxy = open(&[]).await;
    // By name: the proxy resolves.
    let (head, mut client) = connect(&proxy, &format!("localhost:{}", address.port())).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    echoes(&mut client, "hello").await;
    echoes(&mut client, &"x".repeat(100_000)).await;
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await, "");
    soon("the server saw the end", server).await.unwrap();
    proxy.close().await;
}

#[tokio::test]
async fn a_request_arrives_in_origin_form_without_what_was_for_the_proxy() {
    let (address, server) = server(|mut client| async move {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\nConnection: X-Hop\r\nX-Hop: 1\r\nSet-Cookie: a=b\r\n\r\nok";
        client.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let proxy = open(&[]).await;
    let mut client = dial(&proxy).await;
    let request = format!(
        "GET http://{address}/a/b?c=d HTTP/1.1\r\nHost: elsewhere.example\r\nProxy-Connection: keep-alive\r\n\
         Proxy-Authorization: Basic aGk=\r\nConnection: keep-alive, X-Private\r\nX-Private: 1\r\nCookie: s=1\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let answer = head(&mut client).await;
    let mut body = [0; 2];
    client.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"ok");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("Set-Cookie: a=b"),
        "{answer}"
    );
    assert!(
        !answer.contains("Keep-Alive") && !answer.contains("X-Hop"),
        "{answer}"
    );

    let seen = server.await.unwrap();
    assert!(seen.starts_with("GET /a/b?c=d HTTP/1.1\r\n"), "{seen}");
    assert!(
        seen.contains(&format!("{address}\r\n")) && !seen.contains("elsewhere"),
        "{seen}"
    );
    assert!(seen.contains("Cookie: s=1"), "{seen}");
    assert!(
        !seen.contains("Proxy-") && !seen.contains("X-Private"),
        "{seen}"
    );

    // The same client connection serves the next request, to another server.
    let (address, server) = self::server(|mut client| async move {
        client
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .await
            .unwrap();
    })
    .await;
    client
        .write_all(format!("GET http://{address} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert!(head(&mut client).await.starts_with("HTTP/1.1 204"));
    assert!(server.await.unwrap().starts_with("GET / HTTP/1.1\r\n"));
    proxy.close().await;
}

#[tokio::test]
async fn a_body_is_passed_on_as_it_comes_not_when_it_is_whole() {
    let (address, _server) = server(|mut client| async move {
        let first = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
        client.write_all(first.as_bytes()).await.unwrap();
        // Open for as long as the client is.
        rest(&mut client).await;
    })
    .await;
    let proxy = open(&[]).await;
    let mut client = dial(&proxy).await;
    client
        .write_all(format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    head(&mut client).await;
    let mut chunk = [0; 1024];
    let mut seen = String::new();
    while !seen.contains("data: 1") {
        let read = soon("the first event", client.read(&mut chunk))
            .await
            .unwrap();
        assert_ne!(read, 0, "{seen}");
        seen += std::str::from_utf8(&chunk[..read]).unwrap();
    }
    // Closing the proxy cuts what is under way.
    soon("the proxy closes", proxy.close()).await;
    rest(&mut client).await;
}

#[tokio::test]
async fn an_upgrade_passes() {
    let (address, server) = server(|mut client| async move {
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        client.write_all(answer.as_bytes()).await.unwrap();
        echo(client).await;
    })
    .await;
    let proxy = open(&[]).await;
    let mut client = dial(&proxy).await;
    let request = format!(
        "GET http://{address}/live HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let answer = head(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    assert!(
        answer.to_lowercase().contains("upgrade: websocket"),
        "{answer}"
    );
    echoes(&mut client, "frame").await;
    drop(client);
    let seen = soon("the server saw the end", server).await.unwrap();
    assert!(
        seen.contains("Sec-WebSocket-Key: AAAA")
            && seen.to_lowercase().contains("connection: upgrade"),
        "{seen}"
    );
    proxy.close().await;
}

#[tokio::test]
async fn musters_own_ports_are_out_of_reach_by_any_name() {
    let secret = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = secret.local_addr().unwrap().port();
    let egress = Egress::new([port], EgressLimits::default());
    let (proxy, other) = (
        egress.open(local()).await.unwrap(),
        egress.open(local()).await.unwrap(),
    );
    let (own, others) = (proxy.address().port(), other.address().port());
    for to in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("127.1.2.3:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("127.0.0.1:{own}"),
        format!("127.0.0.1:{others}"),
    ] {
        let (head, mut client) = connect(&proxy, &to).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{to}: {head}");
        let mut reason = vec![0; 24];
        client.read_exact(&mut reason).await.unwrap();
        assert!(reason.starts_with(b"muster egress: "), "{reason:?}");

        let mut client = dial(&proxy).await;
        client
            .write_all(format!("GET http://{to}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
            .await
            .unwrap();
        assert_eq!(rest(&mut client).await, "", "no answer, as from no server");
    }
    let nobody = tokio::time::timeout(Duration::ZERO, secret.accept()).await;
    assert!(nobody.is_err(), "nobody came through");

    // A browser's DevTools port is denied while it runs.
    let devtools = egress.deny(others);
    other.close().await;
    let listener = TcpListener::bind(("127.0.0.1", others)).await.unwrap();
    assert!(
        connect(&proxy, &format!("127.0.0.1:{others}"))
            .await
            .0
            .starts_with("HTTP/1.1 403")
    );
    drop(devtools);
    assert!(
        connect(&proxy, &format!("127.0.0.1:{others}"))
            .await
            .0
            .starts_with("HTTP/1.1 200")
    );
    drop(listener);
    proxy.close().await;
}

/// A resolver that gives these answers in turn, whatever it is asked.
fn answering(answers: &[&str]) -> Resolver {
    let answers: Vec<std::net::IpAddr> = answers.iter().map(|ip| ip.parse().unwrap()).collect();
    let asked = std::sync::Mutex::new(answers.into_iter());
    Resolver::new(move |_, port| {
        let ip = asked
            .lock()
            .unwrap()
            .next()
            .expect("it is asked once a request");
        async move { Ok(vec![SocketAddr::new(ip, port)]) }.boxed()
    })
}

#[tokio::test]
async fn a_name_that_comes_to_mean_another_address_is_checked_anew_and_asked_once() {
    let secret = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = secret.local_addr().unwrap().port();
    let limits = EgressLimits {
        connect: Duration::from_millis(50),
        ..EgressLimits::default()
    };
    // A public app; its neighbour and itself turn into this machine and into metadata.
    let turns = [
        "192.0.2.1",
        "127.0.0.1",
        "169.254.169.254",
        "::ffff:127.0.0.1",
    ];
    for host in ["other.test", "shop.test"] {
        let egress = Egress::new([], limits).resolving(answering(&turns));
        let app = narrowed("http://shop.test/", EgressPolicy::Open);
        let proxy = egress.open(app).await.unwrap();
        for turn in turns {
            let (head, _) = connect(&proxy, &format!("{host}:{port}")).await;
            let denied = head.starts_with("HTTP/1.1 403");
            assert_eq!(denied, turn != "192.0.2.1", "{host} as {turn}: {head}");
        }
        proxy.close().await;
    }
    let nobody = tokio::time::timeout(Duration::ZERO, secret.accept()).await;
    assert!(nobody.is_err(), "nobody came through");

    // A local app is reached at the one address that was checked.
    let turns = ["127.0.0.1", "169.254.169.254", "10.0.0.1"];
    let egress = Egress::new([], limits).resolving(answering(&turns));
    let app = narrowed("http://shop.test/", EgressPolicy::Open);
    let proxy = egress.open(app).await.unwrap();
    let to = format!("shop.test:{port}");
    assert!(connect(&proxy, &to).await.0.starts_with("HTTP/1.1 200"));
    soon("it came", secret.accept()).await.unwrap();
    for _ in 1..turns.len() {
        assert!(connect(&proxy, &to).await.0.starts_with("HTTP/1.1 403"));
    }
    proxy.close().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_with_a_reason_for_tunnels() {
    let proxy = open(&[]).await;
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let (head, mut client) = connect(&proxy, &gone.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    client.shutdown().await.unwrap();
    let reason = rest(&mut client).await;
    assert!(
        reason.contains(&format!("{gone} can't be reached: Connection refused")),
        "{reason}"
    );

    let (head, _) = connect(&proxy, "no-such-name.invalid:80").await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");

    let mut client = dial(&proxy).await;
    client
        .write_all(format!("GET http://{gone}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert_eq!(rest(&mut client).await, "");
    proxy.close().await;
}

#[tokio::test]
async fn a_server_that_never_accepts_does_not_hold_a_tunnel_for_long() {
    // A queue of one that is full: the kernel answers no further SYN.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let _queued = [
        TcpStream::connect(address).await.unwrap(),
        TcpStream::connect(address).await.unwrap(),
    ];

    let limits = EgressLimits {
        connect: Duration::from_millis(50),
        ..EgressLimits::default()
    };
    let proxy = Egress::new([], limits).open(local()).await.unwrap();
    let (head, _) = connect(&proxy, &address.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 504"), "{head}");
    proxy.close().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_let_go_with_the_context() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = open(&[]).await;
    let listens = proxy.address();
    let mut client = dial(&proxy).await;
    client
        .write_all(format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let (mut server, _) = soon("the proxy connects", listener.accept()).await.unwrap();
    assert!(head(&mut server).await.starts_with("GET / HTTP/1.1\r\n"));

    soon("the proxy closes", proxy.close()).await;
    assert_eq!(rest(&mut client).await, "");
    assert_eq!(rest(&mut server).await, "");
    assert!(
        TcpStream::connect(listens).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn connections_are_bounded_and_the_rest_waits() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            tokio::spawn(echo(client));
        }
    });
    let limits = EgressLimits {
        connections: 1,
        ..EgressLimits::default()
    };
    let proxy = Egress::new([], limits).open(local()).await.unwrap();
    let (_, mut first) = connect(&proxy, &address.to_string()).await;
    echoes(&mut first, "first").await;

    let mut second = dial(&proxy).await;
    second
        .write_all(format!("CONNECT {address} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    echoes(&mut first, "again").await;
    let mut byte = [0];
    assert!(
        second
            .try_read(&mut byte)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    );

    drop(first);
    assert!(head(&mut second).await.starts_with("HTTP/1.1 200"));
    proxy.close().await;
    server.abort();
}

#[tokio::test]
async fn what_is_not_for_a_proxy_is_refused_in_words() {
    let proxy = open(&[]).await;
    for request in [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET https://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        let mut client = dial(&proxy).await;
        client.write_all(request.as_bytes()).await.unwrap();
        assert!(
            head(&mut client).await.starts_with("HTTP/1.1 400"),
            "{request}"
        );
    }
    // A browser would take a server's 407 for ours, and ask for a password.
    let (address, _server) = server(|mut client| async move {
        client
            .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            .await
            .unwrap();
    })
    .await;
    let mut client = dial(&proxy).await;
    client
        .write_all(format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert_eq!(rest(&mut client).await, "");
    proxy.close().await;
}

/// A name that comes to point at this machine, asked for by the page of an app that is elsewhere.
#[tokio::test]
async fn a_name_that_resolves_into_this_machine_is_refused_under_every_policy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = under("http://192.0.2.1/", EgressPolicy::Open, &[]).await;
    let (head, mut client) = connect(&proxy, &format!("localhost:{port}")).await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let mut said = String::new();
    while !said.ends_with('\n') {
        said.push(char::from(
            soon("the reason", client.read_u8()).await.unwrap(),
        ));
    }
    assert!(said.contains("the app does not live there"), "{said}");
    let (head, _) = connect(&proxy, "169.254.169.254:80").await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let denials = proxy.denials().all();
    let told: Vec<_> = denials
        .iter()
        .map(|denial| (denial.guard.as_str(), denial.server.clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("egress.address", format!("localhost:{port}")),
            ("egress.address", "169.254.169.254:80".to_owned()),
        ]
    );
    proxy.close().await;
}

/// One connection to the proxy, kept open: what passed before opens no door for what follows.
#[tokio::test]
async fn each_request_of_a_connection_is_checked_anew() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let (app, _served) = server(move |mut client| async move {
        client.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let other = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let other = other.local_addr().unwrap();
    let proxy = under(&format!("http://{app}/"), EgressPolicy::List, &[]).await;
    let mut client = dial(&proxy).await;
    let ask = |to: SocketAddr| format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\n\r\n");
    client.write_all(ask(app).as_bytes()).await.unwrap();
    let answered = head(&mut client).await;
    assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    let mut body = [0; 2];
    client.read_exact(&mut body).await.unwrap();
    client.write_all(ask(other).as_bytes()).await.unwrap();
    assert_eq!(rest(&mut client).await, "");
    let denial = proxy.denials().all().pop().unwrap();
    assert_eq!(denial.server, other.to_string());
    assert!(denial.why.contains("policy `list`"), "{}", denial.why);
    proxy.close().await;
}
