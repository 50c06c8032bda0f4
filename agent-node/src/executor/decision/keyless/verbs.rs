//! Verbs of user interfaces in general, with their light synonyms.
//!
//! A verb that is not here is taken as it stands: some label on the screen has to say it.

use super::words::{Bag, stem};

/// What a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The element that the object names; the verb itself need not be on it.
    Open,
    /// Text into a search field, then Enter.
    Search,
    /// Text into a field.
    Type,
    /// A new value for a field, a choice or a state.
    Change,
    /// An option, a radio button, a tab.
    Choose,
    /// A checkbox or switch to on.
    Check,
    /// A checkbox or switch to off.
    Uncheck,
    /// Credentials into a form, and its button.
    LogIn,
    /// One step back in history.
    Back,
    /// The element whose label has the verb.
    Named,
}

/// A verb as a goal uses it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verb {
    /// What it asks for.
    pub(super) kind: Kind,
    /// As it stands in the goal.
    pub(super) said: Vec<String>,
    /// Index of its group; none = it means only what it says.
    group: Option<usize>,
}

impl Verb {
    /// A verb that is not listed: a label has to say it.
    pub(super) fn plain(word: &str) -> Self {
        Self {
            kind: Kind::Named,
            said: vec![word.to_owned()],
            group: None,
        }
    }

    /// How a label says this verb, if it does.
    pub(super) fn fits(&self, label: &Bag) -> Option<Fit> {
        let said: Vec<&str> = self.said.iter().map(String::as_str).collect();
        // The particle of a verb may stand behind its object, and may be missing on a label.
        if label.has_phrase(&said)
            || said.len() > 1 && self.kind != Kind::Named && label.has_phrase(&said[..1])
        {
            return Some(Fit {
                literal: true,
                stems: said.iter().map(|word| stem(word)).collect(),
            });
        }
        let group = &GROUPS[self.group?];
        let synonym = group
            .phrases
            .iter()
            .chain(group.labels)
            .find(|phrase| label.has_phrase(phrase))?;
        Some(Fit {
            literal: false,
            stems: synonym.iter().map(|word| stem(word)).collect(),
        })
    }
}

/// How a label says a verb.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// With the goal's own word.
    pub(super) literal: bool,
    /// The label's words that are explained by it.
    pub(super) stems: Vec<String>,
}

