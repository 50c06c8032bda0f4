//! Addresses, as far as executors and recordings may know them, and where a goal may navigate.

use muster_proto::guard::Guard;
use url::Url;

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

/// The absolute address of a path on the app's site, or why it is none.
pub(super) fn on_site(path: &str, app: &Url) -> Result<Url, String> {
    if Guard::NavigateScheme.holds() && !path.starts_with('/') {
        return Err(format!(
            "{path:?} is not a path on the app's site; it must start with /"
        ));
    }
    match app.join(path) {
        Ok(url)
            if url.has_host() && Guard::NavigateSite.holds() && url.origin() != app.origin() =>
        {
            Err(format!("{path:?} leads away from the app's site"))
        }
        Ok(url) if url.has_host() || !Guard::NavigateScheme.holds() => Ok(url),
        Ok(_) => Err(format!("{path:?} leads away from the app's site")),
        Err(error) => Err(format!("{path:?} is not a path: {error}")),
    }
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
            "",
        ] {
            assert!(on_site(path, &app()).is_err(), "{path}");
        }
    }
}
