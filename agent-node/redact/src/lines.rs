//! Redacts lines that come one by one as if they had come at once: those that may hold the start of a
//! value are held back until more have come.

use muster_proto::guard::Guard;

use super::index::Hit;
use super::{Redactor, skeleton};

/// Most text that is held back, bytes. Only white space in the middle of a value comes near it.
const MOST: usize = 64 * 1024;

impl Redactor {
    /// Up to where nothing that comes later changes what is taken out of `text`.
    fn settled(&self, text: &str, stretches: &[Hit]) -> usize {
        let known = self.search();
        let mut tail = skeleton::of(&text[skeleton::back(text, known.index.longest())..]);
        tail.drain(..tail.len().saturating_sub(known.index.longest()));
        let mut end = match self.heads().longest(&tail) {
            0 => text.len(),
            length => skeleton::back(text, length),
        };
        if known.thin_longest > 0 {
            end = end
                .min(text.floor_char_boundary((text.len() + 1).saturating_sub(known.thin_longest)));
        }
        // A marker that is not whole yet.
        for marker in &self.markers {
            let begun = (1..marker.len()).rev().find(|length| {
                marker.is_char_boundary(*length) && text.ends_with(&marker[..*length])
            });
            end = end.min(text.len() - begun.unwrap_or(0));
        }
        // Neither a stretch nor a marker is taken apart.
        let taken = stretches.iter().map(|hit| (hit.start, hit.end));
        let mut whole: Vec<_> = taken.chain(self.marked(text)).collect();
        whole.sort_unstable();
        for (first, last) in whole.into_iter().rev() {
            if first < end && end < last {
                end = first;
            }
        }
        end
    }
}

/// Lines that may hold a value together. Each keeps its place and what belongs to it.
pub struct Lines<T> {
    held: Vec<(T, String)>,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { held: Vec::new() }
    }
}

impl<T> Lines<T> {
    /// Takes in a line and gives those that can be told, in order.
    pub fn push(&mut self, redactor: &Redactor, of: T, line: String) -> Vec<(T, String)> {
        if redactor.values.is_empty() || !Guard::RedactStream.holds() {
            let line = redactor.text(&line);
            return self
                .finish(redactor)
                .into_iter()
                .chain([(of, line)])
                .collect();
        }
        self.held.push((of, line));
        let parts: Vec<_> = self.held.iter().map(|(_, line)| line.as_str()).collect();
        let whole = parts.concat();
        let stretches = redactor.stretches(&whole);
        let mut end = redactor.settled(&whole, &stretches);
        if whole.len() - end > MOST {
            end = whole.len();
        }
        // Whole lines only, and no stretch is taken apart.
        let mut ends: Vec<_> = parts
            .iter()
            .scan(0, |at, part| {
                *at += part.len();
                Some(*at)
            })
            .collect();
        ends.retain(|at| *at <= end);
        while let Some(last) = ends.last() {
            if !stretches
                .iter()
                .any(|hit| hit.start < *last && *last < hit.end)
            {
                break;
            }
            ends.pop();
        }
        let told = redactor.spread_by(&parts[..ends.len()], &stretches);
        let lines = self.held.drain(..ends.len());
        lines
            .zip(told)
            .map(|((of, line), told)| (of, told.unwrap_or(line)))
            .collect()
    }

    /// The lines that were held back.
    pub fn finish(&mut self, redactor: &Redactor) -> Vec<(T, String)> {
        let parts: Vec<_> = self.held.iter().map(|(_, line)| line.as_str()).collect();
        let whole = parts.concat();
        let told = redactor.spread_by(&parts, &redactor.stretches(&whole));
        let lines = std::mem::take(&mut self.held).into_iter();
        lines
            .zip(told)
            .map(|((of, line), told)| (of, told.unwrap_or(line)))
            .collect()
    }
}
