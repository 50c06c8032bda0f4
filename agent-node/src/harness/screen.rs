//! A snapshot without what may not leave: secret values in any form, invisible characters.

use muster_engine::{Node, Snapshot};
use muster_proto::guard::Guard;
use muster_redact::{Redactor, visible};

/// Longest name and description that the engine tells, characters; longer ones are cut there.
const NAME: usize = 256;

/// Longest text, likewise.
const TEXT: usize = 512;

/// What a snapshot held that it should not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// A secret value or a telling piece of one.
    pub(crate) secret: bool,
    /// Characters that nobody sees.
    pub(crate) invisible: bool,
}

/// Cleans every text of a screen.
pub(crate) fn clean(snapshot: &mut Snapshot, redactor: &Redactor) -> Found {
    let mut found = Found::default();
    let mut one = |text: &mut String, limit: usize| {
        if text.is_empty() {
            return;
        }
        if Guard::PromptInvisible.holds()
            && let std::borrow::Cow::Owned(seen) = visible(text)
        {
            found.invisible = true;
            *text = seen;
        }
        let clean = redactor.without_pieces(&redactor.cut(text, limit));
        found.secret |= clean != *text;
        *text = clean;
    };
    one(&mut snapshot.url, usize::MAX);
    one(&mut snapshot.title, usize::MAX);
    for node in &mut snapshot.nodes {
        one(&mut node.role, usize::MAX);
        one(&mut node.name, NAME);
        one(&mut node.description, NAME);
        one(&mut node.text, TEXT);
        for text in [
            &mut node.value,
            &mut node.placeholder,
            &mut node.test_id,
            &mut node.href,
        ]
        .into_iter()
        .flatten()
        {
            one(text, usize::MAX);
        }
        one(&mut node.tag, usize::MAX);
        one(&mut node.dom_id, usize::MAX);
        for option in &mut node.options {
            one(option, usize::MAX);
        }
    }
    found.secret |= spread(&mut snapshot.nodes, redactor);
    found
}

/// Takes out values whose letters stand in elements one after the other: in what they show, or in
/// fields of one letter each.
fn spread(nodes: &mut [Node], redactor: &Redactor) -> bool {
    let shown = spread_over(nodes, redactor, |node| Some(shown(node)));
    let named = spread_over(nodes, redactor, |node| Some(&mut node.name));
    let typed = spread_over(nodes, redactor, |node| node.value.as_mut());
    shown || named || typed
}

fn spread_over(
    nodes: &mut [Node],
    redactor: &Redactor,
    field: fn(&mut Node) -> Option<&mut String>,
) -> bool {
    let mut fields: Vec<&mut String> = nodes.iter_mut().filter_map(field).collect();
    let mut texts: Vec<String> = fields.iter().map(|text| (*text).clone()).collect();
    redactor.spread(&mut texts);
    let mut changed = false;
    for (field, text) in fields.iter_mut().zip(texts) {
        changed |= **field != text;
        **field = text;
    }
    changed
}

/// What people read of a node.
fn shown(node: &mut Node) -> &mut String {
    match node.text.is_empty() {
        true => &mut node.name,
        false => &mut node.text,
    }
}

#[cfg(test)]
mod tests {
    use muster_proto::secret::Secret;

    use super::*;

    fn redactor(value: &str) -> Redactor {
        Redactor::new(&[("pw".to_owned(), Secret::new(value))].into())
    }

    fn texts(texts: &[&str]) -> Snapshot {
        let node = |text: &&str| Node {
            text: (*text).to_owned(),
            ..Node::default()
        };
        Snapshot {
            nodes: texts.iter().map(node).collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_screen_keeps_no_value_anywhere() {
        let text = || "hunter22 plus".to_owned();
        let mut snapshot = Snapshot {
            url: "http://shop.test/?q=hunter22+plus".to_owned(),
            title: text(),
            nodes: vec![Node {
                role: text(),
                name: text(),
                description: text(),
                text: text(),
                value: Some(text()),
                placeholder: Some(text()),
                test_id: Some(text()),
                href: Some("/hunter22%20plus".to_owned()),
                tag: text(),
                dom_id: text(),
                options: vec![text()],
                ..Node::default()
            }],
            ..Snapshot::default()
        };
        let found = clean(&mut snapshot, &redactor("hunter22 plus"));
        assert!(found.secret);
        let told = serde_json::to_string(&snapshot).unwrap();
        assert!(!told.to_lowercase().contains("hunter22"), "{told}");
        assert_eq!(told.matches("<secret:pw>").count(), 13);
    }

    #[test]
    fn one_letter_an_element_is_no_way_out() {
        let mut snapshot = texts(&["PIN:", "h", "u", "n", "t", "e", "r", "2", "2", "ok"]);
        assert!(clean(&mut snapshot, &redactor("hunter22")).secret);
        let told: Vec<_> = snapshot
            .nodes
            .iter()
            .map(|node| node.text.as_str())
            .collect();
        assert_eq!((told[0], told[9]), ("PIN:", "ok"));
        assert!(
            told[1..9].iter().all(|text| *text == "<secret:pw>"),
            "{told:?}"
        );
    }

    #[test]
    fn one_letter_a_field_is_no_way_out() {
        let field = |letter: char| Node {
            name: format!("Digit {letter}"),
            value: Some(letter.to_string()),
            ..Node::default()
        };
        let mut snapshot = Snapshot {
            nodes: "902817".chars().map(field).collect(),
            ..Snapshot::default()
        };
        assert!(clean(&mut snapshot, &redactor("902817")).secret);
        let values = snapshot.nodes.iter().map(|node| node.value.as_deref());
        assert!(values.into_iter().all(|value| value == Some("<secret:pw>")));
    }

    #[test]
    fn a_cut_value_and_a_piece_are_found() {
        let long = format!("{}correct-ho", "x".repeat(TEXT - 10));
        let mut snapshot = texts(&[&long]);
        let redactor = redactor("correct-horse-battery");
        assert!(clean(&mut snapshot, &redactor).secret);
        assert!(snapshot.nodes[0].text.ends_with("x<secret:pw>"));
        let mut piece = texts(&["the horse-bat"]);
        assert!(clean(&mut piece, &redactor).secret);
        assert_eq!(piece.nodes[0].text, "the <secret:pw>");
        assert_eq!(
            clean(&mut texts(&["the horse"]), &redactor),
            Found::default()
        );
    }

    #[test]
    fn what_nobody_sees_is_told() {
        let mut snapshot = texts(&["pay\u{200b} now", "plain"]);
        let found = clean(&mut snapshot, &redactor("hunter22"));
        assert_eq!((found.invisible, found.secret), (true, false));
        assert_eq!(snapshot.nodes[0].text, "pay now");
    }
}
