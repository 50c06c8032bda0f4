//! Finds the few places of a text where a pattern may begin, at a fraction of the automaton's cost.
//!
//! Every pattern has at least six bytes, so among its first three starting places there is one whose
//! offset in the text is a multiple of three and whose four bytes are known. The sieve holds a hash of
//! those four bytes, with letters folded, for each of the three places of every pattern; a text is
//! looked at on every third byte only.

/// Bits of the table; a power of two.
const BITS: usize = 1 << 21;

/// Shortest pattern, bytes.
pub(crate) const SHORTEST: usize = 6;

pub(crate) struct Sieve {
    table: Box<[u64]>,
}

impl Sieve {
    /// For patterns of at least [`SHORTEST`] bytes.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut table = vec![0; BITS / 64].into_boxed_slice();
        for pattern in patterns {
            for start in 0..3 {
                let slot = slot(word(pattern, start));
                table[slot / 64] |= 1 << (slot % 64);
            }
        }
        Self { table }
    }

    /// The first place from `from` on that may be one of the first three bytes of a pattern.
    #[inline]
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from.next_multiple_of(3);
        while at + 4 <= text.len() {
            let slot = slot(word(text, at));
            if self.table[slot / 64] & (1 << (slot % 64)) != 0 {
                return Some(at);
            }
            at += 3;
        }
        None
    }
}

/// Four bytes with ASCII letters folded; others may fall together, which only costs a look.
#[inline]
fn word(bytes: &[u8], at: usize) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    u32::from_le_bytes(four) | 0x2020_2020
}

#[inline]
fn slot(word: u32) -> usize {
    // Fibonacci hashing; the high bits are the good ones.
    (word.wrapping_mul(0x9E37_79B1) >> 11) as usize
}
