//! The key grammar: modifiers joined by `+` with a named key or one printable character.

use crate::page::EngineError;

/// A chord: what DevTools needs to press it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chord {
    /// Held while the key is pressed, in the order written.
    pub(super) modifiers: Vec<Modifier>,
    pub(super) key: Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modifier {
    Alt,
    Control,
    Meta,
    Shift,
}

/// One key of a US keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// `KeyboardEvent.key`.
    pub(super) key: String,
    /// `KeyboardEvent.code`; empty for characters that no key makes.
    pub(super) code: String,
    /// Windows virtual key code; 0 = none.
    pub(super) virtual_code: u32,
    /// What it types, if anything.
    pub(super) text: Option<String>,
}

impl Modifier {
    /// Bit in DevTools' `modifiers`.
    pub(super) fn bit(self) -> u32 {
        match self {
            Modifier::Alt => 1,
            Modifier::Control => 2,
            Modifier::Meta => 4,
            Modifier::Shift => 8,
        }
    }

    pub(super) fn key(self) -> Key {
        let (key, code, virtual_code) = match self {
            Modifier::Alt => ("Alt", "AltLeft", 18),
            Modifier::Control => ("Control", "ControlLeft", 17),
            Modifier::Meta => ("Meta", "MetaLeft", 91),
            Modifier::Shift => ("Shift", "ShiftLeft", 16),
        };
        Key {
            key: key.into(),
            code: code.into(),
            virtual_code,
            text: None,
        }
    }
}

impl Chord {
    /// Reads `Enter`, `Control+Shift+K`, `ControlOrMeta+a`, `é`, `+`.
    pub(super) fn parse(written: &str) -> Result<Self, EngineError> {
        let bad = || {
            EngineError::Invalid(format!(
                "{written:?} is no key: write Shift, Control, Alt, Meta or ControlOrMeta joined by + with one \
                 character or Enter, Escape, Tab, Backspace, Delete, Insert, Space, ArrowUp, ArrowDown, ArrowLeft, \
                 ArrowRight, Home, End, PageUp, PageDown, F1 to F12"
            ))
        };
        // The last `+` of `Control++` is the key itself.
        let (held, name) = match written.strip_suffix('+') {
            Some("") => (None, "+"),
            Some(rest) => (Some(rest.strip_suffix('+').ok_or_else(bad)?), "+"),
            None => match written.rsplit_once('+') {
                Some((held, name)) => (Some(held), name),
                None => (None, written),
            },
        };
        let mut modifiers = Vec::new();
        for word in held.into_iter().flat_map(|held| held.split('+')) {
            let modifier = match word {
                "Shift" => Modifier::Shift,
                // The browsers that this engine drives run on Linux.
                "Control" | "ControlOrMeta" => Modifier::Control,
                "Alt" => Modifier::Alt,
                "Meta" => Modifier::Meta,
                _ => return Err(bad()),
            };
            if !modifiers.contains(&modifier) {
                modifiers.push(modifier);
            }
        }
        let shifted = modifiers.contains(&Modifier::Shift);
        let mut key = named(name)
            .or_else(|| printable(name, shifted))
            .ok_or_else(bad)?;
        if modifiers
            .iter()
            .any(|modifier| *modifier != Modifier::Shift)
        {
            // A shortcut types nothing.
            key.text = None;
        }
        Ok(Self { modifiers, key })
    }
}

