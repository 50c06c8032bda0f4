//! Whether a text ends where a form has begun.
//!
//! Every start of every form is known by its hash, which grows from the right. A text's ends are
//! compared by hash alone: an accident hides a few characters too many, never too few.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{skeleton, telling};

/// See the module.
pub(crate) struct Heads {
    starts: HashMap<u64, Start, BuildHasherDefault<AsItIs>>,
    longest: usize,
}

#[derive(Clone, Copy)]
struct Start {
    value: usize,
    /// Long enough to give the value away.
    telling: bool,
}

/// The keys are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash ^ (hash >> 32);
    }
}

/// Any odd number with bits all over.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Heads {
    pub(crate) fn new<'p>(patterns: impl Iterator<Item = (&'p [u8], usize)>) -> Self {
        let mut starts: HashMap<u64, Start, _> = HashMap::default();
        let mut longest = 0;
        for (pattern, value) in patterns {
            longest = longest.max(pattern.len());
            let enough = skeleton::head(pattern, telling(skeleton::chars(pattern)));
            let mut hash = 0u64;
            for (at, byte) in pattern[..pattern.len() - 1].iter().enumerate() {
                // Of `a b c`: a·F² + b·F + c, with 1 added to each for their number.
                hash = hash.wrapping_mul(FACTOR).wrapping_add(u64::from(*byte) + 1);
                let start = starts.entry(hash).or_insert(Start {
                    value,
                    telling: false,
                });
                if at + 1 >= enough && !start.telling {
                    *start = Start {
                        value,
                        telling: true,
                    };
                }
            }
        }
        Self { starts, longest }
    }

    /// The longest end of a skeleton with which a form may begin, bytes.
    pub(crate) fn longest(&self, skeleton: &[u8]) -> usize {
        self.ends(skeleton)
            .map(|(length, _)| length)
            .last()
            .unwrap_or(0)
    }

    /// The longest one that gives its value away, and the value.
    pub(crate) fn telling(&self, skeleton: &[u8]) -> Option<(usize, usize)> {
        self.ends(skeleton)
            .filter(|(_, start)| start.telling)
            .map(|(length, start)| (length, start.value))
            .last()
    }

    fn ends<'s>(&'s self, skeleton: &'s [u8]) -> impl Iterator<Item = (usize, Start)> + 's {
        let (mut hash, mut power) = (0u64, 1u64);
        let backwards = skeleton.iter().rev().take(self.longest).enumerate();
        backwards.filter_map(move |(at, byte)| {
            hash = hash.wrapping_add(power.wrapping_mul(u64::from(*byte) + 1));
            power = power.wrapping_mul(FACTOR);
            self.starts.get(&hash).map(|start| (at + 1, *start))
        })
    }
}
