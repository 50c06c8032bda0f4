//! The grammar of keys: modifiers joined by `+` with a named key or one printable character.

const MODIFIERS: [&str; 5] = ["Shift", "Control", "Alt", "Meta", "ControlOrMeta"];

const NAMED: [&str; 27] = [
    "Enter",
    "Escape",
    "Tab",
    "Backspace",
    "Delete",
    "Insert",
    "Space",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
];

/// Says what is wrong with a key, or nothing.
pub(super) fn check(key: &str) -> Result<(), String> {
    let mut rest = key;
    let mut seen: Vec<&str> = Vec::new();
    while let Some((modifier, after)) = rest
        .split_once('+')
        .filter(|(modifier, _)| MODIFIERS.contains(modifier))
    {
        if seen.contains(&modifier) {
            return Err(format!("key {key:?} names {modifier} twice"));
        }
        seen.push(modifier);
        rest = after;
    }
    let mut chars = rest.chars();
    let single = chars.next().is_some_and(|char| !char.is_control()) && chars.next().is_none();
    if single || NAMED.contains(&rest) {
        return Ok(());
    }
    Err(format!(
        "{key:?} is no key; use one character or one of {}, with {} and + in front",
        NAMED.join(" "),
        MODIFIERS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn keys_are_named_or_single_characters() {
        for key in [
            "Enter",
            "a",
            "é",
            "+",
            "Control+A",
            "Control++",
            "ControlOrMeta+Shift+z",
            "F12",
            "Shift+ArrowUp",
            " ",
        ] {
            assert_eq!(check(key), Ok(()), "{key}");
        }
        for key in [
            "",
            "enter",
            "ab",
            "Ctrl+A",
            "Control+",
            "Control+Control+A",
            "F13",
            "\n",
            "Shift",
        ] {
            assert!(check(key).is_err(), "{key}");
        }
    }
}
