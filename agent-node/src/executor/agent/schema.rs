//! Checks data against a JSON Schema: the part of it that describes plain data.
//!
//! A keyword that is not known here is an error rather than ignored: a check that doesn't check is
//! worse than none.

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords that say nothing about validity.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
];

/// Deepest nesting of schemas.
const MAX_DEPTH: usize = 32;

/// Why data does not fit, or why a schema can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::executor) enum Misfit {
    /// The data is wrong: place and reason.
    Data(String),
    /// The schema is.
    Schema(String),
}

/// Checks `data`; at the first misfit it stops.
pub(in crate::executor) fn validate(schema: &Value, data: &Value) -> Result<(), Misfit> {
    check(schema, data, "", 0)
}

fn check(schema: &Value, data: &Value, at: &str, depth: usize) -> Result<(), Misfit> {
    let rules = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(rules) if depth < MAX_DEPTH => rules,
        _ => {
            return Err(Misfit::Schema(format!(
                "{schema} at {depth} is no schema that can be used"
            )));
        }
    };
    for (keyword, rule) in rules {
        keyword_holds(keyword, rule, rules, data, at, depth)?;
    }
    Ok(())
}

fn keyword_holds(
    keyword: &str,
    rule: &Value,
    rules: &Map<String, Value>,
    data: &Value,
    at: &str,
    depth: usize,
) -> Result<(), Misfit> {
    let wrong = |why: String| {
        Err(Misfit::Data(format!(
            "{}: {why}",
            if at.is_empty() { "/" } else { at }
        )))
    };
    let bad = || Misfit::Schema(format!("{keyword} can't be {rule}"));
    let size = || {
        rule.as_u64()
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(bad)
    };
    let number = || rule.as_f64().ok_or_else(bad);
    let deeper = |schema: &Value, data: &Value, at: String| check(schema, data, &at, depth + 1);
    match keyword {
        "type" => {
            let kinds = match rule {
                Value::String(kind) => vec![kind.as_str()],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => return Err(bad()),
            };
            if !kinds.iter().any(|kind| is(data, kind)) {
                return wrong(format!("{data} is not of type {}", kinds.join(" or ")));
            }
        }
        "enum" => {
            if !rule.as_array().ok_or_else(bad)?.contains(data) {
                return wrong(format!("{data} is none of {rule}"));
            }
        }
        "const" if data != rule => return wrong(format!("{data} is not {rule}")),
        "const" => {}
        "properties" => {
            let fields = rule.as_object().ok_or_else(bad)?;
            for (name, schema) in fields {
                if let Some(value) = data.get(name) {
                    deeper(schema, value, format!("{at}/{name}"))?;
                }
            }
        }
        "required" => {
            for name in rule
                .as_array()
                .ok_or_else(bad)?
                .iter()
                .filter_map(Value::as_str)
            {
                if data.is_object() && data.get(name).is_none() {
                    return wrong(format!("{name:?} is missing"));
                }
            }
        }
        "additionalProperties" => {
            let known = rules.get("properties").and_then(Value::as_object);
            for (name, value) in data.as_object().into_iter().flatten() {
                if known.is_some_and(|known| known.contains_key(name)) {
                    continue;
                }
                if rule == &Value::Bool(false) {
                    return wrong(format!("{name:?} is not asked for"));
                }
                deeper(rule, value, format!("{at}/{name}"))?;
            }
        }
        "items" => {
            for (index, value) in data.as_array().into_iter().flatten().enumerate() {
                deeper(rule, value, format!("{at}/{index}"))?;
            }
        }
        "minItems"
            if data
                .as_array()
                .is_some_and(|items| items.len() < size().unwrap_or(0)) =>
        {
            return wrong(format!("fewer than {rule} items"));
        }
        "maxItems"
            if data
                .as_array()
                .is_some_and(|items| items.len() > size().unwrap_or(usize::MAX)) =>
        {
            return wrong(format!("more than {rule} items"));
        }
        "minLength"
            if data
                .as_str()
                .is_some_and(|text| text.chars().count() < size().unwrap_or(0)) =>
        {
            return wrong(format!("shorter than {rule} characters"));
        }
        "maxLength"
            if data
                .as_str()
                .is_some_and(|text| text.chars().count() > size().unwrap_or(usize::MAX)) =>
        {
            return wrong(format!("longer than {rule} characters"));
        }
        "minItems" | "maxItems" | "minLength" | "maxLength" => drop(size()?),
        "minimum"
            if data
                .as_f64()
                .is_some_and(|value| value < number().unwrap_or(f64::MIN)) =>
        {
            return wrong(format!("{data} is below {rule}"));
        }
        "maximum"
            if data
                .as_f64()
                .is_some_and(|value| value > number().unwrap_or(f64::MAX)) =>
        {
            return wrong(format!("{data} is above {rule}"));
        }
        "minimum" | "maximum" => drop(number()?),
        "pattern" => {
            let pattern = rule
                .as_str()
                .and_then(|source| Regex::new(source).ok())
                .ok_or_else(bad)?;
            if data.as_str().is_some_and(|text| !pattern.is_match(text)) {
                return wrong(format!("{data} doesn't match {rule}"));
            }
        }
        "anyOf" => {
            let mut last = None;
            for schema in rule.as_array().ok_or_else(bad)? {
                match check(schema, data, at, depth + 1) {
                    Ok(()) => return Ok(()),
                    Err(Misfit::Data(why)) => last = Some(why),
                    Err(schema) => return Err(schema),
                }
            }
            return wrong(format!(
                "it fits none of anyOf, the last because {}",
                last.unwrap_or_default()
            ));
        }
        known if ANNOTATIONS.contains(&known) => {}
        other => {
            return Err(Misfit::Schema(format!(
                "the keyword {other:?} is not supported"
            )));
        }
    }
    Ok(())
}

