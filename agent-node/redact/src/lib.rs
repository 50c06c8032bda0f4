//! Takes secret values out of text: every known value, in every form that it may be written in,
//! becomes `<secret:name>`.
//!
//! Pure, and a crate of its own so that it is measured without a browser (`make bench-redact`).
//! Markers that stand in a text already are never rewritten, so redacting twice changes nothing.
//! Where values overlap, the whole stretch goes and the longest one names it.
//!
//! Reading order: this file, [`forms`] (what is looked for; a new form goes there), `skeleton` (what
//! of a text is compared), `index` (how it is found), then [`Lines`] for text that comes in pieces,
//! and `heads` for values that are cut.

mod forms;
mod heads;
mod index;
mod invisible;
mod lines;
mod skeleton;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use memchr::memmem;
use muster_proto::guard::Guard;
use muster_proto::secret::{self, Secret};
use serde_json::Value;

pub use invisible::visible;
pub use lines::Lines;

use heads::Heads;
use index::{Hit, Index, stretches};

/// Shortest value that can be protected, Unicode code points. Shorter ones would blank out common
/// words and are refused where they are used.
pub const MIN_LENGTH: usize = 6;

/// Consecutive characters that give a long value away; see [`telling`].
const TELLING: usize = 8;

/// Text that is searched at once, bytes: it stays near the core.
const BLOCK: usize = 8 * 1024;

/// Whether a value is long enough to be protected.
pub fn protectable(value: &Secret) -> bool {
    long_enough(value) || !Guard::SecretLength.holds()
}

fn long_enough(value: &Secret) -> bool {
    value.expose().chars().count() >= MIN_LENGTH
}

/// How many leading characters of a value of `length` characters give it away: 8, or half.
fn telling(length: usize) -> usize {
    TELLING.min(length.div_ceil(2))
}

/// Knows an attempt's secret values. Building one is cheap; the search is built at its first use.
pub struct Redactor {
    /// What is registered.
    values: Vec<(String, Secret)>,
    /// The marker of each value: left as it is where it stands.
    markers: Vec<String>,
    search: OnceLock<Search>,
    pieces: OnceLock<Index>,
    heads: OnceLock<Heads>,
}

/// What is looked for.
struct Search {
    index: Index,
    /// Forms of which too little is left in a skeleton: found as they are written.
    thin: Option<AhoCorasick>,
    /// The value of each pattern of `thin`.
    thin_values: Vec<usize>,
    /// Length of the longest thin form, bytes.
    thin_longest: usize,
}

