//! A goal as clauses: who does what to which thing, with which values.
//!
//! The whole goal is read before anything is done. What can't be read as a row of actions is
//! declined here: conditions, negations, comparisons, arithmetic, references to nothing.

use serde_json::Value;

use super::lex::{Piece, lex};
use super::verbs::{self, Kind, Verb};
use super::words::{
    self, is_determiner, is_preposition, is_pronoun, is_role, is_stop, key_words, stem,
};
use crate::executor::decision::request::Offered;

/// Why a goal can't be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declined(pub String);

/// One action of a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clause {
    /// As it stands in the goal.
    pub(super) text: String,
    /// What is done.
    pub(super) verb: Verb,
    /// What it is done to, cut before its prepositions; the first has none.
    pub(super) segments: Vec<Segment>,
    /// Stems of what a pronoun in it may stand for; empty without pronoun.
    pub(super) antecedent: Vec<String>,
    /// The same clause once for each object, if it may be read as a list.
    pub(super) parts: Vec<Clause>,
}

/// A preposition and what follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Segment {
    /// None for a direct object.
    pub(super) preposition: Option<String>,
    /// Words and values.
    pub(super) terms: Vec<Term>,
}

/// A word or a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    /// A word that carries meaning.
    Word {
        /// Its stem.
        stem: String,
        /// Names a kind of element; may stay unmatched.
        optional: bool,
    },
    /// A value.
    Slot(Slot),
}

/// Something that may be typed, or whose text names an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    /// Indexes into the offered values: one, or the leaves of an object.
    pub(super) values: Vec<usize>,
    /// Stems of the parameter's key; empty for quoted text.
    pub(super) key: Vec<String>,
    /// The goal uses the key as a word of its sentence.
    pub(super) spoken: bool,
}

impl Segment {
    /// Its slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.terms.iter().filter_map(|term| match term {
            Term::Slot(slot) => Some(slot),
            Term::Word { .. } => None,
        })
    }

    /// Stems of its words: required ones, or all.
    pub(super) fn stems(&self, optional_too: bool) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(move |term| match term {
            Term::Word { stem, optional } if optional_too || !optional => Some(stem.as_str()),
            _ => None,
        })
    }
}

/// Reads a goal.
pub(super) fn parse(
    goal: &str,
    params: &Value,
    values: &[Offered],
) -> Result<Vec<Clause>, Declined> {
    let pieces = lex(goal, params, values)?;
    let braced: Vec<usize> = pieces.iter().flat_map(Piece::values).copied().collect();
    let reader = Reader {
        values,
        braced: &braced,
    };
    let mut clauses: Vec<Clause> = Vec::new();
    let mut said_before: Vec<String> = Vec::new();
    let mut pending: Vec<Segment> = Vec::new();
    for cut in cut(&pieces) {
        let text = text_of(goal, cut);
        let mut clause = match reader.read(cut, &text)? {
            Read::Nothing => continue,
            Read::Place(segments) => {
                pending.extend(segments);
                continue;
            }
            Read::Clause(clause) => clause,
        };
        clause.segments.append(&mut pending);
        if cut.iter().any(|piece| {
            matches!(piece, Piece::Word { text, .. } if is_pronoun(text)) && !determines(cut, piece)
        }) {
            if clauses.is_empty() {
                return Err(Declined(format!(
                    "{text:?} refers to something that the goal doesn't name"
                )));
            }
            clause.antecedent.clone_from(&said_before);
        }
        clause.parts = reader.distribute(cut, &clause, &text)?;
        let words = clause
            .segments
            .iter()
            .flat_map(|segment| segment.stems(false))
            .map(str::to_owned);
        said_before.extend(words);
        let named = clause
            .segments
            .iter()
            .flat_map(Segment::slots)
            .flat_map(|slot| &slot.values);
        for text in named.filter_map(|&index| values[index].text()) {
            said_before.extend(
                words::words(text)
                    .iter()
                    .filter(|word| !is_stop(word))
                    .map(|word| stem(word)),
            );
        }
        clauses.push(clause);
    }
    if let Some(place) = pending.first() {
        return Err(Declined(format!(
            "{:?} has no verb",
            place.preposition.clone().unwrap_or_default()
        )));
    }
    if clauses.is_empty() {
        return Err(Declined("the goal names no action".to_owned()));
    }
    Ok(clauses)
}

