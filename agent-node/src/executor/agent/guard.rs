//! Loops that lead nowhere: repeated calls, cycles, failures in a row.

/// Identical calls in a row: a warning, then a verdict is forced.
const REPEATS: (usize, usize) = (3, 5);
/// Failed results in a row, likewise.
const FAILURES: (usize, usize) = (3, 5);
/// Repetitions of an exact cycle, likewise.
const CYCLES: (usize, usize) = (2, 3);
/// Periods of a cycle that are looked for.
const PERIODS: std::ops::RangeInclusive<usize> = 2..=4;

/// What the guard says about the call just made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Nothing.
    Fine,
    /// Tell the model.
    Warn(String),
    /// Only a verdict is left.
    Force(String),
}

/// Watches the calls of one step.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Fingerprints of calls that act, oldest first.
    calls: Vec<String>,
    failures: usize,
}

impl Guard {
    /// Takes in a call. `acts` = it is neither a look nor a verdict, which may repeat.
    pub(super) fn note(&mut self, fingerprint: &str, acts: bool, failed: bool) -> Signal {
        self.failures = if failed { self.failures + 1 } else { 0 };
        if acts {
            self.calls.push(fingerprint.to_owned());
        }
        let failing = step(self.failures, FAILURES, |count| {
            format!("{count} calls in a row failed")
        });
        if !acts {
            return failing;
        }
        let repeats = self
            .calls
            .iter()
            .rev()
            .take_while(|call| *call == fingerprint)
            .count();
        let repeating = step(repeats, REPEATS, |count| {
            format!("the same call was made {count} times in a row")
        });
        let cycling = PERIODS.filter(|&period| self.varies(period)).map(|period| {
            step(self.cycles(period), CYCLES, |count| {
                format!("the same {period} calls were made {count} times over")
            })
        });
        [failing, repeating]
            .into_iter()
            .chain(cycling)
            .max_by_key(Signal::rank)
            .unwrap_or(Signal::Fine)
    }

    /// How often the last `period` calls repeat back to back.
    fn cycles(&self, period: usize) -> usize {
        let mut chunks = self.calls.rchunks(period);
        let last = chunks.next().unwrap_or_default();
        1 + chunks.take_while(|chunk| *chunk == last).count()
    }

    /// Whether the last `period` calls differ: if not, they are a repeat.
    fn varies(&self, period: usize) -> bool {
        self.calls.len() >= period
            && self.calls[self.calls.len() - period..]
                .windows(2)
                .any(|pair| pair[0] != pair[1])
    }
}

impl Signal {
    fn rank(&self) -> u8 {
        match self {
            Signal::Fine => 0,
            Signal::Warn(_) => 1,
            Signal::Force(_) => 2,
        }
    }
}

fn step(count: usize, (warn, force): (usize, usize), what: impl Fn(usize) -> String) -> Signal {
    match count {
        count if count >= force => Signal::Force(what(count)),
        count if count >= warn => Signal::Warn(what(count)),
        _ => Signal::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `W` warned, `F` forced, `.` fine, for each call; an upper-case call fails, `?` is a look.
    fn watch(calls: &str) -> String {
        let mut guard = Guard::default();
        calls
            .chars()
            .map(|call| {
                match guard.note(
                    &call.to_ascii_lowercase().to_string(),
                    call != '?',
                    call.is_uppercase(),
                ) {
                    Signal::Fine => '.',
                    Signal::Warn(_) => 'W',
                    Signal::Force(_) => 'F',
                }
            })
            .collect()
    }

    #[test]
    fn loops_warn_before_they_force() {
        assert_eq!(watch("aaaaa"), "..WWF");
        assert_eq!(watch("ababab"), "...WWF");
        assert_eq!(watch("abcabcabc"), ".....WWWF");
        assert_eq!(watch("ABCDE"), "..WWF");
        assert_eq!(watch("a?a?a"), "....W");
        assert_eq!(watch("???????"), ".......");
        assert_eq!(watch("abcdefgh"), "........");
    }
}