struct Group {
    kind: Kind,
    /// In goals. The longest that fits wins.
    phrases: &'static [&'static [&'static str]],
    /// On labels, beyond `phrases`.
    labels: &'static [&'static [&'static str]],
}

const GROUPS: &[Group] = &[
    Group {
        kind: Kind::Open,
        phrases: &[
            &["go", "to"],
            &["go"],
            &["open"],
            &["visit"],
            &["navigate", "to"],
            &["navigate"],
            &["show"],
            &["view"],
            &["see"],
            &["browse"],
            &["click", "on"],
            &["click"],
            &["press"],
            &["tap", "on"],
            &["tap"],
            &["hit"],
            &["follow"],
            &["head", "to"],
            &["look", "at"],
            &["return", "to"],
            &["switch", "to"],
            &["expand"],
            &["display"],
        ],
        labels: &[],
    },
    Group {
        kind: Kind::Back,
        phrases: &[&["go", "back"], &["navigate", "back"]],
        labels: &[],
    },
    Group {
        kind: Kind::Search,
        phrases: &[
            &["search", "for"],
            &["search"],
            &["look", "for"],
            &["look", "up"],
            &["find"],
        ],
        labels: &[],
    },
    Group {
        kind: Kind::Type,
        phrases: &[
            &["type", "in"],
            &["type"],
            &["enter"],
            &["fill", "in"],
            &["fill", "out"],
            &["fill"],
            &["write"],
            &["input"],
            &["provide"],
            &["use"],
            &["key", "in"],
        ],
        labels: &[],
    },
    Group {
        kind: Kind::Change,
        phrases: &[
            &["change"],
            &["set"],
            &["update"],
            &["edit"],
            &["modify"],
            &["rename"],
            &["replace"],
            &["adjust"],
        ],
        labels: &[],
    },
    Group {
        kind: Kind::Choose,
        phrases: &[&["choose"], &["select"], &["pick"]],
        labels: &[],
    },
    Group {
        kind: Kind::Check,
        phrases: &[
            &["tick"],
            &["check"],
            &["enable"],
            &["accept"],
            &["agree", "to"],
            &["agree", "with"],
            &["agree"],
            &["turn", "on"],
            &["switch", "on"],
            &["opt", "in", "to"],
            &["activate"],
        ],
        labels: &[],
    },
    Group {
        kind: Kind::Uncheck,
        phrases: &[
            &["untick"],
            &["uncheck"],
            &["disable"],
            &["turn", "off"],
            &["switch", "off"],
            &["opt", "out", "of"],
            &["deselect"],
            &["unselect"],
            &["deactivate"],
        ],
        labels: &[],
    },
    Group {
        kind: Kind::LogIn,
        phrases: &[
            &["log", "in"],
            &["sign", "in"],
            &["login"],
            &["log", "on"],
            &["sign", "on"],
        ],
        labels: &[],
    },
    named(
        &[
            &["log", "out"],
            &["sign", "out"],
            &["logout"],
            &["log", "off"],
            &["sign", "off"],
        ],
        &[],
    ),
    named(
        &[&["remove"], &["delete"], &["discard"], &["erase"]],
        &[&["trash"]],
    ),
    named(&[&["add"], &["put"]], &[]),
    named(&[&["create"], &["make"]], &[&["new"], &["add"]]),
    named(&[&["save"]], &[]),
    named(&[&["submit"], &["send"]], &[]),
    named(
        &[&["place"], &["complete"], &["finish"], &["finalize"]],
        &[&["submit"]],
    ),
    named(&[&["confirm"]], &[&["yes"], &["ok"], &["okay"]]),
    named(
        &[&["continue"], &["proceed"], &["go", "on"], &["move", "on"]],
        &[&["next"]],
    ),
    named(&[&["close"], &["dismiss"], &["hide"]], DISMISS),
    named(&[&["sign", "up"], &["register"]], &[]),
    named(&[&["increase"], &["raise"]], &[&["plus"]]),
    named(&[&["decrease"], &["lower"], &["reduce"]], &[&["minus"]]),
    named(&[&["check", "out"]], &[]),
];

/// Verbs that mean what they say; listed so that a goal can be cut before them.
const PLAIN: &[&str] = &[
    "apply",
    "approve",
    "archive",
    "assign",
    "attach",
    "cancel",
    "clear",
    "collapse",
    "compose",
    "decline",
    "download",
    "duplicate",
    "export",
    "forward",
    "import",
    "install",
    "invite",
    "mark",
    "move",
    "mute",
    "pause",
    "post",
    "print",
    "publish",
    "rate",
    "refresh",
    "reject",
    "reload",
    "reply",
    "reset",
    "restore",
    "resume",
    "retry",
    "schedule",
    "share",
    "skip",
    "sort",
    "start",
    "stop",
    "subscribe",
    "undo",
    "unlock",
    "unpublish",
    "unsubscribe",
    "upload",
];

/// What a label says that lets a dialog go without doing anything.
pub(super) const DISMISS: &[&[&str]] = &[
    &["close"],
    &["dismiss"],
    &["no", "thanks"],
    &["not", "now"],
    &["maybe", "later"],
    &["got", "it"],
    &["skip"],
    &["hide"],
];

/// What a label says that goes on with what a dialog asks about.
pub(super) const CONFIRM: &[&[&str]] = &[&["confirm"], &["yes"], &["ok"], &["okay"], &["continue"]];

/// What a label says that leads from an entry to its own page.
pub(super) const DETAILS: &[&[&str]] = &[
    &["view"],
    &["open"],
    &["show"],
    &["details"],
    &["see"],
    &["edit"],
];

const fn named(
    phrases: &'static [&'static [&'static str]],
    labels: &'static [&'static [&'static str]],
) -> Group {
    Group {
        kind: Kind::Named,
        phrases,
        labels,
    }
}

/// The verb that these words begin with and how many of them it takes, if it is known.
pub(super) fn known(words: &[&str]) -> Option<(Verb, usize)> {
    let fits = |phrase: &[&str]| {
        words.len() >= phrase.len() && words.iter().zip(phrase).all(|(a, b)| a == b)
    };
    let mut best: Option<(usize, &[&str])> = None;
    for (index, group) in GROUPS.iter().enumerate() {
        for phrase in group.phrases.iter().filter(|phrase| fits(phrase)) {
            if best.is_none_or(|(_, known)| known.len() < phrase.len()) {
                best = Some((index, phrase));
            }
        }
    }
    if let Some((index, phrase)) = best {
        let said = phrase.iter().map(|word| (*word).to_owned()).collect();
        return Some((
            Verb {
                kind: GROUPS[index].kind,
                said,
                group: Some(index),
            },
            phrase.len(),
        ));
    }
    let first = *words.first()?;
    PLAIN.contains(&first).then(|| (Verb::plain(first), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phrase_wins() {
        let verb = |text: &str| {
            known(&text.split(' ').collect::<Vec<_>>()).map(|(verb, taken)| (verb.kind, taken))
        };
        assert_eq!(verb("go back"), Some((Kind::Back, 2)));
        assert_eq!(verb("go to the page"), Some((Kind::Open, 2)));
        assert_eq!(verb("check out now"), Some((Kind::Named, 2)));
        assert_eq!(verb("check the box"), Some((Kind::Check, 1)));
        assert_eq!(verb("paint the fence"), None);
    }

    #[test]
    fn labels_say_a_verb_or_its_synonym() {
        let verb = |text: &str| known(&[text]).map(|(verb, _)| verb).unwrap();
        assert!(
            verb("remove")
                .fits(&Bag::of(["Delete this"]))
                .is_some_and(|fit| !fit.literal)
        );
        assert!(
            verb("remove")
                .fits(&Bag::of(["Removed things"]))
                .is_some_and(|fit| fit.literal)
        );
        assert!(verb("remove").fits(&Bag::of(["Save"])).is_none());
        assert!(Verb::plain("paint").fits(&Bag::of(["Paint it"])).is_some());
    }
}
