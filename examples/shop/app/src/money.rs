//! Amounts of money.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Sub};

/// Whole pence; an `i64` holds any cart we allow many times over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Pence(pub(crate) i64);

impl Pence {
    pub(crate) const fn pounds(pounds: i64) -> Self {
        Self(pounds * 100)
    }

    /// The given share, rounded down to a penny.
    pub(crate) fn percent(self, percent: i64) -> Self {
        Self(self.0 * percent / 100)
    }
}

impl fmt::Display for Pence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (pounds, pence) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        write!(f, "{sign}£{pounds}.{pence:02}")
    }
}

impl Add for Pence {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Pence {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u32> for Pence {
    type Output = Self;

    fn mul(self, times: u32) -> Self {
        Self(self.0 * i64::from(times))
    }
}

impl Sum for Pence {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_pounds_and_pence() {
        for (pence, text) in [
            (0, "£0.00"),
            (5, "£0.05"),
            (123_456, "£1234.56"),
            (-950, "-£9.50"),
        ] {
            assert_eq!(Pence(pence).to_string(), text);
        }
        assert_eq!(Pence(999).percent(10), Pence(99));
    }
}
