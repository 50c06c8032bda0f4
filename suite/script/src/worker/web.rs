//! The native half of URL, URLSearchParams and the text codecs.

use rquickjs::prelude::{Func, Opt};
use rquickjs::{Ctx, Object, TypedArray};
use serde_json::json;
use url::{Url, form_urlencoded, quirks};

/// Adds `url`, `setUrl`, `query`, `toQuery`, `encode` and `decode` to the native object.
pub(super) fn install(object: &Object<'_>) -> rquickjs::Result<()> {
    object.set(
        "url",
        Func::from(|text: String, base: Opt<Option<String>>| {
            parse(&text, base.0.flatten().as_deref())
        }),
    )?;
    object.set(
        "setUrl",
        Func::from(|href: String, part: String, value: String| set(&href, &part, &value)),
    )?;
    object.set("query", Func::from(|query: String| pairs(&query)))?;
    object.set("toQuery", Func::from(|pairs: String| query(&pairs)))?;
    object.set("encode", Func::from(encode))?;
    object.set("decode", Func::from(decode))
}

fn parse(text: &str, base: Option<&str>) -> Option<String> {
    let url = match base {
        Some(base) => Url::parse(base).ok()?.join(text).ok()?,
        None => Url::parse(text).ok()?,
    };
    Some(parts(&url))
}

fn parts(url: &Url) -> String {
    json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}

/// As a setter of the URL interface: what doesn't fit changes nothing.
fn set(href: &str, part: &str, value: &str) -> Option<String> {
    let mut url = Url::parse(href).ok()?;
    let set: fn(&mut Url, &str) -> Result<(), ()> = match part {
        "protocol" => quirks::set_protocol,
        "username" => quirks::set_username,
        "password" => quirks::set_password,
        "host" => quirks::set_host,
        "hostname" => quirks::set_hostname,
        "port" => quirks::set_port,
        "pathname" => |url, value| {
            quirks::set_pathname(url, value);
            Ok(())
        },
        "search" => |url, value| {
            quirks::set_search(url, value);
            Ok(())
        },
        "hash" => |url, value| {
            quirks::set_hash(url, value);
            Ok(())
        },
        _ => return None,
    };
    // The interface ignores values that don't fit.
    let _ = set(&mut url, value);
    Some(parts(&url))
}

fn pairs(query: &str) -> String {
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    json!(pairs).to_string()
}

fn query(pairs: &str) -> String {
    let pairs: Vec<(String, String)> = serde_json::from_str(pairs).unwrap_or_default();
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

fn encode<'js>(ctx: Ctx<'js>, text: String) -> rquickjs::Result<TypedArray<'js, u8>> {
    TypedArray::new(ctx, text.into_bytes())
}

/// A list of numbers: a view of the interpreter's memory could change while it is read.
fn decode(bytes: Vec<u8>, fatal: bool) -> Option<String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if fatal {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    } else {
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
