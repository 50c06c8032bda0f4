//! The injected script: how its files become one, and how it is called and answers.

use serde::Deserialize;
use serde_json::Value;

/// The files in order of use; they share one scope.
const FILES: [&str; 12] = [
    include_str!("../script/text.js"),
    include_str!("../script/tree.js"),
    include_str!("../script/roles.js"),
    include_str!("../script/names.js"),
    include_str!("../script/states.js"),
    include_str!("../script/node.js"),
    include_str!("../script/snapshot.js"),
    include_str!("../script/locate.js"),
    include_str!("../script/act.js"),
    include_str!("../script/sink.js"),
    include_str!("../script/mask.js"),
    include_str!("../script/door.js"),
];

/// The expression that installs the script in a world under the global name `key` and yields
/// `true`. The page's own scripts live in another world and never see it.
pub(super) fn install(key: &str) -> String {
    let size = FILES.iter().map(|file| file.len()).sum::<usize>();
    let mut source = String::with_capacity(size + 128);
    source.push_str("globalThis[\"");
    source.push_str(key);
    source.push_str("\"] = (() => {\n\"use strict\";\n");
    for file in FILES {
        source.push_str(file);
    }
    source.push_str("})();\ntrue");
    source
}

/// The function that is called for every request; it yields `null` where the script is absent,
/// e.g. when a context's number came to mean another context.
pub(super) const CALL: &str = "function (key, call, args, from) { const door = globalThis[key]; return door ? door(call, args, from) : null; }";

/// The function that yields the element of an id itself, or `null`.
pub(super) const ELEMENT: &str =
    "function (key, id) { const door = globalThis[key]; return door ? door.element(id) : null; }";

/// What the script answers.
#[derive(Deserialize)]
pub(super) struct Answer<T> {
    /// The lowest id that is free now.
    pub(super) next: u64,
    /// The call's own answer.
    #[serde(default = "Option::default")]
    pub(super) answer: Option<T>,
    /// The caller's fault, in words.
    #[serde(default)]
    pub(super) invalid: Option<String>,
}

/// The text of a script exception, without the browser's decoration.
pub(super) fn exception(details: &Value) -> String {
    let thrown = details
        .pointer("/exception/description")
        .and_then(Value::as_str);
    let text = thrown
        .or_else(|| details.get("text").and_then(Value::as_str))
        .unwrap_or("unknown exception");
    text.lines().next().unwrap_or_default().to_owned()
}
