//! Where a screen is, without what is minted: the part of an address by which two runs are alike.

use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use regex::Regex;

use super::template::OPEN;
use super::volatile::minted_word;
use super::wording::Wording;

/// What stands for a minted segment or value.
const MINTED: &str = ":id";

/// The route of an observation's location: path segments and sorted query terms, minted-looking
/// ones as `:id`. A foreign origin stays; a fragment counts only if it routes (`#/`, `#!/`).
pub fn route(location: &str) -> String {
    stored_route(location, &Wording::default())
}

/// [`route`] with slots for `unique()` values, which are never taken for minted ones.
pub(super) fn stored_route(location: &str, wording: &Wording) -> String {
    let word = |raw: &str, minted: fn(&str) -> bool| match wording.slotted(raw) {
        Some(stored) if stored.contains(OPEN) => stored,
        _ if minted(raw) => MINTED.to_owned(),
        _ => raw.to_owned(),
    };
    let parts = Parts::of(location);
    let mut query: Vec<String> = parts
        .query
        .iter()
        .map(|(key, value)| match value {
            Some(value) => format!("{key}={}", word(value, value_rule(key))),
            None => (*key).to_owned(),
        })
        .collect();
    query.sort_unstable();

    let path: Vec<String> = parts
        .path
        .iter()
        .map(|raw| word(raw, minted_segment))
        .collect();
    let mut out = format!("{}{}", parts.origin, path.join("/"));
    if !query.is_empty() {
        out.push('?');
        out.push_str(&query.join("&"));
    }
    if let Some(fragment) = parts.fragment {
        out.push('#');
        out.push_str(&stored_route(fragment, wording));
    }
    out
}

/// Whether a live location is on a recorded route. `:id` stands for one minted-looking part; all
/// else is equal to the letter, minted-looking or not.
pub fn on_route(recorded: &str, location: &str) -> bool {
    let (want, live) = (Parts::of(recorded), Parts::of(location));
    let fits = |want: &str, live: &str, minted: fn(&str) -> bool| {
        want == live || (want == MINTED && minted(live))
    };
    let path = want.origin == live.origin
        && want.path.len() == live.path.len()
        && want
            .path
            .iter()
            .zip(&live.path)
            .all(|(want, live)| fits(want, live, minted_segment));

    let mut left = live.query;
    // Exact terms first, so that `:id` takes none that another term needs.
    let mut terms = want.query;
    terms.sort_by_key(|(_, value)| *value == Some(MINTED));
    let query = terms.len() == left.len()
        && terms.into_iter().all(|(key, value)| {
            let found = left.iter().position(|(name, live)| {
                *name == key
                    && match (value, live) {
                        (None, None) => true,
                        (Some(value), Some(live)) => fits(value, live, value_rule(key)),
                        _ => false,
                    }
            });
            found.map(|index| left.swap_remove(index)).is_some()
        });

    path && query
        && match (want.fragment, live.fragment) {
            (None, None) => true,
            (Some(want), Some(live)) => on_route(want, live),
            _ => false,
        }
}

struct Parts<'a> {
    /// Scheme and authority; empty = the app's own.
    origin: &'a str,
    path: Vec<&'a str>,
    query: Vec<(&'a str, Option<&'a str>)>,
    fragment: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(location: &'a str) -> Self {
        let (rest, fragment) = match location.split_once('#') {
            Some((rest, fragment)) => (rest, Some(fragment)),
            None => (location, None),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let origin_end = match rest.find("://") {
            Some(at) => rest[at + 3..]
                .find('/')
                .map_or(rest.len(), |slash| at + 3 + slash),
            None => 0,
        };
        let (origin, path) = rest.split_at(origin_end);
        // `/cart/` and `/cart` are one route; so are `` and `/`.
        let path = path.strip_suffix('/').unwrap_or(path);
        let path = if path.is_empty() {
            vec!["", ""]
        } else {
            path.split('/').collect()
        };
        Self {
            origin,
            path,
            query: query
                .split('&')
                .filter(|term| !term.is_empty())
                .map(|term| match term.split_once('=') {
                    Some((key, value)) => (key, Some(value)),
                    None => (term, None),
                })
                .collect(),
            fragment: fragment.filter(|text| text.starts_with('/') || text.starts_with("!/")),
        }
    }
}

