//! Addresses, as far as executors and recordings may know them, and where a goal may navigate.

use muster_proto::guard::Guard;
use url::{Position, Url};

use super::Denied;
use super::authorize::refused;

/// The address without the app's own origin, else as it stands.
pub(super) fn without_origin(address: &str, app: &Url) -> String {
    match Url::parse(address) {
        Ok(url) if url.has_host() && url.origin() == app.origin() => {
            url[Position::BeforePath..].to_owned()
        }
        _ => address.to_owned(),
    }
}

/// The address without what changes between machines: the app's own origin, credentials, the
/// order of its query, and a fragment that doesn't route (`#/…`, `#!/…` do).
pub(super) fn cut(address: &str, app: &Url) -> String {
    let Ok(url) = Url::parse(address) else {
        return address.to_owned();
    };
    if !url.has_host() {
        return address.to_owned();
    }
    let mut cut = String::new();
    if url.origin() != app.origin() {
        cut.push_str(&url.origin().ascii_serialization());
    }
    cut.push_str(url.path());
    let mut terms: Vec<&str> = url
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|term| !term.is_empty())
        .collect();
    terms.sort_unstable();
    if !terms.is_empty() {
        cut.push('?');
        cut.push_str(&terms.join("&"));
    }
    if let Some(fragment) = url
        .fragment()
        .filter(|fragment| fragment.starts_with('/') || fragment.starts_with("!/"))
    {
        cut.push('#');
        cut.push_str(fragment);
    }
    cut
}

/// The origin of a [`cut`] address: the app's own where it has none.
pub(super) fn origin(location: &str, app: &Url) -> String {
    let origin = match Url::parse(location) {
        Ok(url) => url.origin(),
        Err(_) => app.origin(),
    };
    origin.ascii_serialization()
}

/// The absolute address of a path on the app's site, or why it is none.
pub(super) fn on_site(path: &str, app: &Url) -> Result<Url, Denied> {
    let scheme = |why: String| Err(refused(Guard::NavigateScheme, format!("{path:?} {why}")));
    let url = match app.join(path) {
        Ok(url) => url,
        Err(error) => return scheme(format!("is not a path: {error}")),
    };
    let web = web(&url);
    if Guard::NavigateScheme.holds() && (!path.starts_with('/') || !web) {
        return scheme("is not a path on the app's site; it must start with /".to_owned());
    }
    if Guard::NavigateSite.holds() && web && url.origin() != app.origin() {
        return Err(refused(
            Guard::NavigateSite,
            format!("{path:?} leads away from the app's site"),
        ));
    }
    Ok(url)
}

/// The absolute address that a test's own step may go to; a relative one resolves on the app's.
pub(super) fn anywhere(url: Url) -> Result<Url, Denied> {
    let blank = url.as_str() == "about:blank";
    if Guard::NavigateScheme.holds() && !blank && !web(&url) {
        return Err(refused(
            Guard::NavigateScheme,
            format!(
                "going to a {}: address is refused; only http, https and about:blank are allowed",
                url.scheme()
            ),
        ));
    }
    Ok(url)
}

fn web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> Url {
        Url::parse("http://127.0.0.1:4000/").unwrap()
    }

    #[test]
    fn an_address_loses_what_differs_between_machines() {
        for (address, expected) in [
            ("http://127.0.0.1:4000/", "/"),
            ("http://127.0.0.1:4000/cart?b=2&a=1", "/cart?a=1&b=2"),
            ("http://127.0.0.1:4000/docs#intro", "/docs"),
            ("http://127.0.0.1:4000/app#/orders/7", "/app#/orders/7"),
            ("http://127.0.0.1:4000/app#!/orders", "/app#!/orders"),
            ("http://127.0.0.1:4001/cart", "http://127.0.0.1:4001/cart"),
            ("https://user:word@pay.test/x?", "https://pay.test/x"),
            ("about:blank", "about:blank"),
        ] {
            assert_eq!(cut(address, &app()), expected, "{address}");
        }
    }

    #[test]
    fn navigation_stays_on_the_site() {
        assert_eq!(
            on_site("/cart?a=1", &app()).unwrap().as_str(),
            "http://127.0.0.1:4000/cart?a=1"
        );
        for path in [
            "cart",
            "http://evil.test/",
            "//evil.test/",
            "/\\evil.test/",
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "java\nscript:alert(1)",
            "%6aavascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "blob:http://127.0.0.1:4000/1",
            "chrome://version",
            "view-source:http://127.0.0.1:4000/",
            "\t//evil.test/",
            "",
        ] {
            assert!(on_site(path, &app()).is_err(), "{path}");
        }
    }
}
