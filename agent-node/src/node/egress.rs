//! The way out of a browser context: a forward proxy on loopback, one listener a context.
//!
//! It resolves names itself, checks every host by the context's [`Policy`], checks every address and
//! connects to the one it checked; each request anew, so redirects, popups, workers and sockets are
//! no way around. The denied ports of this machine (Muster's own listeners, the browsers' DevTools
//! ports, the proxies) pass under no policy. A request that reaches no server is a network error
//! to the page, as it would be without a proxy: CONNECT gets a status with the reason, any other
//! request gets no answer at all (an answer would look like the app's). What a policy denied is
//! kept in [`Denials`].
//!
//! Reading order: this file (doors and listeners), [`policy`], [`denied`], [`reach`], [`forward`]
//! (HTTP), [`headers`].

mod denied;
mod forward;
mod headers;
mod policy;
mod reach;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::harness::Denials;

pub use denied::DeniedPort;
use denied::DeniedPorts;
use forward::Door;
pub use policy::Policy;
pub use reach::Resolver;

/// Bounds of one context's proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressLimits {
    /// Most time for resolving a name and connecting.
    pub connect: Duration,
    /// Most connections at a time; more wait in the listener's backlog. Chromium opens at most 32
    /// to a proxy, and 255 WebSockets.
    pub connections: usize,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            connections: 320,
        }
    }
}

/// The node's egress: opens a proxy for each context.
#[derive(Clone, Debug)]
pub struct Egress {
    denied: DeniedPorts,
    limits: EgressLimits,
    resolver: Resolver,
}

impl Egress {
    /// `ports` of this machine pass under no policy.
    pub fn new(ports: impl IntoIterator<Item = u16>, limits: EgressLimits) -> Self {
        let denied = DeniedPorts::default();
        for port in ports {
            denied.deny_forever(port);
        }
        Self {
            denied,
            limits,
            resolver: Resolver::system(),
        }
    }

    /// With another way to find addresses.
    pub fn resolving(self, resolver: Resolver) -> Self {
        Self { resolver, ..self }
    }

    /// Denies the port of `address` if that is this machine's.
    pub fn deny_here(&self, address: SocketAddr) {
        if denied::is_this_machine(address.ip()) {
            self.denied.deny_forever(address.port());
        }
    }

    /// Denies one more port of this machine for as long as the answer lives.
    pub fn deny(&self, port: u16) -> DeniedPort {
        self.denied.deny(port)
    }

    /// Opens a proxy on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn open(&self, policy: Arc<Policy>) -> std::io::Result<EgressProxy> {
        let denials = Arc::new(Denials::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let door = Arc::new(Door {
            denied: self.denied.clone(),
            policy,
            resolver: self.resolver.clone(),
            denials: Arc::clone(&denials),
            connect: self.limits.connect,
            stop: stop.clone(),
            tasks: tasks.clone(),
        });
        tasks.spawn(listen(listener, self.limits.connections, door));
        tasks.close();
        Ok(EgressProxy {
            address,
            tasks,
            denials,
            _own_port: self.deny(address.port()),
            stop: stop.drop_guard(),
        })
    }
}

/// One context's proxy. Dropping it cuts its connections; [`EgressProxy::close`] waits for that.
#[derive(Debug)]
pub struct EgressProxy {
    address: SocketAddr,
    tasks: TaskTracker,
    denials: Arc<Denials>,
    stop: DropGuard,
    _own_port: DeniedPort,
}

impl EgressProxy {
    /// Its address as a browser takes it, e.g. `http://127.0.0.1:4567`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it denied.
    pub fn denials(&self) -> Arc<Denials> {
        Arc::clone(&self.denials)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts every connection and waits until the last is gone.
    pub async fn close(self) {
        drop(self.stop);
        self.tasks.wait().await;
    }
}

async fn listen(listener: TcpListener, connections: usize, door: Arc<Door>) {
    let free = Arc::new(Semaphore::new(connections));
    let accept = async {
        loop {
            let place = Arc::clone(&free).acquire_owned().await;
            let place = place.expect("the semaphore is never closed");
            match listener.accept().await {
                Ok((client, _)) => {
                    client.set_nodelay(true).ok();
                    let door = Arc::clone(&door);
                    let serving = forward::serve(client, Arc::clone(&door), Arc::new(place));
                    door.tasks.spawn(serving);
                }
                Err(error) => {
                    // A connection that was given up, or no descriptor is free.
                    tracing::warn!(%error, "the egress proxy could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    };
    door.stop.run_until_cancelled(accept).await;
}
