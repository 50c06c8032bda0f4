//! A shop on a free port, and visitors who keep their cookie and follow redirects.

use std::net::{Ipv4Addr, SocketAddr};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, header};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use muster_shop::{Bug, Shop, ShopOptions};
use tokio::sync::oneshot;

/// A serving shop. It stops when this is dropped.
pub(crate) struct Running {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

pub(crate) async fn bind(
    listen: SocketAddr,
    bugs: &[Bug],
    seed: Option<u64>,
) -> std::io::Result<Shop> {
    Shop::bind(ShopOptions {
        listen,
        bugs: bugs.iter().copied().collect(),
        seed,
    })
    .await
}

impl Running {
    pub(crate) async fn start(bugs: &[Bug], seed: Option<u64>) -> Self {
        let shop = bind((Ipv4Addr::LOCALHOST, 0).into(), bugs, seed)
            .await
            .unwrap();
        let address = shop.address();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(shop.serve(async {
            stopped.await.ok();
        }));
        Self {
            address,
            _stop: stop,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn visitor(&self) -> Visitor {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Visitor {
            address: self.address,
            client,
            cookie: None,
        }
    }
}

pub(crate) struct Visitor {
    address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    cookie: Option<String>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Visitor {
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path.to_owned(), Bytes::new()).await
    }

    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.send(Method::POST, path.to_owned(), form.into()).await
    }

    async fn send(&mut self, mut method: Method, mut path: String, mut body: Bytes) -> Answer {
        for _ in 0..5 {
            let mut request = Request::builder()
                .method(method)
                .uri(format!("http://{}{path}", self.address))
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            if let Some(cookie) = &self.cookie {
                request = request.header(header::COOKIE, cookie);
            }
            let response = self
                .client
                .request(request.body(Full::new(body)).unwrap())
                .await
                .unwrap();
            if let Some(cookie) = response.headers().get(header::SET_COOKIE) {
                let cookie = cookie.to_str().unwrap();
                self.cookie = cookie.split(';').next().map(str::to_owned);
            }
            if let Some(location) = response.headers().get(header::LOCATION) {
                (method, body) = (Method::GET, Bytes::new());
                path = location.to_str().unwrap().to_owned();
                continue;
            }
            let status = response.status().as_u16();
            let text = response.into_body().collect().await.unwrap().to_bytes();
            return Answer {
                status,
                text: String::from_utf8(text.to_vec()).unwrap(),
            };
        }
        panic!("{path} redirects without end");
    }
}
