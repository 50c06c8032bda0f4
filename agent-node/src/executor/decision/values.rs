//! What a chooser may have typed: parameters and quoted text, nothing else.

use serde_json::Value;

use super::request::{MAX_OPTIONS, Offered};

/// Parameters first, in order of their keys, then the goal's quoted texts.
pub(super) fn offer(goal: &str, params: &Value) -> Vec<Offered> {
    let mut offered = Vec::new();
    leaves(params, String::new(), &mut offered);
    offered.extend(
        quoted(goal)
            .into_iter()
            .map(|text| Offered::Quoted { text }),
    );
    offered.truncate(MAX_OPTIONS);
    offered
}

fn leaves(value: &Value, pointer: String, into: &mut Vec<Offered>) {
    let mut plain = |text: String| {
        into.push(Offered::Param {
            pointer: pointer.clone(),
            text,
        })
    };
    match value {
        Value::Null => {}
        Value::Bool(on) => plain(on.to_string()),
        Value::Number(number) => plain(number.to_string()),
        Value::String(text) => plain(text.clone()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, format!("{pointer}/{index}"), into);
            }
        }
        Value::Object(fields) => match secret_name(value) {
            Some(name) => into.push(Offered::Secret {
                pointer,
                name: name.to_owned(),
            }),
            None => {
                for (key, field) in fields {
                    leaves(
                        field,
                        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                        into,
                    );
                }
            }
        },
    }
}

/// The name of a secret handle `{"kind":"secret","name":…}`.
pub(super) fn secret_name(value: &Value) -> Option<&str> {
    (value.get("kind")?.as_str()? == "secret")
        .then(|| value.get("name")?.as_str())
        .flatten()
}

/// The names of the secrets among parameters, each once, in order of their keys.
pub(in crate::executor) fn secret_names(params: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for offered in offer("", params) {
        if let Offered::Secret { name, .. } = offered
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The goal's quoted texts, in order.
pub(super) fn quoted(goal: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = goal;
    while let Some((before, open)) = rest
        .char_indices()
        .find(|(at, c)| closing(rest, *at, *c).is_some())
    {
        let after = &rest[before + open.len_utf8()..];
        let Some(end) = closing(rest, before, open) else {
            break;
        };
        found.push(after[..end].to_owned());
        rest = &after[end..];
        rest = rest
            .char_indices()
            .nth(1)
            .map_or("", |(next, _)| &rest[next..]);
    }
    found
}

/// If `open` at `at` opens a quotation, the length of what is inside. An apostrophe opens one only
/// after a space and closes only before one or before punctuation.
pub(super) fn closing(text: &str, at: usize, open: char) -> Option<usize> {
    let close = match open {
        '"' | '`' | '\'' => open,
        '“' => '”',
        '‘' => '’',
        _ => return None,
    };
    let before = text[..at].chars().next_back();
    if open == '\'' && before.is_some_and(|c| !c.is_whitespace() && c != '(') {
        return None;
    }
    let inside = &text[at + open.len_utf8()..];
    inside
        .char_indices()
        .filter(|(_, c)| *c == close)
        .find(|(end, c)| {
            let next = inside[end + c.len_utf8()..].chars().next();
            close != '\'' && close != '’' || next.is_none_or(|c| !c.is_alphanumeric())
        })
        .map(|(end, _)| end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn params_and_quotes_are_offered_and_secrets_by_name_only() {
        let params = json!({"who": {"email": "a@b.c", "password": {"kind": "secret", "name": "pw"}}, "n": 3});
        let offered = offer(r#"type "it's" in Ann's field, then ‘x’"#, &params);
        let shown: Vec<String> = offered
            .iter()
            .map(|one| match one {
                Offered::Param { pointer, text } => format!("{pointer}={text}"),
                Offered::Secret { pointer, name } => format!("{pointer}:{name}"),
                Offered::Quoted { text } => text.clone(),
            })
            .collect();
        assert_eq!(
            shown,
            ["/n=3", "/who/email=a@b.c", "/who/password:pw", "it's", "x"]
        );
    }
}
