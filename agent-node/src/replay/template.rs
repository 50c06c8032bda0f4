//! Slots for `unique()` values: what was typed and shown in one run is found in the next.
//!
//! A slot is `{{<JSON pointer>|<spelling>}}`. Pointers are percent-encoded where they hold `|`,
//! `{`, `}` or `%`, so that a parameter's key can't break the syntax.

use muster_proto::action::{Action, Target, Typed};
use muster_proto::recording::{Anchor, Recording};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// How slots and masks open; text that holds this of its own is never recorded.
pub(super) const OPEN: &str = "{{";

/// Shortest value that can be told from other text, characters.
const MIN_VALUE: usize = 3;

/// Escaped in a slot's pointer.
const POINTER: &AsciiSet = &CONTROLS.add(b'|').add(b'{').add(b'}').add(b'%');

/// Unreserved in addresses (RFC 3986).
const URI: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// How a value is spelled at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Raw,
    Uri,
    Form,
    Slug,
}

impl Spelling {
    const ALL: [Spelling; 4] = [Spelling::Raw, Spelling::Uri, Spelling::Form, Spelling::Slug];

    const fn word(self) -> &'static str {
        match self {
            Spelling::Raw => "raw",
            Spelling::Uri => "uri",
            Spelling::Form => "form",
            Spelling::Slug => "slug",
        }
    }

    fn of(self, value: &str) -> String {
        match self {
            Spelling::Raw => value.to_owned(),
            Spelling::Uri => utf8_percent_encode(value, URI).to_string(),
            Spelling::Form => value
                .split(' ')
                .map(|part| utf8_percent_encode(part, URI).to_string())
                .collect::<Vec<_>>()
                .join("+"),
            Spelling::Slug => slug(value),
        }
    }
}

