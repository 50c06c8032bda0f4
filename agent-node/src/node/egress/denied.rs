//! Ports of this machine that no page may reach.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Denied ports, each with how often it is denied. Clones are the same set.
#[derive(Clone, Debug, Default)]
pub(super) struct DeniedPorts {
    ports: Arc<Mutex<BTreeMap<u16, u32>>>,
}

/// A port that is denied for as long as this lives.
#[derive(Debug)]
pub struct DeniedPort {
    port: u16,
    set: DeniedPorts,
}

impl DeniedPorts {
    pub(super) fn deny_forever(&self, port: u16) {
        *self.ports().entry(port).or_default() += 1;
    }

    pub(super) fn deny(&self, port: u16) -> DeniedPort {
        self.deny_forever(port);
        DeniedPort {
            port,
            set: self.clone(),
        }
    }

    /// Whether `address` is a denied port of this machine, by whatever name or address.
    pub(super) fn denies(&self, address: SocketAddr) -> bool {
        self.ports().contains_key(&address.port()) && is_this_machine(address.ip())
    }

    fn ports(&self) -> MutexGuard<'_, BTreeMap<u16, u32>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DeniedPort {
    fn drop(&mut self) {
        let mut ports = self.set.ports();
        if let Some(count) = ports.get_mut(&self.port) {
            *count -= 1;
            if *count == 0 {
                ports.remove(&self.port);
            }
        }
    }
}

/// Only an address of this machine can be bound; that holds for loopback, the unspecified address
/// and every interface, and asks no list that may be out of date. Where nothing can be bound
/// (no descriptors left) the answer is the safe one.
pub(super) fn is_this_machine(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    match UdpSocket::bind((ip, 0)) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::AddrNotAvailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_port_is_denied_by_every_address_of_this_machine_and_no_other() {
        let denied = DeniedPorts::default();
        let port = denied.deny(7001);
        for address in [
            "127.0.0.1:7001",
            "127.9.9.9:7001",
            "0.0.0.0:7001",
            "[::1]:7001",
            "[::]:7001",
            "[::ffff:127.0.0.1]:7001",
        ] {
            assert!(denied.denies(address.parse().unwrap()), "{address}");
        }
        assert!(!denied.denies("127.0.0.1:7002".parse().unwrap()));
        // RFC 5737: an address of documentation is nobody's.
        assert!(!denied.denies("192.0.2.1:7001".parse().unwrap()));
        drop(port);
        assert!(!denied.denies("127.0.0.1:7001".parse().unwrap()));
    }

    #[test]
    fn a_port_denied_twice_stays_denied_until_both_let_go() {
        let denied = DeniedPorts::default();
        let address = "127.0.0.1:7001".parse().unwrap();
        let (first, second) = (denied.deny(7001), denied.deny(7001));
        drop(first);
        assert!(denied.denies(address));
        drop(second);
        assert!(!denied.denies(address));
    }
}
