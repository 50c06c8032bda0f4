//! A control for measuring: chooses blindly among what is offered.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use rand::{Rng, SeedableRng};

use super::request::{Answer, Choice, Do, Operation, Question, Request};
use super::{Chooser, Unanswered};
use crate::harness::Harness;

/// Picks an operation, then a target, then a value or option, each uniformly, by a seeded
/// generator. It shows how many goals are reached without understanding them: if many are, the
/// goals prove nothing. Never for real runs.
pub struct RandomChooser {
    generator: Mutex<StdRng>,
}

/// How often it stops instead of acting: one turn in this many.
const STOPS: u32 = 6;

impl RandomChooser {
    /// The same seed makes the same choices on the same screens.
    pub fn new(seed: u64) -> Self {
        Self {
            generator: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }
}

#[async_trait]
impl Chooser for RandomChooser {
    fn name(&self) -> &'static str {
        "random"
    }

    async fn choose(&self, request: &Request, door: &dyn Harness) -> Result<Choice, Unanswered> {
        door.decide()?;
        let mut generator = self
            .generator
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let answer = match request.question {
            Question::Completion | Question::Verdict => Answer::Holds,
            Question::Operation
                if !request.history.is_empty() && generator.random_ratio(1, STOPS) =>
            {
                Answer::Done
            }
            Question::Operation => pick(request, &mut generator).map_or(Answer::None, Answer::Do),
        };
        Ok(Choice {
            answer,
            probability: 1.0,
            confidence: 1.0,
            why: "at random".to_owned(),
            memory: None,
        })
    }
}

fn pick(request: &Request, generator: &mut StdRng) -> Option<Do> {
    let typed = |operation: Operation| -> Vec<usize> {
        let fits = |secret: bool| secret == (operation == Operation::TypeSecret);
        (0..request.values.len())
            .filter(|&index| fits(request.values[index].text().is_none()))
            .collect()
    };
    let offered = Operation::ALL.into_iter().filter(|&operation| {
        let values = !matches!(operation, Operation::Type | Operation::TypeSecret)
            || !typed(operation).is_empty();
        values
            && operation != Operation::Back
            && request.rows.iter().any(|row| row.offers(operation))
    });
    let operation = offered.choose(generator)?;
    let rows = request
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.offers(operation));
    let (row, chosen) = rows.choose(generator)?;
    let value = typed(operation).into_iter().choose(generator);
    let option = (0..chosen.options.len()).choose(generator);
    Some(Do {
        operation,
        row: Some(row),
        value: value.filter(|_| matches!(operation, Operation::Type | Operation::TypeSecret)),
        option: option.filter(|_| operation == Operation::Select),
    })
}