/// The rule for a query value: `id=7` names a record, `page=7` a screen.
fn value_rule(key: &str) -> fn(&str) -> bool {
    let names_record = key == "id" || ["_id", "-id", "Id"].iter().any(|end| key.ends_with(end));
    if names_record {
        minted_segment
    } else {
        minted_value
    }
}

/// All digits, minted words, or white space in it (titles as segments).
fn minted_segment(raw: &str) -> bool {
    let text = percent_decode_str(raw).decode_utf8_lossy();
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        || minted_word_or_mixed(&text)
        || text.contains(char::is_whitespace)
}

/// A minted segment but for white space (a search has words), a date or a signed token.
fn minted_value(raw: &str) -> bool {
    static DATE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-][\d:]+)?)?$")
            .expect("the pattern is constant")
    });
    static SIGNED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[A-Za-z0-9_+/=-]{8,}(?:[.:][A-Za-z0-9_+/=-]{6,}){1,3}$")
            .expect("the pattern is constant")
    });
    let text = percent_decode_str(raw).decode_utf8_lossy();
    minted_word_or_mixed(&text)
        || DATE.is_match(&text)
        || (SIGNED.is_match(&text) && text.bytes().any(|b| b.is_ascii_digit()))
}

fn minted_word_or_mixed(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && minted_word(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn minted_parts_are_left_out() {
        for (location, want) in [
            ("/", "/"),
            ("", "/"),
            ("/cart/", "/cart"),
            ("/orders/42", "/orders/:id"),
            ("/orders/ORD-4F7K2/items", "/orders/:id/items"),
            ("/u/3f2c1a9e-0d4b-4c55-9a77-1f2e3d4c5b6a", "/u/:id"),
            ("/p/deadbeef01", "/p/:id"),
            ("/p/blue-mug", "/p/blue-mug"),
            ("/docs/Quarterly%20report", "/docs/:id"),
            ("/s?q=blue%20mug&page=2", "/s?page=2&q=blue%20mug"),
            ("/s?b=1&a=2024-05-01", "/s?a=:id&b=1"),
            (
                "/s?token=eyJhbGciOi1.eyJzdWIiOjF9.c2lnbmF0dXJl",
                "/s?token=:id",
            ),
            ("/s?orderId=7&page=7", "/s?orderId=:id&page=7"),
            ("/app#top", "/app"),
            ("/app#/orders/42?tab=1", "/app#/orders/:id?tab=1"),
            ("https://pay.test/pay/42", "https://pay.test/pay/:id"),
        ] {
            assert_eq!(route(location), want, "{location}");
            assert!(on_route(want, location), "{location} is on {want}");
            assert_eq!(route(want), want, "a route is its own route");
        }
    }

    #[test]
    fn another_screen_is_another_route() {
        for (recorded, live) in [
            ("/cart", "/checkout"),
            ("/orders/:id", "/orders/new"),
            ("/orders/:id", "/orders"),
            ("/s?q=mug", "/s?q=cup"),
            ("/s?q=mug", "/s"),
            ("/s", "/s?q=mug"),
            ("/s?a=:id&a=1", "/s?a=1&a=x"),
            ("/app#/a", "/app#/b"),
            ("/app#/a", "/app"),
            ("/pay", "https://evil.test/pay"),
        ] {
            assert!(!on_route(recorded, live), "{live} is not on {recorded}");
        }
        assert!(on_route(
            "/s?a=:id&a=2024-05-01",
            "/s?a=2024-05-01&a=2025-01-02"
        ));
    }

    #[test]
    fn a_unique_value_is_a_slot_whether_it_looks_minted_or_not() {
        let unique = ["/n".to_owned()];
        let minted = Wording::new("", &json!({ "n": "Team 81f3c2d9e0" }), &unique).unwrap();
        let stored = stored_route("/teams/team-81f3c2d9e0?q=Team+81f3c2d9e0", &minted);
        assert_eq!(stored, "/teams/{{/n|slug}}?q={{/n|form}}");
        let plain = Wording::new("", &json!({ "n": "Team abcdef" }), &unique).unwrap();
        let expanded = plain.template().expand(&stored).unwrap();
        assert!(on_route(&expanded, "/teams/team-abcdef?q=Team+abcdef"));
        assert!(!on_route(&expanded, "/teams/team-other?q=Team+abcdef"));
    }
}