/// Cuts at full stops, semicolons and "then"; at "and" and commas only before a verb.
fn cut(pieces: &[Piece]) -> Vec<&[Piece]> {
    let mut cuts = Vec::new();
    let mut start = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let ends = match piece {
            Piece::Stop { .. } => true,
            Piece::Word { text, .. } if text == "then" => true,
            Piece::Comma { .. } => verb_at(&pieces[index + 1..]),
            Piece::Word { text, .. } if text == "and" => {
                index > start && verb_at(&pieces[index + 1..])
            }
            Piece::Word { .. } | Piece::Slot { .. } => false,
        };
        if ends {
            cuts.push(&pieces[start..index]);
            start = index + 1;
        }
    }
    cuts.push(&pieces[start..]);
    cuts
}

/// Whether a clause with a verb of its own begins here.
fn verb_at(pieces: &[Piece]) -> bool {
    let rest = skip_filler(pieces);
    let text = |index: usize| match rest.get(index) {
        Some(Piece::Word { text, .. }) => Some(text.as_str()),
        _ => None,
    };
    let Some(first) = text(0) else { return false };
    if verbs::known(&leading(rest)).is_some() {
        return true;
    }
    // A bare word before a determiner, a pronoun or a value can only be a verb.
    let object = match rest.get(1) {
        Some(Piece::Word { text, .. }) => is_determiner(text) || is_pronoun(text),
        Some(Piece::Slot { .. }) => true,
        _ => false,
    };
    object && !is_stop(first) && !is_preposition(first) && !is_role(first)
}

fn skip_filler(pieces: &[Piece]) -> &[Piece] {
    let filler = |piece: &Piece| matches!(piece, Piece::Word { text, .. } if is_stop(text));
    &pieces[pieces.iter().take_while(|piece| filler(piece)).count()..]
}

