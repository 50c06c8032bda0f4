//! Words of general English, and how two of them are the same.
//!
//! The lists here are about language and about user interfaces in general. Nothing in them comes
//! from an application: a goal's own words find their meaning on the screen or not at all.

use std::collections::BTreeSet;

/// Carries no meaning of its own, in goals and labels alike.
const STOP: &[&str] = &[
    "a", "an", "the", "my", "your", "our", "their", "his", "her", "its", "it", "them", "this",
    "that", "these", "those", "please", "i", "we", "you", "me", "us", "is", "are", "be", "am",
    "was", "were", "do", "does", "and", "there", "here", "now", "just", "also", "then", "what",
];

/// Begins a segment of a clause.
pub(super) const PREPOSITIONS: &[&str] = &[
    "to", "from", "in", "on", "into", "onto", "at", "with", "for", "by", "as", "of", "near",
    "within", "inside", "using", "via", "named", "called", "titled", "labelled", "labeled",
    "saying", "through", "about",
];

/// Names a kind of element rather than one element: may stay unmatched.
const ROLES: &[&str] = &[
    "page", "screen", "button", "link", "field", "box", "textbox", "input", "form", "list", "item",
    "option", "dropdown", "menu", "tab", "checkbox", "icon", "dialog", "popup", "window",
    "section", "row", "entry", "value", "area", "panel", "toggle", "switch", "site", "website",
    "app",
];

/// Stands for something said before.
const PRONOUNS: &[&str] = &["it", "them", "this", "that", "these", "those"];

const DETERMINERS: &[&str] = &[
    "the", "a", "an", "my", "your", "our", "their", "his", "her", "its", "this", "that", "these",
    "those",
];

/// Makes a goal something other than a row of actions, whatever the screen says.
const BINDING: &[(&str, &str)] = &[
    ("if", "a condition"),
    ("unless", "a condition"),
    ("otherwise", "a condition"),
    ("else", "a condition"),
    ("whether", "a condition"),
    ("when", "a condition"),
    ("whenever", "a condition"),
    ("while", "a condition"),
    ("until", "a condition"),
    ("once", "a condition"),
    ("before", "an order of its own"),
    ("after", "an order of its own"),
    ("or", "an alternative"),
    ("either", "an alternative"),
    ("not", "a negation"),
    ("dont", "a negation"),
    ("doesnt", "a negation"),
    ("never", "a negation"),
    ("neither", "a negation"),
    ("nor", "a negation"),
    ("without", "a negation"),
    ("except", "an exception"),
    ("but", "an exception"),
    ("instead", "an alternative"),
    ("than", "a comparison"),
    ("verify", "a check"),
    ("ensure", "a check"),
    ("sure", "a check"),
    ("wait", "a wait"),
    ("because", "a reason"),
    ("which", "knowledge beyond the screen"),
    ("who", "knowledge beyond the screen"),
    ("why", "knowledge beyond the screen"),
    ("how", "knowledge beyond the screen"),
    ("whose", "knowledge beyond the screen"),
    ("whatever", "a choice left open"),
    ("whichever", "a choice left open"),
];

/// Asks for a choice, a count or a comparison, unless the screen has the word itself.
const OPEN_ENDED: &[(&str, &str)] = &[
    ("all", "a quantity"),
    ("every", "a quantity"),
    ("each", "a quantity"),
    ("both", "a quantity"),
    ("everything", "a quantity"),
    ("anything", "a choice left open"),
    ("something", "a choice left open"),
    ("nothing", "a quantity"),
    ("any", "a choice left open"),
    ("some", "a choice left open"),
    ("several", "a quantity"),
    ("few", "a quantity"),
    ("many", "a quantity"),
    ("none", "a quantity"),
    ("other", "a choice left open"),
    ("another", "a choice left open"),
    ("rest", "a quantity"),
    ("same", "a comparison"),
    ("different", "a comparison"),
    ("similar", "a comparison"),
    ("random", "a choice left open"),
    ("suitable", "a choice left open"),
    ("best", "a comparison"),
    ("worst", "a comparison"),
    ("most", "a comparison"),
    ("least", "a comparison"),
    ("more", "a comparison"),
    ("less", "a comparison"),
    ("fewer", "a comparison"),
    ("double", "arithmetic"),
    ("twice", "arithmetic"),
    ("triple", "arithmetic"),
    ("half", "arithmetic"),
    ("halve", "arithmetic"),
    ("sum", "arithmetic"),
    ("plus", "arithmetic"),
    ("minus", "arithmetic"),
    ("times", "arithmetic"),
    ("increment", "arithmetic"),
    ("decrement", "arithmetic"),
    ("first", "an ordinal"),
    ("second", "an ordinal"),
    ("third", "an ordinal"),
    ("fourth", "an ordinal"),
    ("fifth", "an ordinal"),
    ("last", "an ordinal"),
    ("previous", "an ordinal"),
    ("under", "a comparison"),
    ("over", "a comparison"),
    ("above", "a comparison"),
    ("below", "a comparison"),
    ("between", "a comparison"),
];

/// Words that end like a superlative and are none.
const NOT_SUPERLATIVE: &[&str] = &[
    "test", "rest", "west", "guest", "request", "quest", "chest", "vest", "nest", "pest", "forest",
    "interest", "invest", "suggest", "contest", "protest", "harvest", "honest", "modest", "digest",
    "arrest", "conquest", "manifest", "ingest", "zest", "crest", "fest", "jest",
];

/// Whether the word carries no meaning of its own.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// Whether the word begins a segment.
pub(super) fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.contains(&word)
}

/// Whether the word names a kind of element.
pub(super) fn is_role(word: &str) -> bool {
    ROLES.contains(&word)
        || word
            .strip_suffix('s')
            .is_some_and(|one| ROLES.contains(&one))
}

