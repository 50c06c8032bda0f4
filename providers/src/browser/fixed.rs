//! A browser that somebody else runs, at a DevTools address.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use url::{Host, Url};

use super::devtools::{self, NoVersion};
use super::{BrowserError, BrowserLease, BrowserProvider, Limits};

/// The id of the one lease.
const ID: &str = "fixed";

/// One browser at a fixed address. Releasing it leaves it running: whoever leased it closes the
/// contexts that it opened.
#[derive(Debug)]
pub struct FixedBrowser {
    /// As configured; may hold credentials.
    address: Url,
    out: Mutex<Option<BrowserLease>>,
}

impl FixedBrowser {
    /// `address` is `http://host:port` (the browser is asked for its WebSocket address) or
    /// `ws://host:port/devtools/browser/…` (used as it stands), or the same over TLS.
    ///
    /// # Errors
    /// If it is not such an address.
    pub fn new(address: &str) -> Result<Self, BrowserError> {
        let bad = |reason: &str| BrowserError::Unreachable {
            address: "browser.cdp-url".to_owned(),
            reason: reason.to_owned(),
        };
        let address = Url::parse(address).map_err(|error| bad(&error.to_string()))?;
        if !matches!(address.scheme(), "http" | "https" | "ws" | "wss") || address.host().is_none()
        {
            return Err(bad(
                "it must be an http://, https://, ws:// or wss:// address",
            ));
        }
        Ok(Self {
            address,
            out: Mutex::new(None),
        })
    }

    fn unreachable(&self, reason: impl Into<String>) -> BrowserError {
        BrowserError::Unreachable {
            address: self.shown(),
            reason: reason.into(),
        }
    }

    /// The address without credentials, path and query.
    fn shown(&self) -> String {
        self.address[..url::Position::BeforeUsername].to_owned()
            + &self.address[url::Position::BeforeHost..url::Position::AfterPort]
    }

    /// Whether its host is this machine, as far as the address tells.
    fn local(&self) -> bool {
        match self.address.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        }
    }

    /// The address with its host as an IP: Chromium serves DevTools to no other host name, as a
    /// guard against rebinding. TLS needs the name, and then there is something before Chromium.
    async fn resolved(&self) -> Result<Url, BrowserError> {
        let mut address = self.address.clone();
        if let Some(Host::Domain(name)) = self.address.host()
            && matches!(self.address.scheme(), "http" | "ws")
            && name != "localhost"
        {
            let found = tokio::net::lookup_host((name, 0))
                .await
                .map_err(|error| self.unreachable(error.to_string()))?;
            let ips: Vec<IpAddr> = found.map(|socket| socket.ip()).collect();
            let ip = ips.iter().find(|ip| ip.is_ipv4()).or(ips.first());
            let ip = ip.ok_or_else(|| self.unreachable("its name has no address"))?;
            address
                .set_ip_host(*ip)
                .map_err(|()| self.unreachable("its name has no usable address"))?;
        }
        Ok(address)
    }

    async fn find(&self) -> Result<BrowserLease, BrowserError> {
        let address = self.resolved().await?;
        let secure = matches!(address.scheme(), "https" | "wss");
        let mut base = address.clone();
        let mut ws = address.clone();
        // These schemes are all special, so that one may become another.
        base.set_scheme(if secure { "https" } else { "http" })
            .expect("a special scheme");
        ws.set_scheme(if secure { "wss" } else { "ws" })
            .expect("a special scheme");
        let named = matches!(address.scheme(), "ws" | "wss") && address.path() != "/";

        let product = match devtools::version(&base).await {
            Ok(version) => {
                if !named {
                    let told = Url::parse(&version.ws_url)
                        .map_err(|error| self.unreachable(error.to_string()))?;
                    ws.set_path(told.path());
                }
                version.product
            }
            // A vendor's endpoint need not have that page.
            Err(NoVersion::NotTold(_)) if named => "unknown".to_owned(),
            Err(error) => return Err(self.unreachable(error.to_string())),
        };
        Ok(BrowserLease {
            id: ID.to_owned(),
            ws_url: ws.to_string(),
            product,
            pid: None,
        })
    }
}

#[async_trait]
impl BrowserProvider for FixedBrowser {
    fn name(&self) -> &'static str {
        "fixed"
    }

    /// A node's proxy listens on loopback, so that only a browser of this machine can use it.
    fn limits(&self) -> Limits {
        Limits {
            browsers: 1,
            egress: self.local(),
        }
    }

    async fn acquire(&self, deadline: Duration) -> Result<BrowserLease, BrowserError> {
        let found = timeout(deadline, self.find()).await;
        let lease = found.map_err(|_| {
            self.unreachable(format!("no answer within {} ms", deadline.as_millis()))
        })??;
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.is_some() {
            return Err(BrowserError::Exhausted { limit: 1 });
        }
        *out = Some(lease.clone());
        Ok(lease)
    }

    async fn status(&self, id: &str) -> Result<bool, BrowserError> {
        let leased = self.list().await.iter().any(|lease| lease.id == id);
        Ok(leased
            && matches!(
                timeout(Duration::from_secs(5), self.find()).await,
                Ok(Ok(_))
            ))
    }

    async fn list(&self) -> Vec<BrowserLease> {
        self.out
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }

    async fn release(&self, id: &str) -> Result<(), BrowserError> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.take_if(|lease| lease.id == id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_browser_of_this_machine_can_use_the_nodes_proxy() {
        for (address, egress) in [
            ("http://127.0.0.1:9222", true),
            ("http://localhost:9222", true),
            ("ws://[::1]:9222/devtools/browser/x", true),
            ("http://10.1.2.3:9222", false),
            ("wss://grid.example.com/session", false),
        ] {
            assert_eq!(
                FixedBrowser::new(address).unwrap().limits().egress,
                egress,
                "{address}"
            );
        }
    }

    #[test]
    fn what_is_not_an_address_is_refused_and_credentials_are_never_shown() {
        let error = FixedBrowser::new("file:///etc/passwd").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("browser.cdp-url: it must be an http://"),
            "{error}"
        );
        let browser =
            FixedBrowser::new("wss://me:hunter22@grid.example.com:4444/s?token=hunter22").unwrap();
        assert_eq!(
            browser.unreachable("refused").to_string(),
            "no browser answers at wss://grid.example.com:4444: refused"
        );
    }
}
