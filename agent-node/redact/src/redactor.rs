//! The redactor.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};
use muster_proto::guard::Guard;
use muster_proto::secret::{self, Secret};
use serde_json::Value;

use crate::forms::{self, MIN_LENGTH};
use crate::sieve::{SHORTEST, Sieve};
use crate::spread::{Spread, tight};

/// Whether a value is long enough to be protected.
pub fn protectable(value: &Secret) -> bool {
    value.expose().chars().count() >= MIN_LENGTH || !Guard::SecretLength.holds()
}

/// Knows secret values, by name; a name may have several (rotated ones, derived ones).
///
/// Markers that stand in a text already are never rewritten, so redacting twice changes nothing.
/// Where values overlap, the whole stretch goes and the longest one names it.
pub struct Redactor {
    values: Vec<(String, Secret)>,
    /// Markers of every registered name: left as they are where they stand.
    known: Vec<String>,
    /// Built at the first use.
    search: OnceLock<Search>,
    pieces: OnceLock<Option<AhoCorasick>>,
}

struct Search {
    patterns: AhoCorasick,
    sieve: Sieve,
    /// The value that each pattern spells.
    of: Vec<usize>,
    /// Length of the longest pattern, bytes.
    longest: usize,
    spread: Spread,
}

impl Redactor {
    /// Registers every protectable value.
    pub fn new(secrets: &BTreeMap<String, Secret>) -> Self {
        let values = secrets.iter();
        Self::of(values.map(|(name, value)| (name.clone(), value.clone())))
    }

    /// The same and one more; what is registered already stays so.
    pub fn with(&self, name: &str, value: &Secret) -> Self {
        let one = (name.to_owned(), value.clone());
        let known = self.values.iter().filter(|each| **each != one).cloned();
        Self::of(known.chain([one.clone()]))
    }

    fn of(values: impl Iterator<Item = (String, Secret)>) -> Self {
        let values: Vec<_> = values
            .filter(|(_, value)| value.expose().chars().count() >= MIN_LENGTH)
            .collect();
        let names: BTreeSet<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
        Self {
            known: names.into_iter().map(secret::marker).collect(),
            values,
            search: OnceLock::new(),
            pieces: OnceLock::new(),
        }
    }

    /// The text without secret values.
    pub fn text(&self, text: &str) -> String {
        let Some(search) = self.search() else {
            return text.to_owned();
        };
        let clean = self.between_markers(text, |part, clean| {
            let hits = search.hits(part.as_bytes());
            self.replace(part, &hits, clean);
        });
        if !Guard::RedactSplit.holds() || !search.spread.wanted(&clean) {
            return clean;
        }
        let mut one = [clean];
        self.spread(&mut one);
        let [clean] = one;
        clean
    }

    /// [`Redactor::text`] for a text that was cut after `limit` characters: a value's beginning at
    /// its end goes too, from eight characters on, or half of a value that is shorter than sixteen.
    pub fn cut(&self, text: &str, limit: usize) -> String {
        let mut clean = self.text(text);
        if !Guard::RedactCut.holds() || text.chars().count() < limit {
            return clean;
        }
        if let Some((start, marker)) = self.begun(&clean) {
            clean.truncate(start);
            clean.push_str(&marker);
        }
        clean
    }

    /// Whether the text holds no secret value.
    pub fn clean(&self, text: &str) -> bool {
        self.text(text) == text
    }