fn is(data: &Value, kind: &str) -> bool {
    match kind {
        "null" => data.is_null(),
        "boolean" => data.is_boolean(),
        "string" => data.is_string(),
        "number" => data.is_number(),
        "integer" => {
            data.is_i64()
                || data.is_u64()
                || data.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "array" => data.is_array(),
        "object" => data.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_fits_or_the_misfit_says_where() {
        let schema = json!({
            "type": "object", "required": ["items", "total"], "additionalProperties": false,
            "properties": {
                "total": {"type": "string", "pattern": "^£"},
                "note": {"type": ["string", "null"], "maxLength": 3},
                "items": {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "free"}, {"type": "integer", "minimum": 1}]}},
            },
        });
        let fits = |data: Value| validate(&schema, &data);
        assert_eq!(
            fits(json!({"total": "£2", "items": [1, "free", 2.0], "note": null})),
            Ok(())
        );
        for (data, why) in [
            (json!([]), "/: [] is not of type object"),
            (json!({"items": [1]}), "/: \"total\" is missing"),
            (
                json!({"total": "2", "items": [1]}),
                "/total: \"2\" doesn't match \"^£\"",
            ),
            (
                json!({"total": "£", "items": []}),
                "/items: fewer than 1 items",
            ),
            (
                json!({"total": "£", "items": [0]}),
                "/items/0: it fits none of anyOf, the last because /items/0: 0 is below 1",
            ),
            (
                json!({"total": "£", "items": [1], "note": "long"}),
                "/note: longer than 3 characters",
            ),
            (
                json!({"total": "£", "items": [1], "x": 1}),
                "/: \"x\" is not asked for",
            ),
        ] {
            assert_eq!(fits(data), Err(Misfit::Data(why.to_owned())));
        }
    }

    #[test]
    fn a_keyword_that_is_not_checked_is_refused() {
        assert!(
            matches!(validate(&json!({"oneOf": []}), &json!(1)), Err(Misfit::Schema(why)) if why.contains("oneOf"))
        );
        assert!(matches!(
            validate(&json!({"minItems": "two"}), &json!([])),
            Err(Misfit::Schema(_))
        ));
        assert_eq!(
            validate(
                &json!({"description": "a number", "type": "number"}),
                &json!(1)
            ),
            Ok(())
        );
    }
}
