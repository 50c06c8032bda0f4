//! Loops that lead nowhere: repeats, cycles, failures, looks, choices that undo each other. Pure:
//! it sees what each call was and what became of the screen. Nobody is asked; a verdict is forced.

use std::collections::BTreeSet;

/// The same call without progress among the last [`WINDOW`]: a warning, then a verdict is forced.
const REPEATS: (usize, usize) = (3, 5);
/// Failed results in a row, likewise.
const FAILURES: (usize, usize) = (3, 5);
/// Repetitions of an exact cycle, likewise.
const CYCLES: (usize, usize) = (2, 3);
/// Periods of a cycle that are looked for.
const PERIODS: std::ops::RangeInclusive<usize> = 2..=4;
/// Calls without progress that are compared.
const WINDOW: usize = 8;
/// Calls without progress, since the last progress, that force a verdict. Nothing else resets it.
const FUTILE: usize = 9;
/// Switches between two choices that reset each other which force a verdict.
const SWITCHES: usize = 4;

/// What a call was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A look; it may repeat.
    Look,
    /// An action.
    Act,
    /// A choice of an option that changed another field.
    Reset,
    /// A verdict, or no call that is known.
    Other,
}

/// A call and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made<'a> {
    pub(super) kind: Kind,
    /// Tool, target by role and name, and input; not the wording around it.
    pub(super) signature: &'a str,
    /// For [`Kind::Reset`], the field.
    pub(super) field: &'a str,
    pub(super) failed: bool,
    /// Whether it went to the route that was open already.
    pub(super) stays: bool,
    /// The screen after it, by [`state`](super::state::state).
    pub(super) state: &'a str,
}

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
#[derive(Debug)]
pub(super) struct Guard {
    /// Looks in a row without a change that force a verdict.
    idle_looks: usize,
    /// The newest screen.
    state: String,
    /// Every screen of this step.
    seen: BTreeSet<String>,
    /// Signature and resulting screen of every action that was done, oldest first.
    frames: Vec<(String, String)>,
    /// Signatures without progress since the last progress, oldest first.
    futile: Vec<String>,
    failures: usize,
    looks: usize,
    /// Fields of choices that changed another field, oldest first.
    resets: Vec<String>,
}

impl Guard {
    pub(super) fn new(idle_looks: u32, state: String) -> Self {
        Self {
            idle_looks: usize::try_from(idle_looks).unwrap_or(usize::MAX),
            seen: BTreeSet::from([state.clone()]),
            state,
            frames: Vec::new(),
            futile: Vec::new(),
            failures: 0,
            looks: 0,
            resets: Vec::new(),
        }
    }

    /// Takes in a call.
    pub(super) fn note(&mut self, made: Made<'_>) -> Signal {
        let changed = made.state != self.state;
        made.state.clone_into(&mut self.state);
        let new = self.seen.insert(made.state.to_owned());
        self.failures = match made.kind {
            _ if made.failed => self.failures + 1,
            Kind::Look => self.failures,
            Kind::Act | Kind::Reset | Kind::Other => 0,
        };
        let mut signals = vec![step(self.failures, FAILURES, |count| {
            format!("{count} calls in a row failed")
        })];
        match made.kind {
            Kind::Look => {
                self.looks = if changed { 0 } else { self.looks + 1 };
                let idle = (usize::MAX, self.idle_looks);
                signals.push(step(self.looks, idle, |count| {
                    format!("{count} looks in a row saw no change")
                }));
            }
            Kind::Act | Kind::Reset => {
                self.looks = 0;
                signals.extend(self.acted(made, new && !made.stays));
            }
            Kind::Other => {}
        }
        signals
            .into_iter()
            .max_by_key(Signal::rank)
            .unwrap_or(Signal::Fine)
    }

    fn acted(&mut self, made: Made<'_>, progress: bool) -> Vec<Signal> {
        let mut signals = Vec::new();
        if progress {
            self.futile.clear();
        } else {
            self.futile.push(made.signature.to_owned());
            let recent = self.futile.iter().rev().take(WINDOW);
            let same = recent.filter(|call| *call == made.signature).count();
            signals.push(step(same, REPEATS, |count| {
                format!("the same call was made {count} times without progress")
            }));
            signals.push(step(self.futile.len(), (usize::MAX, FUTILE), |count| {
                format!("{count} calls brought nothing new")
            }));
        }
        if made.failed {
            return signals;
        }
        let frame = (made.signature.to_owned(), made.state.to_owned());
        self.frames.push(frame);
        signals.extend(PERIODS.filter(|&period| self.varies(period)).map(|period| {
            step(self.cycles(period), CYCLES, |count| {
                format!("the same {period} calls were made {count} times over")
            })
        }));
        if made.kind == Kind::Reset {
            self.resets.push(made.field.to_owned());
            signals.push(step(self.switches(), (usize::MAX, SWITCHES), |_| {
                "two choices reset each other".to_owned()
            }));
        }
        signals
    }

