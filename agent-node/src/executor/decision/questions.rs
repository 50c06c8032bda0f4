//! A request as closed questions, for whoever chooses by ids: each is answered by one option.

use muster_providers::decision::{Decided, Offer, Question};
use serde_json::{Value, json};

use super::request::{
    Answer, Around, AroundKind, Do, Effect, MAX_OPTIONS, Offered, Operation, Request, Row,
};
use super::request::{Past, Question as Kind};

/// The option of a target that fits nothing.
const NONE: &str = "none";

/// The questions of one request, and what their options stand for.
pub(super) struct Questions {
    asked: Vec<Question>,
    kind: Kind,
    /// By operation that is offered, in the order of the question `operation`.
    targets: Vec<(Operation, Vec<Target>)>,
    /// Indexes of the values that each operation may type, in the order of its question.
    values: Vec<(Operation, Vec<usize>)>,
}

/// An element, and the option that is picked in it.
#[derive(Clone, Copy)]
struct Target {
    row: Option<usize>,
    option: Option<usize>,
}

/// What the answers come to.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    pub(super) answer: Answer,
    /// The least of the answers that it was put together from.
    pub(super) probability: f64,
    /// The least too.
    pub(super) confidence: f64,
    /// The options that were chosen, as labels.
    pub(super) line: String,
}

impl Questions {
    /// The questions of a request.
    pub(super) fn of(request: &Request) -> Self {
        let mut all = Self {
            asked: Vec::new(),
            kind: request.question,
            targets: Vec::new(),
            values: Vec::new(),
        };
        match request.question {
            Kind::Operation => all.operation(request),
            Kind::Completion => all.holds("completion", "Is the goal reached on this screen?"),
            Kind::Verdict => all.holds("verdict", "Does the statement hold on this screen?"),
        }
        all
    }

    /// As they are asked.
    pub(super) fn asked(&self) -> &[Question] {
        &self.asked
    }

    fn holds(&mut self, name: &str, text: &str) {
        let options = [
            ("holds", "yes, the screen shows it"),
            ("fails", "no, the screen shows that it is not so"),
            ("inconclusive", "the screen doesn't tell"),
        ];
        self.ask(name, text, options.map(offer).to_vec(), 0);
    }

    fn operation(&mut self, request: &Request) {
        for operation in Operation::ALL {
            let mut targets = targets(request, operation);
            let values = typable(request, operation);
            let typed = matches!(operation, Operation::Type | Operation::TypeSecret);
            let written = operation == Operation::Type && request.writes;
            if targets.is_empty() || (typed && !written && values.is_empty()) {
                continue;
            }
            let cut = targets.len().saturating_sub(MAX_OPTIONS - 1);
            targets.truncate(MAX_OPTIONS - 1);
            self.targets.push((operation, targets));
            if typed && !written {
                self.values.push((operation, values));
            }
            self.target(request, operation, cut);
        }
        let mut options: Vec<Offer> = self
            .targets
            .iter()
            .map(|(operation, _)| offer((operation.as_str(), does(*operation))))
            .collect();
        options.extend(
            [
                ("done", "the goal is reached"),
                ("failed", "the app doesn't do what the goal asks"),
                ("blocked", "the goal can't be followed here"),
            ]
            .map(offer),
        );
        self.ask("operation", "What is done next?", options, 0);
        // Asked first, since the others depend on it.
        self.asked.rotate_right(1);
    }

    /// Asks for the operation's target and value where there is more than one.
    fn target(&mut self, request: &Request, operation: Operation, cut: usize) {
        let name = operation.as_str();
        let targets = &self.targets[self.targets.len() - 1].1;
        if targets.len() > 1 {
            let mut options: Vec<Offer> = targets.iter().map(|&at| target(request, at)).collect();
            options.push(offer((NONE, "none of these")));
            let text = format!("On what, if the operation is {name}?");
            self.ask(
                &format!("{name}_target"),
                &text,
                options,
                cut + request.omitted,
            );
        }
        let values = self.values.last().filter(|(of, _)| *of == operation);
        if let Some((_, values)) = values
            && values.len() > 1
        {
            let shown = values.iter().filter_map(|&index| {
                let value = request.values.get(index)?;
                Some(offer((&format!("v{index}"), &called(value))))
            });
            let mut options: Vec<Offer> = shown.take(MAX_OPTIONS - 1).collect();
            options.push(offer((NONE, "none of these")));
            let text = format!("What is typed, if the operation is {name}?");
            self.ask(&format!("{name}_value"), &text, options, 0);
        }
    }

