//! Finds many short patterns in a skeleton, fast where there is none.
//!
//! Every pattern is longer than a gram, so of a few grams at consecutive offsets of it one lies on a
//! grid with that many steps. Only the grid is looked up, in a bit set that mostly says no (the idea
//! of Wu and Manber, 1994). Steps don't depend on each other, unlike those of an automaton.

use std::collections::BTreeMap;

/// Bytes of a gram.
const GRAM: usize = 4;

/// Widest grid.
const WIDEST: usize = 6;

/// Shortest pattern, bytes.
pub(crate) const SHORTEST: usize = 6;

/// A found pattern, in bytes of what was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Which value it is a form of.
    pub(crate) value: usize,
}

struct Pattern {
    bytes: Box<[u8]>,
    value: usize,
}

/// A gram of a pattern and where it stands in it.
#[derive(Clone, Copy)]
struct Place {
    gram: u32,
    pattern: u32,
    offset: u32,
}

/// See the module.
pub(crate) struct Index {
    patterns: Vec<Pattern>,
    /// Steps of the grid.
    step: usize,
    /// One bit for each hash that a gram has.
    bits: Vec<u64>,
    shift: u32,
    /// Places by bucket; bucket `b` is `starts[b]..starts[b + 1]`.
    places: Vec<Place>,
    starts: Vec<u32>,
    bucket_shift: u32,
    longest: usize,
}

fn gram(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn hash(gram: u32) -> u32 {
    (gram ^ (gram >> 15)).wrapping_mul(0x9e37_79b1)
}

impl Index {
    /// Of patterns with the value that each is a form of; those below [`SHORTEST`] are left out.
    pub(crate) fn new(patterns: BTreeMap<Vec<u8>, usize>) -> Self {
        let patterns: Vec<_> = patterns
            .into_iter()
            .filter(|(bytes, _)| bytes.len() >= SHORTEST)
            .map(|(bytes, value)| Pattern {
                bytes: bytes.into(),
                value,
            })
            .collect();
        let lengths = || patterns.iter().map(|pattern| pattern.bytes.len());
        let step = (lengths().min().unwrap_or(SHORTEST) - GRAM + 1).min(WIDEST);
        let mut places: Vec<_> = (0u32..)
            .zip(&patterns)
            .flat_map(|(pattern, Pattern { bytes, .. })| {
                (0u32..).take(step).map(move |offset| Place {
                    gram: gram(bytes, offset as usize),
                    pattern,
                    offset,
                })
            })
            .collect();
        // Few enough bits set that most lookups end there, few enough in all to stay near the core.
        let size = (places.len() * 64)
            .next_power_of_two()
            .clamp(1 << 12, 1 << 21);
        let shift = 32 - size.trailing_zeros();
        let buckets = places.len().next_power_of_two().max(2);
        let bucket_shift = 32 - buckets.trailing_zeros();
        let bucket = |place: &Place| (hash(place.gram) >> bucket_shift) as usize;
        places.sort_by_key(bucket);
        let mut bits = vec![0; size / 64];
        let mut starts = vec![0u32; buckets + 1];
        for place in &places {
            let bit = (hash(place.gram) >> shift) as usize;
            bits[bit / 64] |= 1 << (bit % 64);
            starts[bucket(place) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self {
            longest: lengths().max().unwrap_or(0),
            patterns,
            step,
            bits,
            shift,
            places,
            starts,
            bucket_shift,
        }
    }

    /// How many patterns there are.
    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Length of the longest pattern; 0 = there is none.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The patterns and the value that each is a form of.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.patterns
            .iter()
            .map(|pattern| (&*pattern.bytes, pattern.value))
    }

    /// Every place of every pattern, in no order.
    pub(crate) fn hits(&self, skeleton: &[u8], hits: &mut Vec<Hit>) {
        if self.patterns.is_empty() {
            return;
        }
        let mut at = 0;
        while let Some(&[a, b, c, d]) = skeleton.get(at..at + GRAM) {
            let gram = u32::from_le_bytes([a, b, c, d]);
            let hash = hash(gram);
            let bit = (hash >> self.shift) as usize;
            if self.bits[bit / 64] >> (bit % 64) & 1 == 1 {
                self.verify(skeleton, at, gram, hash, hits);
            }
            at += self.step;
        }
    }

    #[cold]
    fn verify(&self, skeleton: &[u8], at: usize, gram: u32, hash: u32, hits: &mut Vec<Hit>) {
        let bucket = (hash >> self.bucket_shift) as usize;
        let (first, last) = (
            self.starts[bucket] as usize,
            self.starts[bucket + 1] as usize,
        );
        for place in &self.places[first..last] {
            if place.gram != gram {
                continue;
            }
            let Some(start) = at.checked_sub(place.offset as usize) else {
                continue;
            };
            let pattern = &self.patterns[place.pattern as usize];
            let end = start + pattern.bytes.len();
            if skeleton.get(start..end) == Some(&*pattern.bytes) {
                hits.push(Hit {
                    start,
                    end,
                    value: pattern.value,
                });
            }
        }
    }
}

/// Joins what overlaps, in order; the longest part names the whole.
pub(crate) fn stretches(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end), hit.value));
    let mut joined: Vec<Hit> = Vec::new();
    let mut longest = 0;
    for hit in hits {
        let length = hit.end - hit.start;
        match joined.last_mut().filter(|last| hit.start < last.end) {
            Some(last) => {
                last.end = last.end.max(hit.end);
                if length > longest {
                    longest = length;
                    last.value = hit.value;
                }
            }
            None => {
                longest = length;
                joined.push(hit);
            }
        }
    }
    joined
}