    /// How often the last `period` calls repeat back to back, on the same screens.
    fn cycles(&self, period: usize) -> usize {
        let mut chunks = self.frames.rchunks(period);
        let last = chunks.next().unwrap_or_default();
        1 + chunks.take_while(|chunk| *chunk == last).count()
    }

    /// Whether the last `period` calls differ: if not, they are a repeat.
    fn varies(&self, period: usize) -> bool {
        self.frames.len() >= period
            && self.frames[self.frames.len() - period..]
                .windows(2)
                .any(|pair| pair[0].0 != pair[1].0)
    }

    /// Switches in a row between the two newest of the fields that reset others.
    fn switches(&self) -> usize {
        let Some(pair) = self.resets.windows(2).last() else {
            return 0;
        };
        let same = |other: &[String]| {
            other[0] != other[1] && pair.contains(&other[0]) && pair.contains(&other[1])
        };
        self.resets
            .windows(2)
            .rev()
            .take_while(|other| same(other))
            .count()
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

    /// Calls as `a0`: a signature and the screen after it. An upper-case call fails, `?` is a look,
    /// `/` goes to the open route. Answers with `W` warned, `F` forced, `.` fine.
    fn watch(calls: &str) -> String {
        let mut guard = Guard::new(6, "0".to_owned());
        let said = calls.split(' ').map(|call| {
            let (signature, state) = call.split_at(1);
            let kind = if signature == "?" {
                Kind::Look
            } else {
                Kind::Act
            };
            let signal = guard.note(Made {
                kind,
                signature: &signature.to_ascii_lowercase(),
                field: "",
                failed: signature.chars().all(char::is_uppercase) && signature != "?",
                stays: signature == "/",
                state,
            });
            match signal {
                Signal::Fine => '.',
                Signal::Warn(_) => 'W',
                Signal::Force(_) => 'F',
            }
        });
        said.collect()
    }

    #[test]
    fn repeats_without_progress_warn_before_they_force() {
        assert_eq!(watch("a0 a0 a0 a0 a0"), "..WWF");
        assert_eq!(watch("a0 ?0 a0 ?0 a0"), "....W");
        // Another call in between doesn't hide it.
        assert_eq!(watch("a0 b0 a0 c0 a0 d0 a0 e0 a0").pop(), Some('F'));
        // Each brings something new.
        assert_eq!(watch("a1 a2 a3 a4 a5 a6"), "......");
        assert_eq!(watch("A0 B0 C0 D0 E0"), "..WWF");
    }

    #[test]
    fn cycles_need_the_same_screens() {
        assert_eq!(watch("a1 b0 a1 b0 a1 b0"), "...WWF");
        assert_eq!(watch("a1 b2 c0 a1 b2 c0 a1 b2 c0"), ".....WWWF");
        assert_eq!(watch("a1 b2 a3 b4 a5 b6"), "......");
    }

    #[test]
    fn only_something_new_resets_what_led_nowhere() {
        // Known screens, different calls: no repeat, no cycle, and still nowhere.
        assert_eq!(watch("a1 b0 c1 d0 e1 f0 g1 h0 i1 j0"), ".........F");
        assert_eq!(watch("a1 b0 c1 d0 e1 f0 x2 h0 i1 j0"), "..........");
        // A reload shows a new clock at most.
        assert_eq!(watch("/1 /2 /3 /4 /5"), "..WWF");
    }

    #[test]
    fn idle_looks_are_counted_and_a_change_resets_them() {
        assert_eq!(watch("?0 ?0 ?0 ?0 ?0 ?0"), ".....F");
        assert_eq!(watch("?0 ?0 ?0 ?1 ?1 ?1 ?1 ?1"), "........");
    }

    #[test]
    fn two_choices_that_reset_each_other_end() {
        let mut guard = Guard::new(6, String::new());
        let mut choose = |field: &str, count: usize| {
            let state = count.to_string();
            let signature = format!("select {field} {count}");
            guard.note(Made {
                kind: Kind::Reset,
                signature: &signature,
                field,
                failed: false,
                stays: false,
                state: &state,
            })
        };
        let fields = ["country", "city", "country", "city", "country"];
        let said: Vec<Signal> = (0..)
            .zip(fields)
            .map(|(count, field)| choose(field, count))
            .collect();
        assert!(said[..4].iter().all(|signal| *signal == Signal::Fine));
        assert!(matches!(&said[4], Signal::Force(why) if why.contains("reset each other")));
    }
}
