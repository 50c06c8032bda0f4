//! From the text of `muster.toml` to a checked [`Config`], with the place of whatever is wrong.

use std::ops::Range;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Place, Problem};
use toml::de::{DeTable, DeValue};

use super::node::NodeFile;
use super::{Config, check};
use crate::text;

/// Why `muster.toml` isn't one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}:{}: {message}", place.file, place.line, place.column)]
pub struct ConfigError {
    /// `INVALID_CONFIG` or `INVALID_APP_URL`.
    pub code: ErrorCode,
    /// Where in the file.
    pub place: Place,
    /// What, which, what next.
    pub message: String,
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Problem {
            place: Some(error.place),
            ..Problem::new(error.code, error.message)
        }
    }
}

impl Config {
    /// Reads and checks `text`; `path` only names it in errors. The agent `default` exists
    /// afterwards even if the file doesn't name it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str, path: &str) -> Result<Self, ConfigError> {
        let source = Source::new(text, path)?;
        let mut config: Config = toml::from_str(text).map_err(|error| source.explain(&error))?;
        check::check(&config, &source)?;
        config
            .agents
            .entry(super::DEFAULT_AGENT.to_owned())
            .or_default();
        Ok(config)
    }
}

impl NodeFile {
    /// Reads and checks `text`; `path` only names it in errors.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str, path: &str) -> Result<Self, ConfigError> {
        let source = Source::new(text, path)?;
        let file: NodeFile = toml::from_str(text).map_err(|error| source.explain(&error))?;
        check::node(&file, &source)?;
        Ok(file)
    }
}

/// The text with its spans.
pub(super) struct Source<'a> {
    text: &'a str,
    path: &'a str,
    tree: DeTable<'a>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str, path: &'a str) -> Result<Self, ConfigError> {
        match DeTable::parse(text) {
            Ok(tree) => Ok(Self {
                text,
                path,
                tree: tree.into_inner(),
            }),
            Err(error) => Err(ConfigError {
                code: ErrorCode::InvalidConfig,
                place: text::place(path, text, error.span().map_or(0, |span| span.start)),
                message: error.message().to_owned(),
            }),
        }
    }

    /// An error at the value of the key `keys`, or at the nearest table that exists.
    pub(super) fn error(&self, keys: &[&str], message: impl Into<String>) -> ConfigError {
        let mut offset = 0;
        let mut table = Some(&self.tree);
        for key in keys {
            let Some(value) = table.and_then(|table| table.get(*key)) else {
                break;
            };
            offset = value.span().start;
            table = value.get_ref().as_table();
        }
        ConfigError {
            code: ErrorCode::InvalidConfig,
            place: text::place(self.path, self.text, offset),
            message: message.into(),
        }
    }

    /// How messages call a table; the outermost one is the file.
    fn heading(&self, table: &[&str]) -> String {
        match table {
            [] => self.path.to_owned(),
            names => format!("[{}]", names.join(".")),
        }
    }

    /// A deserializer's error, in the words of someone who writes the file.
    fn explain(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        let message = error.message();
        let table = table_at(&self.tree, &span).unwrap_or_default();
        let message = if let Some(rest) = message.strip_prefix("unknown field ") {
            unknown("key", rest, &format!(" in {}", self.heading(&table)))
        } else if let Some(rest) = message.strip_prefix("unknown variant ") {
            unknown("value", rest, "")
        } else if let Some(rest) = message.strip_prefix("missing field ") {
            format!("key {rest} is missing in {}", self.heading(&table))
        } else {
            message.to_owned()
        };
        ConfigError {
            code: ErrorCode::InvalidConfig,
            place: text::place(self.path, self.text, span.start),
            message,
        }
    }
}

/// `rest` is serde's `` `found`, expected one of `a`, `b` ``.
fn unknown(what: &str, rest: &str, where_: &str) -> String {
    let words: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let Some((found, expected)) = words.split_first() else {
        return format!("unknown {what} {rest}{where_}");
    };
    match text::nearest(found, expected.iter().copied()) {
        Some(meant) => format!("unknown {what} `{found}`{where_}; did you mean `{meant}`?"),
        None if expected.is_empty() => format!("unknown {what} `{found}`{where_}; it takes none"),
        None => {
            format!(
                "unknown {what} `{found}`{where_}; it may be {}",
                text::alternatives(expected.iter().copied())
            )
        }
    }
}

/// Names of the tables around the key, value or table at `span`.
fn table_at<'a>(table: &'a DeTable<'_>, span: &Range<usize>) -> Option<Vec<&'a str>> {
    for (key, value) in table {
        if key.span() == *span {
            return Some(Vec::new());
        }
        let inner = match value.get_ref() {
            DeValue::Table(inner) => inner,
            _ if value.span() == *span => return Some(Vec::new()),
            _ => continue,
        };
        let found = table_at(inner, span).or_else(|| (value.span() == *span).then(Vec::new));
        if let Some(mut path) = found {
            path.insert(0, key.get_ref().as_ref());
            return Some(path);
        }
    }
    None
}
