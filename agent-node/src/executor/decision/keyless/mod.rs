//! The built-in decider: follows a goal by its words, with no model and no key.
//!
//! A goal is read whole ([`goal`]), cut into clauses of one verb each, and what needs a model is
//! declined before anything is done ([`bounds`]). Each turn finds the element that the clause at
//! hand means ([`plan`], [`fields`], by [`matching`]) or a step that evidently leads there
//! ([`detour`]); below a score, or with two that fit alike, it is "none". Every word that carries
//! meaning has to be found on the element or around it. The goal is reached when every clause is
//! consumed and had an effect.
//!
//! All of it is a function of the request: what must outlive a turn travels in its memory
//! ([`progress`]). [`words`] and [`verbs`] hold general English and no application's words.

mod bounds;
mod credentials;
mod detour;
mod fields;
mod goal;
mod lex;
mod matching;
mod plan;
mod progress;
mod resume;
mod screen;
mod verbs;
mod words;

use async_trait::async_trait;

use self::goal::{Clause, Declined};
use self::matching::Miss;
use self::plan::{Act, Next};
use self::progress::{Here, Pending, Progress};
use self::screen::Screen;
use super::request::{Answer, Choice, Effect, Question, Request};
use super::{Chooser, Unanswered};
use crate::harness::Harness;

/// Chooses by words; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keyless;

#[async_trait]
impl Chooser for Keyless {
    fn name(&self) -> &'static str {
        "keyless"
    }

    async fn choose(&self, request: &Request, door: &dyn Harness) -> Result<Choice, Unanswered> {
        door.decide()?;
        Ok(choose(request))
    }
}

/// The choice for a request; pure.
pub fn choose(request: &Request) -> Choice {
    let screen = Screen::new(request);
    let read = within_bounds(request, &screen)
        .and_then(|()| goal::parse(&request.goal, &request.params, &request.values));
    let clauses = match read {
        Ok(clauses) => clauses,
        Err(Declined(why)) => return plain(Answer::Blocked, why, None),
    };
    let progress = match &request.memory {
        Some(memory) => serde_json::from_value(memory.clone()).unwrap_or_default(),
        None => match resume::resume(&clauses, &request.replayed, &request.values) {
            Ok(progress) => progress,
            Err(Declined(why)) => return plain(Answer::Blocked, why, None),
        },
    };
    match request.question {
        Question::Operation => Turn {
            clauses: &clauses,
            screen: &screen,
            progress,
        }
        .choose(),
        Question::Completion => complete(&clauses, &screen, &progress),
        Question::Verdict => {
            let why = "words don't tell whether a statement holds";
            plain(Answer::Inconclusive, why.to_owned(), None)
        }
    }
}

/// On the first turn, before anything is done.
fn within_bounds(request: &Request, screen: &Screen<'_>) -> Result<(), Declined> {
    if request.memory.is_some() {
        return Ok(());
    }
    let pieces = lex::lex(&request.goal, &request.params, &request.values)?;
    bounds::check(&request.goal, &pieces, &screen.labels())
}

fn complete(clauses: &[Clause], screen: &Screen<'_>, progress: &Progress) -> Choice {
    let asked = clauses
        .last()
        .and_then(|last| detour::question(last, &progress.dialogs, screen));
    let memory = serde_json::to_value(progress).ok();
    if progress.clause < clauses.len() || progress.pending.is_some() || progress.effects == 0 {
        plain(
            Answer::Inconclusive,
            "not every clause had its effect".to_owned(),
            memory,
        )
    } else if let Some(dialog) = asked {
        plain(
            Answer::Inconclusive,
            format!("the app still asks: {:?}", dialog.text),
            memory,
        )
    } else {
        plain(
            Answer::Holds,
            "every clause had its effect".to_owned(),
            memory,
        )
    }
}

fn plain(answer: Answer, why: String, memory: Option<serde_json::Value>) -> Choice {
    Choice {
        answer,
        probability: 1.0,
        confidence: 1.0,
        why,
        memory,
    }
}

/// A message with stems written as the words of the goal that they come from.
fn spoken(message: String, goal: &str) -> String {
    words::words(goal).iter().fold(message, |message, word| {
        message.replace(&format!("{:?}", words::stem(word)), &format!("{word:?}"))
    })
}

/// One turn of deciding.
struct Turn<'a> {
    clauses: &'a [Clause],
    screen: &'a Screen<'a>,
    progress: Progress,
}