/// The leading plain words.
fn leading(pieces: &[Piece]) -> Vec<&str> {
    pieces
        .iter()
        .map_while(|piece| match piece {
            Piece::Word { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn is_copula(piece: &Piece) -> bool {
    matches!(piece, Piece::Word { text, .. } if matches!(text.as_str(), "is" | "are" | "was" | "were"))
}

/// Whether a pronoun stands before a noun and only points at it.
fn determines(pieces: &[Piece], pronoun: &Piece) -> bool {
    let Some(at) = pieces.iter().position(|piece| std::ptr::eq(piece, pronoun)) else {
        return false;
    };
    let Piece::Word { text, .. } = pronoun else {
        return false;
    };
    let noun = |piece: &Piece| match piece {
        Piece::Word { text, .. } => !is_preposition(text) && !is_stop(text) && text != "again",
        Piece::Slot { .. } => true,
        _ => false,
    };
    is_determiner(text)
        && pieces
            .get(at + 1)
            .is_some_and(|next| noun(next) || is_copula(next))
}

enum Read {
    Nothing,
    /// Segments before a comma that say where the next clause takes place.
    Place(Vec<Segment>),
    Clause(Clause),
}

/// What reading a clause needs to know of its goal.
struct Reader<'a> {
    values: &'a [Offered],
    /// Values that stand in braces somewhere: their keys are words like any other.
    braced: &'a [usize],
}

impl Reader<'_> {
    fn read(&self, pieces: &[Piece], text: &str) -> Result<Read, Declined> {
        let pieces = skip_filler(pieces);
        let Some(first) = pieces.first() else {
            return Ok(Read::Nothing);
        };
        let words = leading(pieces);
        let (verb, taken) = match (verbs::known(&words), first) {
            (Some(known), _) => known,
            (None, Piece::Word { text: word, .. }) if is_preposition(word) => {
                return Ok(Read::Place(self.segments(pieces, Kind::Open)));
            }
            (None, Piece::Word { text: word, .. }) => (Verb::plain(word), 1),
            (None, _) => return Err(Declined(format!("{text:?} doesn't begin with a verb"))),
        };
        let segments = self.segments(&pieces[taken..], verb.kind);
        Ok(Read::Clause(Clause {
            text: text.to_owned(),
            verb,
            segments,
            antecedent: Vec::new(),
            parts: Vec::new(),
        }))
    }

    fn segments(&self, pieces: &[Piece], kind: Kind) -> Vec<Segment> {
        let mut segments = vec![Segment::default()];
        let mut index = 0;
        while let Some(piece) = pieces.get(index) {
            index += 1;
            let Some(last) = segments.last_mut() else {
                break;
            };
            match piece {
                Piece::Word { text, .. } if is_preposition(text) => {
                    segments.push(Segment {
                        preposition: Some(text.clone()),
                        terms: Vec::new(),
                    });
                }
                // "rooms that are free"
                Piece::Word { text, .. }
                    if text == "that"
                        && matches!(pieces.get(index), Some(piece) if is_copula(piece)) =>
                {
                    segments.push(Segment {
                        preposition: Some(text.clone()),
                        terms: Vec::new(),
                    });
                }
                Piece::Word { text, .. } if is_stop(text) => {}
                Piece::Word { .. } => {
                    let rest = leading(&pieces[index - 1..]);
                    let speaks =
                        matches!(kind, Kind::Type | Kind::LogIn | Kind::Search | Kind::Change)
                            || last
                                .preposition
                                .as_deref()
                                .is_some_and(|word| word == "with" || word == "using");
                    if let Some((slot, taken)) = self.spoken(&rest).filter(|_| speaks) {
                        index += taken - 1;
                        last.terms.push(Term::Slot(slot));
                        continue;
                    }
                    let Piece::Word { text, .. } = piece else {
                        continue;
                    };
                    last.terms.push(Term::Word {
                        stem: stem(text),
                        optional: is_role(text),
                    });
                }
                Piece::Slot { slot, .. } => last.terms.push(Term::Slot(slot.clone())),
                Piece::Comma { .. } | Piece::Stop { .. } => {}
            }
        }
        segments.retain(|segment| !segment.terms.is_empty() || segment.preposition.is_some());
        segments
    }

    /// A parameter that the goal names by its key: "with the address" where there is `address`.
    fn spoken(&self, words: &[&str]) -> Option<(Slot, usize)> {
        let mut best: Option<(Slot, usize)> = None;
        for (index, offered) in self.values.iter().enumerate() {
            let Some(pointer) = offered.pointer().filter(|_| !self.braced.contains(&index)) else {
                continue;
            };
            let top = pointer.split('/').nth(1).unwrap_or_default();
            let key = key_words(top);
            let fits = !key.is_empty()
                && words.len() >= key.len()
                && key.iter().zip(words).all(|(a, b)| stem(a) == stem(b));
            if fits && best.as_ref().is_none_or(|(_, taken)| *taken < key.len()) {
                let taken = key.len();
                best = Some((below(&format!("/{top}"), self.values, true), taken));
            }
        }
        best
    }

    /// Reads "verb A and B rest" as "verb A rest" and "verb B rest".
    fn distribute(
        &self,
        pieces: &[Piece],
        whole: &Clause,
        text: &str,
    ) -> Result<Vec<Clause>, Declined> {
        if matches!(whole.verb.kind, Kind::LogIn | Kind::Back | Kind::Search) {
            return Ok(Vec::new());
        }
        let pieces = skip_filler(pieces);
        let body = &pieces[whole.verb.said.len().min(pieces.len())..];
        let joint = |piece: &Piece| match piece {
            Piece::Comma { .. } => true,
            Piece::Word { text, .. } => text == "and",
            _ => false,
        };
        let groups: Vec<&[Piece]> = body
            .split(joint)
            .filter(|group| !skip_filler(group).is_empty())
            .collect();
        if groups.len() < 2 {
            return Ok(Vec::new());
        }
        // What follows the last object belongs to every object that has none of it itself.
        let is_preposed = |piece: &Piece| matches!(piece, Piece::Word { text, .. } if is_preposition(text) && text != "of");
        let has_tail = |group: &[Piece]| group.iter().any(is_preposed);
        let tail: &[Piece] = match groups.split_last() {
            Some((last, before)) if !before.iter().any(|group| has_tail(group)) => {
                &last[last.iter().position(is_preposed).unwrap_or(last.len())..]
            }
            _ => &[],
        };
        let mut parts = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let mut own = group.to_vec();
            if index + 1 < groups.len() {
                own.extend(tail.iter().cloned());
            }
            let segments = self.segments(&own, whole.verb.kind);
            if segments.is_empty() {
                return Err(Declined(format!(
                    "{text:?} lists something that has no name"
                )));
            }
            parts.push(Clause {
                segments,
                parts: Vec::new(),
                ..whole.clone()
            });
        }
        Ok(parts)
    }
}

/// The slot of a parameter: one value, or all that lie below it.
pub(super) fn below(pointer: &str, values: &[Offered], spoken: bool) -> Slot {
    let under = |offered: &Offered| {
        offered.pointer().is_some_and(|found| {
            found
                .strip_prefix(pointer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let indexes = values
        .iter()
        .enumerate()
        .filter(|(_, offered)| under(offered))
        .map(|(index, _)| index);
    let key = pointer
        .rsplit('/')
        .next()
        .map(key_words)
        .unwrap_or_default();
    Slot {
        values: indexes.collect(),
        key: key.iter().map(|word| stem(word)).collect(),
        spoken,
    }
}

/// The source text of some pieces.
fn text_of(goal: &str, pieces: &[Piece]) -> String {
    match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) => goal[first.span().start..last.span().end].trim().to_owned(),
        _ => String::new(),
    }
}