    fn ask(&mut self, name: &str, text: &str, options: Vec<Offer>, omitted: usize) {
        self.asked.push(Question {
            name: name.to_owned(),
            text: text.to_owned(),
            options,
            omitted,
        });
    }

    /// Puts an answer together. The error says what is missing.
    pub(super) fn told(&self, decided: impl Fn(&str) -> Option<Decided>) -> Result<Told, String> {
        let mut told = Told {
            answer: Answer::None,
            probability: 1.0,
            confidence: 1.0,
            line: String::new(),
        };
        let mut answer = |name: &str| {
            let asked = self.asked.iter().find(|question| question.name == name);
            let chosen = decided(name).ok_or_else(|| format!("{name} is not answered"))?;
            let option = asked.and_then(|asked| asked.options.get(chosen.chosen));
            let option = option.ok_or_else(|| format!("{name} is answered by no option"))?;
            told.probability = told.probability.min(chosen.probability);
            told.confidence = told.confidence.min(chosen.confidence);
            let gap = if told.line.is_empty() { "" } else { ", " };
            told.line
                .push_str(&format!("{gap}{name}: {}", option.label));
            Ok::<_, String>(option.id.as_str())
        };
        told.answer = match self.kind {
            Kind::Completion | Kind::Verdict => match answer(&self.asked[0].name)? {
                "holds" => Answer::Holds,
                "fails" => Answer::Fails,
                _ => Answer::Inconclusive,
            },
            Kind::Operation => match answer("operation")? {
                "done" => Answer::Done,
                "failed" => Answer::Failed,
                "blocked" => Answer::Blocked,
                operation => self.what(operation, &mut answer)?,
            },
        };
        Ok(told)
    }

    fn what<'a>(
        &'a self,
        operation: &str,
        answer: &mut impl FnMut(&str) -> Result<&'a str, String>,
    ) -> Result<Answer, String> {
        let offered = self.targets.iter().find(|(of, _)| of.as_str() == operation);
        let (operation, targets) = offered.ok_or("the operation is not offered")?;
        let name = operation.as_str();
        let target = match targets.as_slice() {
            [only] => Some(*only),
            several => {
                let id = answer(&format!("{name}_target"))?;
                several.iter().find(|at| self::id(**at) == id).copied()
            }
        };
        let Some(Target { row, option }) = target else {
            return Ok(Answer::None);
        };
        let typed = self.values.iter().find(|(of, _)| of == operation);
        let value = match typed.map(|(_, values)| values.as_slice()) {
            None => None,
            Some([only]) => Some(*only),
            Some(several) => {
                let id = answer(&format!("{name}_value"))?;
                let chosen = several.iter().find(|index| format!("v{index}") == id);
                match chosen {
                    Some(index) => Some(*index),
                    None => return Ok(Answer::None),
                }
            }
        };
        Ok(Answer::Do(Do {
            operation: *operation,
            row,
            value,
            option,
        }))
    }
}

/// What an operation may be done to. A text model never writes into a secure field.
fn targets(request: &Request, operation: Operation) -> Vec<Target> {
    if operation == Operation::Back {
        return vec![Target {
            row: None,
            option: None,
        }];
    }
    let written = operation == Operation::Type && request.writes;
    let mut targets = Vec::new();
    for (index, row) in request.rows.iter().enumerate() {
        if !row.offers(operation) || (written && row.is("secure")) {
            continue;
        }
        let at = |option| Target {
            row: Some(index),
            option,
        };
        match operation {
            Operation::Select => targets.extend((0..row.options.len()).map(|one| at(Some(one)))),
            _ => targets.push(at(None)),
        }
    }
    targets
}

