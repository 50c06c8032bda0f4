//! The JavaScript half of the worker: the module `muster` and what it is made of.

use crate::resolve::BUILTIN;

/// The module that the worker talks to.
pub(crate) const KERNEL: &str = "muster:kernel";

macro_rules! modules {
    ($($name:literal)*) => {
        &[$((concat!("muster:", $name), include_str!(concat!("prelude/", $name, ".js")))),*]
    };
}

/// Modules that only each other may import.
const INTERNAL: &[(&str, &str)] = modules!(
    "agent" "ambient" "args" "clone" "elements" "equal" "errors" "expect" "fixtures" "host" "inspect" "kernel"
    "locator" "registry" "rejections" "runner" "secrets" "state" "step" "text" "timers" "unique" "url" "values"
);

/// What the module `muster` exports; a story compares it with the interpreter's word.
pub(crate) const EXPORTS: &[&str] = &[
    "MusterError",
    "afterAll",
    "afterEach",
    "beforeAll",
    "beforeEach",
    "describe",
    "expect",
    "secrets",
    "test",
    "unique",
];

/// The source of a prelude module.
pub(crate) fn source(name: &str) -> Option<&'static str> {
    if name == BUILTIN {
        return Some(include_str!("prelude/muster.js"));
    }
    INTERNAL
        .iter()
        .find(|(module, _)| *module == name)
        .map(|(_, source)| *source)
}

/// Whether a module may import internal ones.
pub(crate) fn is_internal(name: &str) -> bool {
    source(name).is_some()
}
