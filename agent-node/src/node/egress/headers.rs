//! What a proxy takes off a message: the headers that are about a connection (RFC 9110 §7.6.1).

use hyper::HeaderMap;
use hyper::header::{self, HeaderName};

/// Removes them, and those that `Connection` names. An upgrade keeps the two that carry it.
pub(super) fn strip(headers: &mut HeaderMap, upgrade: bool) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !(upgrade && name == header::UPGRADE))
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in ["proxy-connection", "keep-alive"] {
        headers.remove(name);
    }
    for name in [
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRANSFER_ENCODING,
    ] {
        headers.remove(name);
    }
    if upgrade {
        headers.insert(
            header::CONNECTION,
            header::HeaderValue::from_static("upgrade"),
        );
    } else {
        headers.remove(header::CONNECTION);
        headers.remove(header::UPGRADE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(lines: &[(&str, &str)], upgrade: bool) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        strip(&mut headers, upgrade);
        let mut names: Vec<String> = headers.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    const LINES: &[(&str, &str)] = &[
        ("Connection", "X-Private, Upgrade"),
        ("Connection", "keep-alive"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"),
        ("Proxy-Authorization", "Basic aGk="),
        ("X-Private", "1"),
        ("Upgrade", "websocket"),
        ("Cookie", "a=b"),
    ];

    #[test]
    fn only_what_is_about_the_message_passes() {
        assert_eq!(stripped(LINES, false), ["cookie"]);
        assert_eq!(stripped(LINES, true), ["connection", "cookie", "upgrade"]);
    }
}
