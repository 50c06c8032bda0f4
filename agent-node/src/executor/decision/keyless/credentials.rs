//! Logging in: what a person goes by, a secret, and the form's button.

use super::fields::{key_of, leaf_key, put};
use super::goal::{Clause, Segment};
use super::matching::{Miss, Wanted};
use super::plan::{Act, Next, named};
use super::progress::Here;
use super::screen::Screen;
use super::verbs::Kind;
use super::words::{Bag, stem};
use crate::executor::decision::request::{Do, Offered, Operation};

/// Credentials into their fields, then the form's button.
pub(super) fn log_in(clause: &Clause, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let form = screen.items.iter().any(|item| item.row.is("secure"));
    if !form {
        // Not the form yet: what leads to it.
        return if here.is_done("form") {
            Err(Miss {
                why: "no password field came up".to_owned(),
                closeness: 0.2,
            })
        } else {
            let bare = Clause {
                segments: Vec::new(),
                ..clause.clone()
            };
            let lead = named(&bare, here, screen)?;
            Ok(match lead {
                Next::Act(act) => Next::Act(Act {
                    key: "form".to_owned(),
                    finishes: false,
                    ..act
                }),
                Next::Already => Next::Already,
            })
        };
    }
    let everything = Bag::of([screen.request.page.text.as_str()]);
    let known = |word: &&str| everything.has(word) || screen.page.has(word);
    if let Some(word) = clause
        .segments
        .iter()
        .flat_map(|segment| segment.stems(false))
        .find(|word| !known(word))
    {
        return Err(Miss {
            why: format!("nothing on the screen has {word:?}"),
            closeness: 0.3,
        });
    }
    let said: Vec<usize> = clause
        .segments
        .iter()
        .flat_map(Segment::slots)
        .flat_map(|slot| slot.values.clone())
        .collect();
    let all: Vec<usize> = (0..screen.request.values.len())
        .filter(|&index| screen.request.values[index].pointer().is_some())
        .collect();
    let explicit = !said.is_empty();
    let mut acts = Vec::new();
    for value in if explicit { said } else { all } {
        let key = key_of(value);
        if here.is_done(&key) {
            continue;
        }
        match credential(value, here, screen) {
            Ok(Next::Act(act)) => acts.push(act),
            Ok(Next::Already) => {}
            Err(miss) if explicit => return Err(miss),
            // A parameter of another clause.
            Err(_) => {}
        }
    }
    if let Some(act) = acts.into_iter().min_by_key(|act| act.what.row) {
        return Ok(Next::Act(act));
    }
    let mut bare = Clause {
        segments: Vec::new(),
        ..clause.clone()
    };
    bare.verb.kind = Kind::Named;
    named(&bare, here, screen)
}

/// A credential's field, by its key; whatever is no secret may be what the account goes by.
fn credential(value: usize, here: &Here, screen: &Screen<'_>) -> Result<Next, Miss> {
    let offered = &screen.request.values[value];
    let key = leaf_key(offered);
    let by_key = |required: Vec<String>| {
        let want = Wanted {
            required,
            excluded: &here.tried,
            own_word: true,
            ..Wanted::default()
        };
        put(&want, value, offered, &key_of(value), here, screen)
    };
    if !key.is_empty()
        && let Ok(next) = by_key(key.clone())
    {
        return Ok(next);
    }
    let secure: Vec<usize> = screen
        .items
        .iter()
        .filter(|item| item.row.is("secure"))
        .map(|item| item.index)
        .collect();
    if let (Offered::Secret { .. }, [only]) = (offered, secure.as_slice()) {
        let found = Do {
            operation: Operation::TypeSecret,
            row: Some(*only),
            value: Some(value),
            option: None,
        };
        return Ok(Next::Act(Act {
            what: found,
            key: key_of(value),
            needs_change: false,
            finishes: false,
            score: 0.8,
            margin: 0.8,
        }));
    }
    let account = ["username", "email", "login", "user", "account"].map(stem);
    let known = key.is_empty()
        || key
            .iter()
            .any(|word| account.contains(word) || word == "name");
    let other = || Miss {
        why: format!("no field for {:?}", key.join(" ")),
        closeness: 0.1,
    };
    if !known {
        return Err(other());
    }
    account
        .into_iter()
        .find_map(|word| by_key(vec![word]).ok())
        .ok_or_else(other)
}
