//! What the pages of one context may reach. Pure: it is asked before a name is resolved and again
//! for each address that the name has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use muster_proto::guard::Guard;
use muster_suite::config::{Egress, EgressPolicy};
use url::{Host, Url};

/// The policy of one context.
#[derive(Debug)]
pub struct Policy {
    kind: EgressPolicy,
    app: Place,
    allow: Vec<Rule>,
    /// Where the app lives, once that is known.
    home: OnceLock<Reach>,
}

#[derive(Debug)]
struct Place {
    /// Lower case, IPv6 without brackets.
    host: String,
    port: u16,
    /// Registrable domain; none for addresses and names without one.
    site: Option<String>,
}

/// One entry of `allow`.
#[derive(Debug)]
struct Rule {
    host: String,
    /// `*.domain`: any name below it.
    below: bool,
    port: Option<u16>,
}

/// How far an address reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// This machine.
    Loopback,
    /// Somebody's own network, of one of the ranges that are set apart for them; by its first
    /// address.
    Private(IpAddr),
    Public,
    /// Link-local, metadata, multicast, unspecified: nobody's app lives there.
    Never,
}

/// Why something may not be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) guard: Guard,
    pub(super) why: String,
}

impl Policy {
    /// The stricter of what the target asks for and of what the node demands.
    pub fn new(app: &Url, target: &Egress, at_most: EgressPolicy) -> Self {
        let host = bare(app.host_str().unwrap_or_default());
        let home = match app.host() {
            Some(Host::Ipv4(address)) => Some(reach(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => Some(reach(IpAddr::V6(address))),
            Some(Host::Domain(name)) if is_localhost(name) => Some(Reach::Loopback),
            Some(Host::Domain(_)) | None => None,
        };
        Self {
            kind: target.policy.max(at_most),
            app: Place {
                site: site(&host),
                port: app.port_or_known_default().unwrap_or(80),
                host,
            },
            allow: target.allow.iter().map(|rule| Rule::parse(rule)).collect(),
            home: home.map_or_else(OnceLock::new, OnceLock::from),
        }
    }

    /// The policy in force.
    pub fn kind(&self) -> EgressPolicy {
        self.kind
    }

    /// Whether a host may be reached at all, by its name.
    pub(super) fn host(&self, host: &str, port: u16) -> Result<(), Denied> {
        let host = host.to_ascii_lowercase();
        let allowed = match self.kind {
            EgressPolicy::Open => true,
            EgressPolicy::Site => self.is_app_host(&host) || self.same_site(&host),
            EgressPolicy::List => self.is_app_host(&host) && port == self.app.port,
        };
        if allowed || self.listed(&host, port) || !Guard::EgressPolicy.holds() {
            return Ok(());
        }
        Err(Denied {
            guard: Guard::EgressPolicy,
            why: format!(
                "the egress policy `{}` does not allow it; add it to the target's egress.allow if the app needs it",
                self.kind.as_str()
            ),
        })
    }

    /// Whether an address of that host may be reached.
    pub(super) fn address(&self, host: &str, port: u16, ip: IpAddr) -> Result<(), Denied> {
        let host = host.to_ascii_lowercase();
        let reach = reach(ip);
        let allowed = match reach {
            Reach::Public => true,
            Reach::Never => false,
            Reach::Loopback | Reach::Private(_) => {
                // A name of the app that is public today and private tomorrow is not the app.
                let home = match self.is_app_host(&host) {
                    true => self.home.get_or_init(|| reach),
                    false => self.home.get().unwrap_or(&Reach::Public),
                };
                *home == reach || self.listed(&host, port)
            }
        };
        if reach == Reach::Public && self.is_app_host(&host) {
            self.home.get_or_init(|| Reach::Public);
        }
        if allowed || !Guard::EgressAddress.holds() {
            return Ok(());
        }
        Err(Denied {
            guard: Guard::EgressAddress,
            why: match reach {
                Reach::Never => format!("{ip} is an address that no page reaches"),
                _ => format!("{ip} is private and the app does not live there"),
            },
        })
    }

    fn is_app_host(&self, host: &str) -> bool {
        host == self.app.host
    }

    fn same_site(&self, host: &str) -> bool {
        self.app.site.is_some() && site(host) == self.app.site
    }

    fn listed(&self, host: &str, port: u16) -> bool {
        self.allow.iter().any(|rule| rule.fits(host, port))
    }
}

impl Rule {
    /// Checked when the configuration was read.
    fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let (text, below) = match text.strip_prefix("*.") {
            Some(domain) => (domain.to_owned(), true),
            None => (text, false),
        };
        let bracketed = text.rfind(']').map_or(0, |end| end + 1);
        let (host, port) = match text[bracketed..].rsplit_once(':') {
            Some((_, port)) if bracketed > 0 || text.matches(':').count() == 1 => {
                (&text[..text.len() - port.len() - 1], port.parse().ok())
            }
            Some(_) | None => (text.as_str(), None),
        };
        Self {
            host: bare(host),
            below,
            port,
        }
    }

    fn fits(&self, host: &str, port: u16) -> bool {
        let named = match self.below {
            false => host == self.host,
            true => host
                .strip_suffix(self.host.as_str())
                .is_some_and(|rest| rest.ends_with('.')),
        };
        named && self.port.is_none_or(|only| only == port)
    }
}

/// The registrable domain by the public-suffix list.
fn site(host: &str) -> Option<String> {
    if host.parse::<IpAddr>().is_ok() {
        return None;
    }
    psl::domain_str(host).map(str::to_owned)
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn bare(host: &str) -> String {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase()
}

/// Cloud metadata beyond the link-local range: AWS over IPv6, Alibaba, Azure.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
const METADATA_V4: [Ipv4Addr; 2] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// RFC 6890 and its IPv6 kin.
fn reach(ip: IpAddr) -> Reach {
    match ip.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            if v4.is_loopback() {
                Reach::Loopback
            } else if METADATA_V4.contains(&v4)
                || (a, b, c) == (192, 0, 0)
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || a == 0
                || a >= 240
            {
                Reach::Never
            } else {
                let range = match (a, b) {
                    (10, _) => [10, 0, 0, 0],
                    (172, 16..32) => [172, 16, 0, 0],
                    (192, 168) => [192, 168, 0, 0],
                    (100, 64..128) => [100, 64, 0, 0],
                    (198, 18..20) => [198, 18, 0, 0],
                    _ => return Reach::Public,
                };
                Reach::Private(Ipv4Addr::from(range).into())
            }
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            if v6.is_loopback() {
                Reach::Loopback
            } else if v6 == METADATA_V6
                || v6.is_unspecified()
                || v6.is_multicast()
                || (first & 0xffc0) == 0xfe80
            {
                Reach::Never
            } else if (first & 0xfe00) == 0xfc00 {
                Reach::Private(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0).into())
            } else if (first & 0xffc0) == 0xfec0 {
                Reach::Private(Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0).into())
            } else if let Some(v4) = embedded(v6) {
                reach(IpAddr::V4(v4))
            } else {
                Reach::Public
            }
        }
    }
}

