//! The element table as words to match.

use std::collections::{HashMap, HashSet};

use super::words::Bag;
use crate::executor::decision::request::{AroundKind, Operation, Request, Row};

/// A request's screen.
pub(super) struct Screen<'a> {
    /// What was asked.
    pub(super) request: &'a Request,
    /// One for each row, in the table's order.
    pub(super) items: Vec<Item<'a>>,
    /// Title and top headings.
    pub(super) page: Bag,
    /// In how many labels a stem stands.
    frequency: HashMap<String, usize>,
}

/// A row as words.
pub(super) struct Item<'a> {
    /// Its index in the table.
    pub(super) index: usize,
    /// The row.
    pub(super) row: &'a Row,
    /// Its label.
    pub(super) label: Bag,
    /// Labels of its options.
    pub(super) options: Vec<Bag>,
    /// Description, placeholder, text, test id, role.
    pub(super) hints: Bag,
    /// The item, groups, dialog and heading around it.
    pub(super) around: Bag,
    /// The title of the nearest item around it.
    pub(super) title: Bag,
}

impl<'a> Screen<'a> {
    /// Reads a request.
    pub(super) fn new(request: &'a Request) -> Self {
        let items: Vec<Item<'a>> = request
            .rows
            .iter()
            .enumerate()
            .map(|(index, row)| Item::new(index, row))
            .collect();
        let mut frequency = HashMap::new();
        for item in &items {
            let mut once: HashSet<&String> = item.label.content.iter().collect();
            once.extend(item.options.iter().flat_map(|option| &option.content));
            for stem in once {
                *frequency.entry(stem.clone()).or_default() += 1;
            }
        }
        let page = request
            .page
            .headings
            .iter()
            .map(String::as_str)
            .chain([request.page.title.as_str()]);
        Self {
            items,
            page: Bag::of(page),
            frequency,
            request,
        }
    }

    /// How much a stem tells: 1 where at most one label has it, less the more have it.
    pub(super) fn weight(&self, stem: &str) -> f64 {
        let labels = self.frequency.get(stem).copied().unwrap_or(1).max(1);
        1.0 / (1.0 + f64::from(u32::try_from(labels).unwrap_or(u32::MAX)).ln())
    }

    /// The words of everything that can be acted on.
    pub(super) fn labels(&self) -> Bag {
        let texts = self.request.rows.iter().flat_map(|row| {
            std::iter::once(row.label.as_str())
                .chain(row.hints.iter().map(String::as_str))
                .chain(row.options.iter().map(String::as_str))
        });
        Bag::of(texts)
    }
}

impl<'a> Item<'a> {
    fn new(index: usize, row: &'a Row) -> Self {
        let nearest = row
            .around
            .iter()
            .find(|around| around.kind == AroundKind::Item);
        Self {
            index,
            row,
            label: Bag::of([row.label.as_str()]),
            options: row
                .options
                .iter()
                .map(|option| Bag::of([option.as_str()]))
                .collect(),
            hints: Bag::of(
                row.hints
                    .iter()
                    .map(String::as_str)
                    .chain([row.role.as_str()]),
            ),
            around: Bag::of(
                surroundings(row)
                    .chain(row.around.iter().flat_map(|around| kind_words(around.kind))),
            ),
            title: Bag::of(nearest.map(|around| around.title.as_str())),
        }
    }

    /// Whether one of these can be done to it.
    pub(super) fn offers(&self, operations: &[Operation]) -> bool {
        operations
            .iter()
            .any(|operation| self.row.offers(*operation))
    }

    /// Whether it is inside this dialog.
    pub(super) fn inside(&self, dialog: muster_engine::NodeId) -> bool {
        self.row
            .around
            .iter()
            .any(|around| around.kind == AroundKind::Dialog && around.id == dialog)
    }
}

/// What people call a kind of surroundings.
fn kind_words<'a>(kind: AroundKind) -> impl Iterator<Item = &'a str> {
    let words: &[&str] = match kind {
        AroundKind::Dialog => &["dialog", "popup", "window", "message"],
        AroundKind::Item | AroundKind::Group | AroundKind::Heading => &[],
    };
    words.iter().copied()
}

/// Everything around a row; of nested items only the nearest, as the others hold its siblings too.
fn surroundings(row: &Row) -> impl Iterator<Item = &str> {
    let mut item_seen = false;
    row.around.iter().filter_map(move |around| {
        if around.kind == AroundKind::Item && std::mem::replace(&mut item_seen, true) {
            return None;
        }
        Some(around.text.as_str())
    })
}