/// Indexes of the values that an operation may type.
fn typable(request: &Request, operation: Operation) -> Vec<usize> {
    let fits = |value: &Offered| value.text().is_none() == (operation == Operation::TypeSecret);
    let values = request.values.iter().enumerate();
    let fitting = values.filter(|(_, value)| fits(value));
    fitting
        .map(|(index, _)| index)
        .take(MAX_OPTIONS - 1)
        .collect()
}

fn id(target: Target) -> String {
    let row = target.row.unwrap_or_default();
    match target.option {
        Some(option) => format!("e{row}.o{option}"),
        None => format!("e{row}"),
    }
}

fn target(request: &Request, at: Target) -> Offer {
    let row = at.row.and_then(|row| request.rows.get(row));
    let label = row.map(|row| {
        let option = at.option.and_then(|option| row.options.get(option));
        match option {
            Some(option) => format!("{option:?} in {}", placed(row)),
            None => placed(row),
        }
    });
    offer((&id(at), &label.unwrap_or_default()))
}

/// `button "Remove" in "Sun Hat"`.
fn placed(row: &Row) -> String {
    match within(row) {
        Some(around) => format!("{} in {:?}", row.describe(), around.title),
        None => row.describe(),
    }
}

/// The one thing among several, or the dialog, that an element belongs to.
fn within(row: &Row) -> Option<&Around> {
    let around = row.around.iter();
    let mut holding = around
        .filter(|around| matches!(around.kind, AroundKind::Item | AroundKind::Dialog))
        .filter(|around| around.title != row.label);
    holding.next()
}

fn called(value: &Offered) -> String {
    match value {
        Offered::Param { pointer, text } => format!("{text:?} (parameter {pointer})"),
        Offered::Quoted { text } => format!("{text:?}"),
        Offered::Secret { name, .. } => format!("the secret {name}"),
    }
}

fn does(operation: Operation) -> &'static str {
    match operation {
        Operation::Tap => "click an element",
        Operation::Type => "type a text into a field",
        Operation::TypeSecret => "type a secret into a field",
        Operation::Submit => "press Enter in a field",
        Operation::Select => "pick an option of a list",
        Operation::Check => "tick",
        Operation::Uncheck => "untick",
        Operation::ScrollTo => "scroll an element into view",
        Operation::Back => "go back to the page before",
    }
}

fn offer((id, label): (&str, &str)) -> Offer {
    Offer {
        id: id.to_owned(),
        label: label.to_owned(),
    }
}

/// What the questions are about; plain data. Elements have the ids of the targets' options.
pub(super) fn state(request: &Request) -> Value {
    let page = &request.page;
    let dialogs: Vec<&str> = page
        .dialogs
        .iter()
        .map(|dialog| dialog.text.as_str())
        .collect();
    let elements: Vec<Value> = request.rows.iter().enumerate().map(element).collect();
    let history: Vec<String> = request.history.iter().map(line).collect();
    json!({
        "goal": request.goal,
        "params": request.params,
        "context": request.context,
        "ledger": request.ledger,
        "replayed": request.replayed,
        "page": {
            "location": page.location,
            "title": page.title,
            "headings": page.headings,
            "text": page.text,
            "statuses": page.statuses,
            "dialogs": dialogs,
        },
        "elements": elements,
        "omitted": request.omitted,
        "history": history,
    })
}

fn element((index, row): (usize, &Row)) -> Value {
    let operations: Vec<&str> = row.operations.iter().map(|one| one.as_str()).collect();
    json!({
        "id": format!("e{index}"),
        "role": row.role,
        "label": row.label,
        "hints": row.hints,
        "value": row.value,
        "states": row.states,
        "operations": operations,
        "within": within(row).map(|around| &around.title),
    })
}

/// `tap button "Pay": changed`.
pub(super) fn line(past: &Past) -> String {
    match &past.effect {
        Effect::Changed => format!("{}: changed", past.action),
        Effect::Unchanged => format!("{}: nothing changed", past.action),
        Effect::Refused(why) => format!("{}: not done: {why}", past.action),
    }
}
