//! Locators: lazy descriptions of elements, as data. An engine resolves them in the page.

use serde::{Deserialize, Serialize};

/// A chain of steps, each narrowing the last one's matches; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Locator {
    /// Applied left to right, the first to the whole page (all same-process frames and open
    /// shadow roots).
    pub steps: Vec<LocatorStep>,
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "by", deny_unknown_fields)]
pub enum LocatorStep {
    /// By semantic role; never matches what is hidden from assistive technology.
    #[serde(rename_all = "camelCase")]
    Role {
        /// One of the closed vocabulary; `img` is written `image`.
        role: String,
        /// Accessible name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<TextMatch>,
        /// States that must agree.
        #[serde(default, skip_serializing_if = "States::is_empty")]
        states: States,
        /// Hidden twins are dropped before strictness.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
    },
    /// By the label of a control.
    Label {
        /// The label.
        text: TextMatch,
        /// See `Role`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
    },
    /// By visible text: the innermost element that has it.
    Text {
        /// The text.
        text: TextMatch,
        /// See `Role`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
    },
    /// By placeholder.
    Placeholder {
        /// The placeholder.
        text: TextMatch,
        /// See `Role`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
    },
    /// By `data-testid`, exact.
    #[serde(rename_all = "camelCase")]
    TestId {
        /// The id.
        id: String,
        /// See `Role`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        visible: bool,
    },
    /// Keeps those that satisfy both.
    #[serde(rename_all = "camelCase")]
    Filter {
        /// Case-insensitive substring (or pattern) over the subtree's text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        has_text: Option<TextMatch>,
        /// Has a descendant that matches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        has: Option<Box<Locator>>,
    },
    /// One by place in document order: from 0, or from the end when negative (-1 = last).
    Nth {
        /// The place.
        index: i32,
    },
}

/// How text is compared; both sides have whitespace folded and ends trimmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "how", deny_unknown_fields)]
pub enum TextMatch {
    /// Whole and case-sensitive.
    Exact {
        /// The text.
        text: String,
    },
    /// Case-insensitive substring.
    Substring {
        /// The text.
        text: String,
    },
    /// A JavaScript regular expression, as written.
    Pattern {
        /// Its source.
        source: String,
        /// Its flags.
        flags: String,
    },
}

/// States to agree with; none = don't care.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct States {
    /// `checked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// `selected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// `expanded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    /// `pressed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<bool>,
    /// Heading level, 1 to 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
}

impl States {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

impl std::fmt::Display for TextMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TextMatch::Exact { text } => write!(f, "{text:?}"),
            TextMatch::Substring { text } => write!(f, "containing {text:?}"),
            TextMatch::Pattern { source, flags } => write!(f, "/{source}/{flags}"),
        }
    }
}

impl std::fmt::Display for Locator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            match step {
                LocatorStep::Role { role, name, .. } => {
                    f.write_str(role)?;
                    if let Some(name) = name {
                        write!(f, " {name}")?;
                    }
                }
                LocatorStep::Label { text, .. } => write!(f, "label {text}")?,
                LocatorStep::Text { text, .. } => write!(f, "text {text}")?,
                LocatorStep::Placeholder { text, .. } => write!(f, "placeholder {text}")?,
                LocatorStep::TestId { id, .. } => write!(f, "test id {id:?}")?,
                LocatorStep::Filter { has_text, has } => {
                    f.write_str("(")?;
                    if let Some(text) = has_text {
                        write!(f, "has text {text}")?;
                    }
                    if let Some(inner) = has {
                        write!(
                            f,
                            "{}has {inner}",
                            if has_text.is_some() { ", " } else { "" }
                        )?;
                    }
                    f.write_str(")")?;
                }
                LocatorStep::Nth { index: 0 } => f.write_str("(first)")?,
                LocatorStep::Nth { index: -1 } => f.write_str("(last)")?,
                LocatorStep::Nth { index } => write!(f, "(nth {index})")?,
            }
        }
        Ok(())
    }
}
