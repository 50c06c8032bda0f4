//! Redacting text that comes in pieces.

use muster_proto::guard::Guard;

use crate::Redactor;

/// A redactor over writes: holds back what may be the beginning of a value. Whatever the pieces, the
/// whole of what it gives is what [`Redactor::text`] makes of the whole text.
pub struct Stream<'r> {
    redactor: &'r Redactor,
    held: String,
}

impl<'r> Stream<'r> {
    /// With nothing held back.
    pub fn new(redactor: &'r Redactor) -> Self {
        Self {
            redactor,
            held: String::new(),
        }
    }

    /// Takes in a piece and gives what is safe to pass on.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let back = match Guard::RedactStream.holds() {
            true => self.redactor.longest().saturating_sub(1),
            false => 0,
        };
        let safe = self.held.len().saturating_sub(back);
        let cut = self.redactor.boundary(&self.held, safe);
        let rest = self.held.split_off(cut);
        let passed = std::mem::replace(&mut self.held, rest);
        self.redactor.text(&passed)
    }

    /// The end of the text.
    pub fn finish(self) -> String {
        self.redactor.text(&self.held)
    }
}