    /// Whether any of these texts holds a secret value. For texts of our own making, without markers.
    pub fn finds<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        let Some(search) = self.search() else {
            return false;
        };
        texts
            .into_iter()
            .any(|text| !search.hits(text.as_bytes()).is_empty())
    }

    /// Whether the text holds a piece of a value that tells much of it: eight characters in a row,
    /// or half of a value that is shorter than sixteen, but at least six.
    pub fn pieces(&self, text: &str) -> bool {
        let pieces = self.pieces.get_or_init(|| {
            let pieces: BTreeSet<String> = self
                .values
                .iter()
                .flat_map(|(_, value)| windows(value.expose()))
                .collect();
            automaton(&pieces, StartKind::Unanchored, MatchKind::Standard)
        });
        pieces.as_ref().is_some_and(|pieces| pieces.is_match(text))
    }

    /// Takes out values that are spread over texts which people see in a row: over elements of a
    /// screen, over lines. Each text loses its part.
    pub fn spread(&self, texts: &mut [String]) {
        let Some(search) = self.search().filter(|_| Guard::RedactSplit.holds()) else {
            return;
        };
        let found = search.spread.find(texts, &self.known);
        for (text, at, value) in found.into_iter().rev() {
            texts[text].replace_range(at, &self.marker(value));
        }
    }

    /// Redacts every string of a JSON value, keys included; a number that is a secret becomes text.
    pub fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, item)| (self.text(key), self.json(item)))
                .collect(),
            Value::Number(number) => {
                let written = number.to_string();
                let clean = self.text(&written);
                match clean == written {
                    true => value.clone(),
                    false => Value::String(clean),
                }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// Length of the longest spelling, bytes; 0 = nothing is registered.
    pub(crate) fn longest(&self) -> usize {
        self.search().map_or(0, |search| search.longest)
    }

    /// Where text may be cut so that no value lies across the cut: at `at` or before.
    pub(crate) fn boundary(&self, text: &str, at: usize) -> usize {
        let mut at = text.floor_char_boundary(at);
        if let Some(search) = self.search() {
            let hits = search.hits(text.as_bytes());
            for (stretch, _) in hits.iter().rev() {
                if stretch.start < at && at < stretch.end {
                    at = stretch.start;
                }
            }
        }
        for marker in &self.known {
            let from = text.floor_char_boundary(at.saturating_sub(marker.len() - 1));
            let inside = text[from..]
                .match_indices(marker.as_str())
                .map(|(start, _)| from + start)
                .find(|start| *start < at && at < start + marker.len());
            at = inside.unwrap_or(at);
        }
        at
    }

    fn search(&self) -> Option<&Search> {
        if self.values.is_empty() || !Guard::RedactValue.holds() {
            return None;
        }
        Some(self.search.get_or_init(|| Search::new(&self.values)))
    }

    fn marker(&self, value: usize) -> String {
        secret::marker(&self.values[value].0)
    }

    fn replace(&self, text: &str, hits: &[(Range<usize>, usize)], clean: &mut String) {
        let mut at = 0;
        for (stretch, value) in hits {
            clean.push_str(&text[at..stretch.start]);
            clean.push_str(&self.marker(*value));
            at = stretch.end;
        }
        clean.push_str(&text[at..]);
    }

    /// Handles what stands between markers; they stay.
    fn between_markers(&self, text: &str, mut part: impl FnMut(&str, &mut String)) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((start, marker)) = self.next_marker(rest) {
            part(&rest[..start], &mut clean);
            clean.push_str(marker);
            rest = &rest[start + marker.len()..];
        }
        part(rest, &mut clean);
        clean
    }

    fn next_marker(&self, text: &str) -> Option<(usize, &str)> {
        if !text.contains("<secret:") {
            return None;
        }
        self.known
            .iter()
            .filter_map(|marker| {
                text.find(marker.as_str())
                    .map(|start| (start, marker.as_str()))
            })
            .min_by_key(|(start, marker)| (*start, std::cmp::Reverse(marker.len())))
    }

    /// Where the longest beginning of a value stands at the text's end.
    fn begun(&self, text: &str) -> Option<(usize, String)> {
        let folded = text.to_ascii_lowercase();
        let ends = |value: &str| {
            let value = value.to_ascii_lowercase();
            let chars = value.chars().count();
            let least = if chars < 16 { chars.div_ceil(2) } else { 8 };
            let cuts = value.char_indices().skip(least).map(|(at, _)| at);
            let mut lengths: Vec<usize> = cuts.collect();
            lengths.reverse();
            lengths
                .into_iter()
                .find(|&length| folded.ends_with(&value[..length]))
        };
        self.values
            .iter()
            .enumerate()
            .filter_map(|(index, (_, value))| Some((ends(value.expose())?, index)))
            .max()
            .map(|(length, index)| (text.len() - length, self.marker(index)))
    }
}

impl Search {
    fn new(values: &[(String, Secret)]) -> Self {
        let mut patterns = BTreeMap::new();
        for (index, (_, value)) in values.iter().enumerate() {
            let mut forms = forms::written(value.expose());
            if Guard::RedactEncoded.holds() {
                forms.extend(forms::encoded(value.expose()));
            }
            for form in forms {
                debug_assert!(form.len() >= SHORTEST, "the sieve needs six bytes");
                patterns.entry(form.to_ascii_lowercase()).or_insert(index);
            }
        }
        let spellings: BTreeSet<String> = patterns.keys().cloned().collect();
        Self {
            longest: spellings.iter().map(String::len).max().unwrap_or(0),
            sieve: Sieve::new(spellings.iter().map(String::as_bytes)),
            patterns: automaton(&spellings, StartKind::Anchored, MatchKind::LeftmostLongest)
                .expect("a registered value has a spelling"),
            of: patterns.into_values().collect(),
            spread: Spread::new(values.iter().map(|(_, value)| value.expose())),
        }
    }

    /// Stretches of values, in order, not overlapping; each with the longest value in it.
    fn hits(&self, text: &[u8]) -> Vec<(Range<usize>, usize)> {
        let mut hits: Vec<(Range<usize>, usize)> = Vec::new();
        let mut longest = 0;
        let mut from = 0;
        while let Some(near) = self.sieve.next(text, from) {
            for start in near.saturating_sub(2)..=near {
                let here = Input::new(text).range(start..).anchored(Anchored::Yes);
                let Some(found) = self.patterns.find(here) else {
                    continue;
                };
                let value = self.of[found.pattern().as_usize()];
                match hits.last_mut() {
                    Some((stretch, named)) if start < stretch.end => {
                        stretch.end = stretch.end.max(found.end());
                        if found.len() > longest {
                            (longest, *named) = (found.len(), value);
                        }
                    }
                    Some(_) | None => {
                        longest = found.len();
                        hits.push((start..found.end(), value));
                    }
                }
            }
            from = near + 1;
        }
        hits
    }
}

/// None where there is nothing to look for.
pub(crate) fn automaton(
    patterns: &BTreeSet<String>,
    start: StartKind,
    matches: MatchKind,
) -> Option<AhoCorasick> {
    if patterns.is_empty() {
        return None;
    }
    let built = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(matches)
        .start_kind(start)
        .ascii_case_insensitive(true)
        .build(patterns);
    Some(built.expect("a few thousand short patterns are far below the automaton's limits"))
}

/// Every stretch of a value that is long enough to tell it.
fn windows(value: &str) -> BTreeSet<String> {
    let chars: Vec<char> = value.chars().collect();
    let length = if chars.len() < 16 {
        chars.len().div_ceil(2).max(MIN_LENGTH)
    } else {
        8
    };
    let whole = chars.windows(length).map(|window| window.iter().collect());
    whole
        .chain([tight(value)])
        .filter(|piece: &String| piece.chars().count() >= MIN_LENGTH)
        .collect()
}

#[cfg(test)]
mod tests;