impl Turn<'_> {
    fn choose(mut self) -> Choice {
        let mut confirmable = false;
        if let Some(pending) = self.progress.pending.take() {
            match self.judge(pending) {
                Ok(finished) => confirmable = finished,
                Err(why) => return self.end(Answer::Blocked, why),
            }
        }
        if confirmable && let Some(act) = self.confirmation() {
            self.progress.clause -= 1;
            return self.ask(act);
        }
        while let Some(clause) = self.clauses.get(self.progress.clause) {
            let clause = self
                .progress
                .part
                .and_then(|part| clause.parts.get(part))
                .unwrap_or(clause);
            match plan::next(clause, &self.progress.here, self.screen) {
                Ok(Next::Act(act)) => return self.ask(act),
                Ok(Next::Already) => self.advance(),
                Err(miss) => match self.without(clause, miss) {
                    Ok(Some(act)) => return self.ask(act),
                    Ok(None) => {}
                    Err(why) => return self.end(Answer::None, why),
                },
            }
        }
        if self.progress.effects == 0 {
            return self.end(
                Answer::Blocked,
                "everything the goal asks for is already so: nothing was done".to_owned(),
            );
        }
        let why = format!("{} clauses done", self.clauses.len());
        self.end(Answer::Done, why)
    }

    /// What to do where a clause's target is not there: read it as a list, or take a step towards
    /// it. `Ok(None)` = go on with the changed progress.
    fn without(&mut self, clause: &Clause, miss: Miss) -> Result<Option<Act>, String> {
        let whole = self.progress.part.is_none()
            && !clause.parts.is_empty()
            && self.progress.here.untouched();
        if whole && plan::next(&clause.parts[0], &self.progress.here, self.screen).is_ok() {
            self.progress.part = Some(0);
            return Ok(None);
        }
        if let Some(act) = detour::towards(
            clause,
            &self.progress.here,
            &self.progress.opened,
            self.screen,
        ) {
            self.progress.here.detours.push(act.key.clone());
            return Ok(Some(act));
        }
        Err(format!(
            "{:?}: {}",
            clause.text,
            spoken(miss.why, &clause.text)
        ))
    }

    /// Takes in what came of the action that was asked for. `Ok(true)` = it consumed its clause by
    /// a tap; `Err` = the goal can't go on.
    fn judge(&mut self, pending: Pending) -> Result<bool, String> {
        let effect = self
            .screen
            .request
            .history
            .last()
            .map(|past| past.effect.clone());
        let effect = effect.ok_or_else(|| "the last action left no trace".to_owned())?;
        let dialogs = self
            .screen
            .request
            .page
            .dialogs
            .iter()
            .map(|dialog| dialog.id.0);
        let fresh: Vec<u64> = dialogs
            .filter(|id| !self.progress.dialogs.contains(id))
            .collect();
        self.progress.opened.extend(fresh);
        let counts = match effect {
            Effect::Changed => true,
            Effect::Unchanged => !pending.needs_change,
            Effect::Refused(_) => false,
        };
        if counts {
            if !pending.detour {
                self.progress.effects += 1;
                self.progress.here.done.push(pending.key);
            }
            if pending.finishes {
                self.advance();
            }
            return Ok(pending.finishes && pending.needs_change);
        }
        if !pending.detour {
            self.progress.here.tried.extend(pending.target);
            if self.progress.here.tried.len() > 1 {
                return Err(format!(
                    "neither of the two elements that fit had an effect for {:?}",
                    self.at()
                ));
            }
        }
        Ok(false)
    }

    fn at(&self) -> &str {
        self.clauses
            .get(self.progress.clause)
            .map_or("", |clause| &clause.text)
    }

    /// The answer to a question that the clause just consumed has raised, unless the next clause
    /// answers it.
    fn confirmation(&mut self) -> Option<Act> {
        let clause = &self.clauses[self.progress.clause.checked_sub(1)?];
        let dialog = detour::question(clause, &self.progress.dialogs, self.screen)?;
        if let Some(following) = self.clauses.get(self.progress.clause)
            && let Ok(Next::Act(act)) = plan::next(following, &Here::default(), self.screen)
            && act
                .what
                .row
                .is_some_and(|row| detour::stands_in(row, dialog, self.screen))
        {
            return None;
        }
        detour::confirm(clause, dialog, self.screen)
    }

    fn advance(&mut self) {
        self.progress.here = Here::default();
        let parts = self
            .clauses
            .get(self.progress.clause)
            .map_or(0, |clause| clause.parts.len());
        match self.progress.part {
            Some(part) if part + 1 < parts => self.progress.part = Some(part + 1),
            _ => {
                self.progress.part = None;
                self.progress.clause += 1;
            }
        }
    }

    fn ask(mut self, act: Act) -> Choice {
        let why = format!("{:?} ({})", self.at(), act.key);
        let row = act
            .what
            .row
            .and_then(|row| self.screen.request.rows.get(row));
        let detour = self.progress.here.detours.contains(&act.key);
        self.progress.dialogs = self
            .screen
            .request
            .page
            .dialogs
            .iter()
            .map(|dialog| dialog.id.0)
            .collect();
        self.progress.pending = Some(Pending {
            key: act.key,
            target: row.map(|row| row.id.0),
            needs_change: act.needs_change,
            finishes: act.finishes,
            detour,
        });
        Choice {
            answer: Answer::Do(act.what),
            probability: act.score,
            confidence: act.margin,
            why,
            memory: serde_json::to_value(&self.progress).ok(),
        }
    }

    fn end(self, answer: Answer, why: String) -> Choice {
        plain(answer, why, serde_json::to_value(&self.progress).ok())
    }
}