fn named(name: &str) -> Option<Key> {
    let (code, virtual_code, text) = match name {
        "Enter" => ("Enter", 13, Some("\r")),
        "Escape" => ("Escape", 27, None),
        "Tab" => ("Tab", 9, None),
        "Backspace" => ("Backspace", 8, None),
        "Delete" => ("Delete", 46, None),
        "Insert" => ("Insert", 45, None),
        "Space" => ("Space", 32, Some(" ")),
        "ArrowLeft" => ("ArrowLeft", 37, None),
        "ArrowUp" => ("ArrowUp", 38, None),
        "ArrowRight" => ("ArrowRight", 39, None),
        "ArrowDown" => ("ArrowDown", 40, None),
        "Home" => ("Home", 36, None),
        "End" => ("End", 35, None),
        "PageUp" => ("PageUp", 33, None),
        "PageDown" => ("PageDown", 34, None),
        _ => {
            let number: u32 = name
                .strip_prefix('F')?
                .parse()
                .ok()
                .filter(|number| (1..=12).contains(number))?;
            return Some(Key {
                key: name.into(),
                code: name.into(),
                virtual_code: 111 + number,
                text: None,
            });
        }
    };
    let key = if name == "Space" { " " } else { name };
    Some(Key {
        key: key.into(),
        code: code.into(),
        virtual_code,
        text: text.map(Into::into),
    })
}

fn printable(name: &str, shifted: bool) -> Option<Key> {
    let mut characters = name.chars();
    let (Some(written), None) = (characters.next(), characters.next()) else {
        return None;
    };
    if written.is_control() {
        return None;
    }
    let typed = if shifted && written.is_ascii_lowercase() {
        written.to_ascii_uppercase()
    } else {
        written
    };
    let upper = written.to_ascii_uppercase();
    let (code, virtual_code) = match upper {
        'A'..='Z' => (format!("Key{upper}"), u32::from(upper)),
        '0'..='9' => (format!("Digit{upper}"), u32::from(upper)),
        ' ' => ("Space".to_owned(), 32),
        _ => {
            // Character, shifted character, code, virtual key code.
            const SIGNS: [(char, char, &str, u32); 11] = [
                ('-', '_', "Minus", 189),
                ('=', '+', "Equal", 187),
                ('[', '{', "BracketLeft", 219),
                (']', '}', "BracketRight", 221),
                ('\\', '|', "Backslash", 220),
                (';', ':', "Semicolon", 186),
                ('\'', '"', "Quote", 222),
                (',', '<', "Comma", 188),
                ('.', '>', "Period", 190),
                ('/', '?', "Slash", 191),
                ('`', '~', "Backquote", 192),
            ];
            let sign = SIGNS
                .iter()
                .find(|sign| written == sign.0 || written == sign.1);
            sign.map_or((String::new(), 0), |sign| (sign.2.to_owned(), sign.3))
        }
    };
    Some(Key {
        key: typed.to_string(),
        code,
        virtual_code,
        text: Some(typed.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(written: &str) -> (u32, String, Option<String>) {
        let chord = Chord::parse(written).unwrap();
        let bits = chord.modifiers.iter().map(|modifier| modifier.bit()).sum();
        (bits, chord.key.code, chord.key.text)
    }

    #[test]
    fn chords_are_read_as_written() {
        assert_eq!(parsed("Enter"), (0, "Enter".into(), Some("\r".into())));
        assert_eq!(parsed("Control+Shift+k"), (10, "KeyK".into(), None));
        assert_eq!(parsed("ControlOrMeta+A"), (2, "KeyA".into(), None));
        assert_eq!(parsed("Shift+a"), (8, "KeyA".into(), Some("A".into())));
        assert_eq!(parsed("Alt+F4"), (1, "F4".into(), None));
        assert_eq!(parsed("+"), (0, "Equal".into(), Some("+".into())));
        assert_eq!(parsed("Control++"), (2, "Equal".into(), None));
        assert_eq!(parsed("é"), (0, String::new(), Some("é".into())));
        assert_eq!(parsed("Space"), (0, "Space".into(), Some(" ".into())));
    }

    #[test]
    fn what_is_no_key_is_refused_with_the_grammar() {
        for written in [
            "", "enter", "F13", "Ctrl+a", "ab", "Control+", "+a", "Shift",
        ] {
            let error = Chord::parse(written).unwrap_err().to_string();
            assert!(
                error.contains("is no key: write Shift"),
                "{written:?}: {error}"
            );
        }
    }
}