/// Whether the word stands for something said before.
pub(super) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.contains(&word)
}

/// Whether a noun follows.
pub(super) fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(&word)
}

/// What a word asks for that no row of actions gives, if it does so on every screen.
pub(super) fn binding(word: &str) -> Option<&'static str> {
    BINDING
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, what)| *what)
}

/// Likewise, if it does so unless a label on the screen has it. A name in mid-sentence
/// (`capitalized`) is none.
pub(super) fn open_ended(word: &str, capitalized: bool) -> Option<&'static str> {
    if let Some((_, what)) = OPEN_ENDED.iter().find(|(known, _)| *known == word) {
        return Some(what);
    }
    let superlative = word.len() > 4 && word.ends_with("est") && !NOT_SUPERLATIVE.contains(&word);
    (superlative && !capitalized).then_some("a comparison")
}

/// The lower-case words of a text, apostrophes dropped, possessive `'s` cut.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_alphanumeric() => word.extend(c.to_lowercase()),
            '\'' | '’'
                if !word.is_empty() && chars.peek().is_some_and(|next| next.is_alphanumeric()) =>
            {
                let rest: String = chars.clone().take_while(|c| c.is_alphanumeric()).collect();
                if rest.eq_ignore_ascii_case("s") {
                    chars.next();
                }
            }
            _ if !word.is_empty() => found.push(std::mem::take(&mut word)),
            _ => {}
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

/// The words of a parameter's key: `fullName`, `full_name` and `full-name` are two.
pub(super) fn key_words(key: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut before = ' ';
    for c in key.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(c);
        before = c;
    }
    words(&spaced)
}

/// A word without its ending: number, `-ing`, `-ed`, mute `e`. Equal stems are the same word.
pub(super) fn stem(word: &str) -> String {
    let keep = |word: &str, ending: &str| {
        word.strip_suffix(ending)
            .filter(|rest| rest.len() >= 3 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']))
            .map(str::to_owned)
    };
    if word.len() <= 3 || !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    if let Some(rest) = keep(&stem, "ies") {
        stem = rest + "y";
    } else if let Some(rest) = keep(&stem, "es").filter(|rest| {
        rest.ends_with(['s', 'x', 'z']) || rest.ends_with("ch") || rest.ends_with("sh")
    }) {
        stem = rest;
    } else if !(stem.ends_with("ss") || stem.ends_with("us") || stem.ends_with("is")) {
        stem = keep(&stem, "s").unwrap_or(stem);
    }
    if let Some(rest) = keep(&stem, "ing").or_else(|| keep(&stem, "ed")) {
        stem = rest;
        let doubled = stem.len() > 3
            && stem
                .as_bytes()
                .ends_with(&[stem.as_bytes()[stem.len() - 1]; 2]);
        if doubled && !stem.ends_with("ll") && !stem.ends_with("ss") {
            stem.pop();
        }
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

/// A text as words to match against.
#[derive(Clone, Debug, Default)]
pub(super) struct Bag {
    /// All words in order, unstemmed.
    pub(super) words: Vec<String>,
    /// Stems of all words, and of neighbours written as one (`check out` has `checkout`).
    stems: BTreeSet<String>,
    /// Stems of words that carry meaning, prepositions apart.
    pub(super) content: BTreeSet<String>,
}

impl Bag {
    /// The words of some texts. Neighbours are joined within one text only.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut bag = Self::default();
        for text in texts {
            let found = words(text);
            bag.stems.extend(found.iter().map(|word| stem(word)));
            bag.stems
                .extend(found.windows(2).map(|pair| stem(&pair.concat())));
            bag.content.extend(
                found
                    .iter()
                    .filter(|word| !is_stop(word) && !is_preposition(word))
                    .map(|word| stem(word)),
            );
            bag.words.extend(found);
        }
        bag
    }

    /// Whether it holds a stem.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.stems.contains(stem)
    }

    /// Whether it holds these words one after the other.
    pub(super) fn has_phrase(&self, phrase: &[&str]) -> bool {
        let same = |window: &[String]| window.iter().zip(phrase).all(|(a, b)| stem(a) == stem(b));
        self.words.windows(phrase.len()).any(same)
            || phrase.len() > 1 && self.has(&stem(&phrase.concat()))
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for (one, other) in [
            ("categories", "category"),
            ("shoes", "shoe"),
            ("boxes", "box"),
            ("running", "run"),
            ("rating", "rate"),
            ("saved", "save"),
            ("adding", "add"),
            ("addresses", "address"),
            ("applied", "applied"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        for (one, other) in [
            ("status", "stat"),
            ("list", "listen"),
            ("bus", "bu"),
            ("thing", "th"),
        ] {
            assert_ne!(stem(one), stem(other), "{one} {other}");
        }
    }

    #[test]
    fn words_drop_apostrophes_and_possessives() {
        assert_eq!(
            words("Don't open Ann's e-mail (£9.50)"),
            ["dont", "open", "ann", "e", "mail", "9", "50"]
        );
        assert_eq!(key_words("fullName_2"), ["full", "name", "2"]);
    }

    #[test]
    fn neighbours_match_as_one_word() {
        assert!(Bag::of(["Check out"]).has("checkout"));
        assert!(Bag::of(["Checkout"]).has_phrase(&["check", "out"]));
        assert!(!Bag::of(["Check", "out"]).has("checkout"));
    }

    #[test]
    fn superlatives_are_comparisons_and_names_are_not() {
        assert!(open_ended("cheapest", false).is_some());
        assert!(open_ended("guest", false).is_none());
        assert!(open_ended("everest", true).is_none());
    }
}