/// Lower-case letters and digits, joined by `-`; marks dropped.
fn slug(value: &str) -> String {
    let mut out = String::new();
    for c in value
        .nfkd()
        .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
    {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Why values can't be told apart in text; in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Collision(pub(super) String);

/// The `unique()` values of one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    /// Text and the slot that stands for it, longest text first.
    slots: Vec<(String, String)>,
}

impl Template {
    /// The slots of `params`.
    ///
    /// # Errors
    /// A pointer that names no text, a value too short to be told from other text, or one that is
    /// equal to, inside or around another parameter in any spelling.
    pub(super) fn new(params: &Value, unique: &[String]) -> Result<Self, Collision> {
        let mut leaves = Vec::new();
        texts(params, &mut String::new(), &mut leaves);
        let mut slots: Vec<(String, String)> = Vec::new();
        for (index, pointer) in unique.iter().enumerate() {
            if unique[..index].contains(pointer) {
                continue;
            }
            let Some(value) = params.pointer(pointer).and_then(Value::as_str) else {
                return Err(Collision(format!(
                    "unique() names {pointer:?}, which is no text in params"
                )));
            };
            if value.chars().count() < MIN_VALUE {
                return Err(Collision(format!(
                    "the unique() value at {pointer} is too short to be told from other text"
                )));
            }
            if value.contains(OPEN) {
                return Err(Collision(format!(
                    "the unique() value at {pointer} holds {OPEN:?}"
                )));
            }
            let spellings = Spelling::ALL.map(|spelling| spelling.of(value));
            let clash = leaves.iter().find(|(at, text)| {
                at != pointer
                    && spellings.iter().any(|own| {
                        !own.is_empty()
                            && Spelling::ALL
                                .iter()
                                .any(|spelling| spelling.of(text).contains(own.as_str()))
                    })
            });
            if let Some((at, _)) = clash {
                return Err(Collision(format!(
                    "the unique() value at {pointer} is also in the parameter at {at}"
                )));
            }
            let name = utf8_percent_encode(pointer, POINTER).to_string();
            for (spelling, text) in Spelling::ALL.into_iter().zip(spellings) {
                if text.chars().count() >= MIN_VALUE
                    && !slots.iter().any(|(known, _)| *known == text)
                {
                    slots.push((text, format!("{OPEN}{name}|{}}}}}", spelling.word())));
                }
            }
        }
        // Stable: of two spellings of the same length, the plainer stays first.
        slots.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Ok(Self { slots })
    }

    /// `text` cut at every value: pieces that are literal, and slots.
    pub(super) fn pieces<'t>(&self, text: &'t str) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let (mut literal, mut at) = (0, 0);
        while at < text.len() {
            let found = self
                .slots
                .iter()
                .find(|(value, _)| text[at..].starts_with(value.as_str()));
            if let Some((value, slot)) = found {
                if literal < at {
                    pieces.push(Piece::Literal(&text[literal..at]));
                }
                pieces.push(Piece::Slot(slot.clone()));
                at += value.len();
                literal = at;
            } else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        if literal < text.len() {
            pieces.push(Piece::Literal(&text[literal..]));
        }
        pieces
    }

    /// `stored` with today's values in its slots. Masks stay.
    ///
    /// # Errors
    /// A slot that names no `unique()` value of this call, in words.
    pub(super) fn expand(&self, stored: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = stored;
        while let Some(start) = rest.find(OPEN) {
            let Some(len) = rest[start..].find("}}") else {
                return Err(format!("{stored:?} has a slot that never ends"));
            };
            let slot = &rest[start..start + len + 2];
            out.push_str(&rest[..start]);
            if slot == super::volatile::MASK {
                out.push_str(slot);
            } else {
                out.push_str(&self.value(slot)?);
            }
            rest = &rest[start + slot.len()..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value(&self, slot: &str) -> Result<String, String> {
        let unknown = || format!("{slot} names no unique() value of this call");
        let (pointer, spelling) = slot[OPEN.len()..slot.len() - 2]
            .rsplit_once('|')
            .ok_or_else(unknown)?;
        let spelling = Spelling::ALL
            .into_iter()
            .find(|each| each.word() == spelling)
            .ok_or_else(unknown)?;
        let raw = format!("{OPEN}{pointer}|{}}}}}", Spelling::Raw.word());
        let (value, _) = self
            .slots
            .iter()
            .find(|(_, each)| *each == raw)
            .ok_or_else(unknown)?;
        Ok(spelling.of(value))
    }
}

/// A stretch of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// As it stands.
    Literal(&'t str),
    /// A slot, as it is stored.
    Slot(String),
}

/// Every text or number in `value` with its JSON Pointer.
pub(super) fn texts(value: &Value, at: &mut String, out: &mut Vec<(String, String)>) {
    let mut within = |key: &str, each: &Value| {
        let len = at.len();
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        texts(each, at, out);
        at.truncate(len);
    };
    match value {
        Value::String(text) => out.push((at.clone(), text.clone())),
        Value::Number(number) => out.push((at.clone(), number.to_string())),
        Value::Array(items) => {
            for (index, each) in items.iter().enumerate() {
                within(&index.to_string(), each);
            }
        }
        Value::Object(fields) => {
            for (key, each) in fields {
                within(key, each);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// `recording` with today's values in all its slots.
///
/// # Errors
/// As [`Template::expand`].
pub(super) fn expand(recording: &Recording, template: &Template) -> Result<Recording, String> {
    let mut out = recording.clone();
    out.start_route = template.expand(&out.start_route)?;
    out.end_route = template.expand(&out.end_route)?;
    for anchor in out.appeared.iter_mut().chain(&mut out.gone) {
        expand_anchor(anchor, template)?;
    }
    for each in &mut out.actions {
        match &mut each.action {
            Action::Type { target, value, .. } => {
                expand_target(target, template)?;
                if let Typed::Template { text } = value {
                    *value = Typed::Literal {
                        text: template.expand(text)?,
                    };
                }
            }
            Action::Select { target, label } => {
                expand_target(target, template)?;
                *label = template.expand(label)?;
            }
            Action::Navigate { path: text } | Action::TypeText { text } => {
                *text = template.expand(text)?;
            }
            Action::ScrollUntil { target, text, .. } => {
                target
                    .as_mut()
                    .map_or(Ok(()), |target| expand_target(target, template))?;
                *text = template.expand(text)?;
            }
            Action::Drag { target, to } => {
                expand_target(target, template)?;
                expand_target(to, template)?;
            }
            Action::Tap { target }
            | Action::DoubleTap { target }
            | Action::LongPress { target, .. }
            | Action::RightClick { target }
            | Action::Upload { target, .. }
            | Action::Check { target, .. }
            | Action::Hover { target }
            | Action::ScrollTo { target } => expand_target(target, template)?,
            Action::Press { target, .. } | Action::Scroll { target, .. } => {
                if let Some(target) = target {
                    expand_target(target, template)?;
                }
            }
            Action::Back {} => {}
        }
        each.summary = super::line::action_line(&each.action);
    }
    Ok(out)
}

pub(super) fn expand_anchor(anchor: &mut Anchor, template: &Template) -> Result<(), String> {
    expand_target(&mut anchor.target, template)?;
    if let Some(value) = &mut anchor.value {
        *value = template.expand(value)?;
    }
    Ok(())
}

pub(super) fn expand_target(target: &mut Target, template: &Template) -> Result<(), String> {
    target.name = template.expand(&target.name)?;
    target.text = template.expand(&target.text)?;
    let fields = [
        &mut target.test_id,
        &mut target.placeholder,
        &mut target.within,
    ];
    for text in fields.into_iter().flatten() {
        *text = template.expand(text)?;
    }
    Ok(())
}