/// The IPv4 address inside a NAT64, 6to4 or IPv4-compatible one.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = v6.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0x64, 0xff9b, 0 | 1, _, _, _, high, low] | [0, 0, 0, 0, 0, 0, high, low] => {
            Some(v4(high, low))
        }
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(app: &str, kind: EgressPolicy, allow: &[&str]) -> Policy {
        let target = Egress {
            policy: kind,
            allow: allow.iter().map(|&rule| rule.to_owned()).collect(),
        };
        Policy::new(&Url::parse(app).unwrap(), &target, EgressPolicy::Open)
    }

    #[test]
    fn a_site_ends_at_the_public_suffix() {
        let policy = policy(
            "https://app.shop.co.uk/",
            EgressPolicy::Site,
            &["*.cdn.example", "pay.example:8443"],
        );
        for (host, port) in [
            ("app.shop.co.uk", 443),
            ("API.shop.co.uk", 8080),
            ("shop.co.uk", 80),
            ("a.b.cdn.example", 443),
            ("pay.example", 8443),
        ] {
            assert_eq!(policy.host(host, port), Ok(()), "{host}");
        }
        for (host, port) in [
            ("other.co.uk", 443),
            ("evilshop.co.uk", 443),
            ("cdn.example", 443),
            ("evilcdn.example", 443),
            ("pay.example", 443),
            ("10.0.0.1", 80),
        ] {
            let denied = policy.host(host, port).unwrap_err();
            assert_eq!(denied.guard, Guard::EgressPolicy, "{host}");
        }
    }

    #[test]
    fn neighbours_on_a_shared_suffix_are_strangers() {
        let policy = policy("https://mine.github.io/", EgressPolicy::Site, &[]);
        assert!(policy.host("mine.github.io", 443).is_ok());
        assert!(policy.host("yours.github.io", 443).is_err());
    }

    #[test]
    fn a_list_is_the_app_and_what_is_listed() {
        let policy = policy(
            "http://127.0.0.1:4000/",
            EgressPolicy::List,
            &["[::1]:9000"],
        );
        assert!(policy.host("127.0.0.1", 4000).is_ok());
        assert!(policy.host("::1", 9000).is_ok());
        for (host, port) in [("127.0.0.1", 4001), ("localhost", 4000), ("::1", 9001)] {
            assert!(policy.host(host, port).is_err(), "{host}:{port}");
        }
    }

    #[test]
    fn the_node_may_only_narrow() {
        let app = Url::parse("https://shop.example/").unwrap();
        let of = |target, at_most| {
            let target = Egress {
                policy: target,
                allow: Vec::new(),
            };
            Policy::new(&app, &target, at_most).kind()
        };
        assert_eq!(
            of(EgressPolicy::Open, EgressPolicy::Site),
            EgressPolicy::Site
        );
        assert_eq!(
            of(EgressPolicy::List, EgressPolicy::Site),
            EgressPolicy::List
        );
        assert_eq!(
            of(EgressPolicy::Open, EgressPolicy::Open),
            EgressPolicy::Open
        );
    }

    #[test]
    fn private_addresses_are_for_apps_that_live_there() {
        let at = |app: &str, host: &str, ip: &str| {
            policy(app, EgressPolicy::Open, &["intranet.example"])
                .address(host, 80, ip.parse().unwrap())
                .is_ok()
        };
        assert!(at(
            "https://shop.example/",
            "other.example",
            "93.184.216.34"
        ));
        for ip in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.9",
            "172.16.0.1",
            "100.64.0.1",
            "::1",
            "fd12::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::a00:1",
            "::10.0.0.1",
            "198.18.0.1",
        ] {
            assert!(!at("https://shop.example/", "rebound.example", ip), "{ip}");
        }
        assert!(at("http://127.0.0.1:4000/", "localhost", "::1"));
        assert!(at("http://10.0.0.5/", "10.0.0.6", "10.0.0.6"));
        assert!(!at("http://10.0.0.5/", "localhost", "127.0.0.1"));
        for elsewhere in ["192.168.0.9", "172.16.0.1", "100.64.0.1", "fd12::1"] {
            assert!(
                !at("http://10.0.0.5/", "x.example", elsewhere),
                "{elsewhere}"
            );
        }
        assert!(at("https://shop.example/", "intranet.example", "10.0.0.8"));
        for ip in [
            "169.254.169.254",
            "fd00:ec2::254",
            "0.0.0.0",
            "fe80::1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "224.0.0.1",
            "::ffff:169.254.169.254",
        ] {
            for app in [
                "https://shop.example/",
                "http://10.0.0.5/",
                "http://127.0.0.1:1/",
            ] {
                assert!(!at(app, "intranet.example", ip), "{app} {ip}");
            }
        }
    }

    #[test]
    fn an_app_that_moves_into_a_private_range_is_not_followed() {
        let policy = policy("https://shop.example/", EgressPolicy::Open, &[]);
        assert!(
            policy
                .address("shop.example", 443, "93.184.216.34".parse().unwrap())
                .is_ok()
        );
        assert!(
            policy
                .address("shop.example", 443, "127.0.0.1".parse().unwrap())
                .is_err()
        );
        // One that was private from the start lives there.
        let inside = self::policy("https://shop.internal/", EgressPolicy::Open, &[]);
        assert!(
            inside
                .address("shop.internal", 443, "10.0.0.7".parse().unwrap())
                .is_ok()
        );
        assert!(
            inside
                .address("other.internal", 443, "10.0.0.8".parse().unwrap())
                .is_ok()
        );
        assert!(
            inside
                .address("other.internal", 443, "127.0.0.1".parse().unwrap())
                .is_err()
        );
    }
}