impl Redactor {
    /// Registers every protectable value.
    pub fn new(secrets: &BTreeMap<String, Secret>) -> Self {
        let values = secrets.iter();
        Self::of(
            values
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// The same and one more; what is registered already stays so.
    pub fn with(&self, name: &str, value: &Secret) -> Self {
        let one = (name.to_owned(), value.clone());
        let known = self.values.iter().cloned();
        Self::of(
            known
                .filter(|each| *each != one)
                .chain([one.clone()])
                .collect(),
        )
    }

    fn of(mut values: Vec<(String, Secret)>) -> Self {
        values.retain(|(_, value)| long_enough(value));
        Self {
            markers: values
                .iter()
                .map(|(name, _)| secret::marker(name))
                .collect(),
            values,
            search: OnceLock::new(),
            pieces: OnceLock::new(),
            heads: OnceLock::new(),
        }
    }

    /// How many values are registered, and in how many forms they are looked for.
    pub fn size(&self) -> (usize, usize) {
        let search = self.search();
        (
            self.values.len(),
            search.index.len() + search.thin_values.len(),
        )
    }

    /// The text without secret values.
    pub fn text(&self, text: &str) -> String {
        self.covered(text, &self.stretches(text))
    }

    /// Whether the text holds no secret value.
    pub fn clean(&self, text: &str) -> bool {
        self.stretches(text).is_empty()
    }

    /// Whether any of these texts holds a secret value. For texts of our own making, without markers.
    pub fn finds<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        !self.values.is_empty() && texts.into_iter().any(|text| !self.hits(text).is_empty())
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
                let (written, clean) = (number.to_string(), self.text(&number.to_string()));
                match clean == written {
                    true => value.clone(),
                    false => Value::String(clean),
                }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// Whether the text holds a piece of a value: eight consecutive characters, or half of a value
    /// below sixteen, but never fewer than [`MIN_LENGTH`].
    pub fn pieces(&self, text: &str) -> bool {
        !self.torn(text).is_empty()
    }

    /// The text without pieces of values. For texts that are redacted already.
    pub fn without_pieces(&self, text: &str) -> String {
        self.covered(text, &self.torn(text))
    }

    /// [`Redactor::text`] for a text that was cut after `limit` UTF-16 units: a value's beginning
    /// at its end goes too, from eight characters on, or half of a value below sixteen.
    pub fn cut(&self, text: &str, limit: usize) -> String {
        let clean = self.text(text);
        // A cut spares pairs of units, so one may be missing to the limit.
        self.ended(clean, text.encode_utf16().count() + 1 >= limit)
    }

    /// The same where the limit is in bytes.
    pub fn cut_bytes(&self, text: &str, limit: usize) -> String {
        // A character has at most four bytes.
        self.ended(self.text(text), text.len() + 3 >= limit)
    }

    fn ended(&self, clean: String, full: bool) -> String {
        if !full || !Guard::RedactCut.holds() {
            return clean;
        }
        match self.begun(&clean) {
            Some(begun) => self.covered(&clean, &[begun]),
            None => clean,
        }
    }

    /// Takes out values that are spread over texts which people see in a row: over elements of a
    /// screen, over lines. Each text loses its part.
    pub fn spread(&self, texts: &mut [String]) {
        if self.values.is_empty() || !Guard::RedactSplit.holds() {
            return;
        }
        let parts: Vec<_> = texts.iter().map(String::as_str).collect();
        let told = self.spread_by(&parts, &self.stretches(&parts.concat()));
        for (text, told) in texts.iter_mut().zip(told) {
            if let Some(told) = told {
                *text = told;
            }
        }
    }

    /// What is told of each part where these stretches of all of them go.
    fn spread_by(&self, parts: &[&str], stretches: &[Hit]) -> Vec<Option<String>> {
        let mut start = 0;
        let one = |part: &&str| {
            let end = start + part.len();
            let first = stretches.partition_point(|hit| hit.end <= start);
            let here: Vec<_> = stretches[first..]
                .iter()
                .take_while(|hit| hit.start < end)
                .map(|hit| Hit {
                    start: hit.start.max(start) - start,
                    end: hit.end.min(end) - start,
                    value: hit.value,
                })
                .collect();
            start = end;
            (!here.is_empty()).then(|| self.covered(part, &here))
        };
        parts.iter().map(one).collect()
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| {
            let mut patterns = BTreeMap::new();
            let mut thin = BTreeMap::new();
            for (which, (_, value)) in self.values.iter().enumerate() {
                for form in forms::all(value.expose()) {
                    let skeleton = skeleton::of(&form);
                    if skeleton::chars(&skeleton) < MIN_LENGTH {
                        thin.entry(form).or_insert(which);
                    } else {
                        patterns.entry(skeleton).or_insert(which);
                    }
                }
            }
            Search {
                index: Index::new(patterns),
                thin: (!thin.is_empty()).then(|| {
                    AhoCorasick::builder()
                        .ascii_case_insensitive(true)
                        .build(thin.keys())
                        .expect("a few hundred short patterns are far below the automaton's limits")
                }),
                thin_longest: thin.keys().map(String::len).max().unwrap_or(0),
                thin_values: thin.into_values().collect(),
            }
        })
    }

    fn piece_index(&self) -> &Index {
        self.pieces.get_or_init(|| {
            let mut patterns = BTreeMap::new();
            for (which, (_, value)) in self.values.iter().enumerate() {
                for written in forms::written(value.expose()) {
                    let skeleton = skeleton::of(&written);
                    let length = skeleton::chars(&skeleton);
                    let size = telling(length).max(MIN_LENGTH);
                    for first in 0..(length + 1).saturating_sub(size) {
                        let from = skeleton::head(&skeleton, first);
                        let to = skeleton::head(&skeleton, first + size);
                        patterns.entry(skeleton[from..to].to_vec()).or_insert(which);
                    }
                }
            }
            Index::new(patterns)
        })
    }

    fn heads(&self) -> &Heads {
        self.heads
            .get_or_init(|| Heads::new(self.search().index.patterns()))
    }

    /// What of the text goes, in order; markers are stepped over.
    fn stretches(&self, text: &str) -> Vec<Hit> {
        self.between_markers(text, |text| self.hits(text))
    }

    fn torn(&self, text: &str) -> Vec<Hit> {
        if !Guard::SecretPiece.holds() {
            return Vec::new();
        }
        self.between_markers(text, |text| search(self.piece_index(), text))
    }

    /// The start of a value at the end of the text.
    fn begun(&self, text: &str) -> Option<Hit> {
        if self.values.is_empty() {
            return None;
        }
        let from = self.marked(text).last().map_or(0, |(_, end)| *end);
        let mut tail = skeleton::of(&text[from..]);
        let longest = self.search().index.longest();
        tail.drain(..tail.len().saturating_sub(longest));
        let (length, value) = self.heads().telling(&tail)?;
        Some(Hit {
            start: from + skeleton::back(&text[from..], length),
            end: text.len(),
            value,
        })
    }

    fn between_markers(&self, text: &str, search: impl Fn(&str) -> Vec<Hit>) -> Vec<Hit> {
        if self.values.is_empty() || text.is_empty() {
            return Vec::new();
        }
        let mut all = Vec::new();
        let mut from = 0;
        let marked = self.marked(text);
        for (start, end) in marked.into_iter().chain([(text.len(), text.len())]) {
            let hits = search(&text[from..start]);
            all.extend(hits.into_iter().map(|hit| Hit {
                start: from + hit.start,
                end: from + hit.end,
                ..hit
            }));
            from = end;
        }
        all
    }

    /// Where known markers stand.
    fn marked(&self, text: &str) -> Vec<(usize, usize)> {
        let mut marked: Vec<(usize, usize)> = Vec::new();
        for at in memmem::find_iter(text.as_bytes(), "<secret:") {
            if marked.last().is_some_and(|(_, end)| at < *end) {
                continue;
            }
            let known = self.markers.iter();
            let here = known.filter(|marker| text[at..].starts_with(marker.as_str()));
            if let Some(length) = here.map(String::len).max() {
                marked.push((at, at + length));
            }
        }
        marked
    }

    /// What is found in a text without markers, joined and in order.
    fn hits(&self, text: &str) -> Vec<Hit> {
        if !Guard::RedactValue.holds() {
            return Vec::new();
        }
        let known = self.search();
        let mut hits = search(&known.index, text);
        if let Some(thin) = &known.thin {
            hits.extend(thin.find_overlapping_iter(text).map(|hit| Hit {
                start: hit.start(),
                end: hit.end(),
                value: known.thin_values[hit.pattern().as_usize()],
            }));
            hits = stretches(hits);
        }
        hits
    }

    fn covered(&self, text: &str, stretches: &[Hit]) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for hit in stretches {
            clean.push_str(&text[at..hit.start]);
            clean.push_str(&self.markers[hit.value]);
            at = hit.end;
        }
        clean.push_str(&text[at..]);
        clean
    }
}

/// Searches a text block by block.
fn search(index: &Index, text: &str) -> Vec<Hit> {
    let mut all = Vec::new();
    if index.len() == 0 {
        return all;
    }
    let (mut skeleton, mut found) = (Vec::new(), Vec::new());
    let (mut start, mut size) = (0, BLOCK);
    loop {
        let end = text.floor_char_boundary(start + size);
        let block = &text[start..end];
        skeleton.clear();
        skeleton::squeeze(block, &mut skeleton);
        index.hits(&skeleton, &mut found);
        if !found.is_empty() {
            let joined = stretches(std::mem::take(&mut found));
            let mut places: Vec<_> = joined.iter().map(|hit| (hit.start, hit.end)).collect();
            skeleton::locate(block, &mut places);
            all.extend(joined.iter().zip(places).map(|(hit, (from, to))| Hit {
                start: start + from,
                end: start + to,
                value: hit.value,
            }));
        }
        if end == text.len() {
            return stretches(all);
        }
        // The next block holds whatever may have been cut here.
        let step = skeleton::back(block, index.longest() - 1);
        size = if step < block.len() / 2 {
            size * 2
        } else {
            BLOCK
        };
        start += step;
    }
}
