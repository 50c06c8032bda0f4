//! Values that are spread: over several texts, or with other whitespace and invisible characters
//! between their letters.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind, StartKind};

use crate::forms::MIN_LENGTH;
use crate::invisible::is_invisible;
use crate::redactor::automaton;

pub(crate) struct Spread {
    values: Option<AhoCorasick>,
    of: Vec<usize>,
    /// Whether a value holds whitespace, which may be written otherwise.
    spaced: bool,
}

impl Spread {
    pub(crate) fn new<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let mut tights: Vec<(String, usize)> = Vec::new();
        let mut spaced = false;
        for (index, value) in values.enumerate() {
            spaced |= value.contains(char::is_whitespace);
            let tight = tight(value);
            if tight.chars().count() >= MIN_LENGTH {
                tights.push((tight.to_lowercase(), index));
            }
        }
        tights.sort();
        tights.dedup_by(|one, other| one.0 == other.0);
        let patterns: BTreeSet<String> = tights.iter().map(|(tight, _)| tight.clone()).collect();
        Self {
            values: automaton(&patterns, StartKind::Unanchored, MatchKind::LeftmostLongest),
            of: tights.into_iter().map(|(_, index)| index).collect(),
            spaced,
        }
    }

    /// Whether one text has to be looked at by itself.
    pub(crate) fn wanted(&self, text: &str) -> bool {
        self.spaced || (!text.is_ascii() && text.contains(is_invisible))
    }

    /// Ranges of `texts` that belong to a value, in order, with the value. Markers part texts.
    pub(crate) fn find(
        &self,
        texts: &[String],
        markers: &[String],
    ) -> Vec<(usize, Range<usize>, usize)> {
        let Some(values) = &self.values else {
            return Vec::new();
        };
        let mut run = String::new();
        // For each byte of the run: the text and the place that it came from.
        let mut from: Vec<(usize, usize)> = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let mut skip = 0;
            for (at, char) in text.char_indices() {
                if at < skip || char.is_whitespace() || is_invisible(char) {
                    continue;
                }
                let marker = markers
                    .iter()
                    .filter(|_| char == '<')
                    .find(|marker| text[at..].starts_with(marker.as_str()));
                let char = match marker {
                    Some(marker) => {
                        skip = at + marker.len();
                        // No value holds it.
                        '\0'
                    }
                    None => char,
                };
                for lower in char.to_lowercase() {
                    run.push(lower);
                    from.resize(run.len(), (index, at));
                }
            }
        }
        let mut found: Vec<(usize, Range<usize>, usize)> = Vec::new();
        for hit in values.find_iter(&run) {
            let value = self.of[hit.pattern().as_usize()];
            for &(text, at) in &from[hit.range()] {
                let width = texts[text][at..].chars().next().map_or(1, char::len_utf8);
                match found.last_mut() {
                    // All that lies between two letters in one text is part of it.
                    Some((same, range, of)) if *same == text && *of == value && range.end > at => {}
                    Some((same, range, of))
                        if *same == text
                            && *of == value
                            && texts[text][range.end..at]
                                .chars()
                                .all(|char| char.is_whitespace() || is_invisible(char)) =>
                    {
                        range.end = at + width;
                    }
                    Some(_) | None => found.push((text, at..at + width, value)),
                }
            }
        }
        found
    }
}

/// The value without whitespace and invisible characters.
pub(crate) fn tight(value: &str) -> String {
    value
        .chars()
        .filter(|char| !char.is_whitespace() && !is_invisible(*char))
        .collect()
}
