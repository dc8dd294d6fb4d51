//! Parses a tool's arguments on the command line: JSON, or `key=value` converted by the tool's
//! schema.

use anyhow::{Context as _, bail};
use deliberate_json_schema::mark_large_integers;
use serde_json::{Map, Value};

/// Parses `--args`, a JSON object.
pub(super) fn from_json(text: &str) -> anyhow::Result<Value> {
    let value: Value = parse_json(text).context("`--args` is not JSON")?;
    if !value.is_object() {
        bail!("`--args` must be a JSON object, such as '{{\"path\": \"notes.txt\"}}'");
    }
    Ok(value)
}

/// Parses `key=value` pairs.
pub(super) fn from_pairs(pairs: &[String], schema: &Value) -> anyhow::Result<Value> {
    let mut arguments = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!(
                "{pair:?} is not an argument; write KEY=VALUE, or all of them as JSON in `--args`"
            );
        };
        let property = schema.get("properties").and_then(|all| all.get(key));
        arguments.insert(key.to_owned(), parse_by_schema(text, property));
    }
    Ok(Value::Object(arguments))
}

/// Converts a text to the schema's type. A text stays a text if the schema allows it: `id=007` is
/// not seven.
fn parse_by_schema(text: &str, property: Option<&Value>) -> Value {
    let as_text = || Value::String(text.to_owned());
    match property {
        Some(property) if accepts_type(property, "string") => as_text(),
        _ => parse_json(text).unwrap_or_else(|_| as_text()),
    }
}

/// Parses JSON with marks for the integers beyond 64 bits, which the tool gets exactly.
fn parse_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&mark_large_integers(text))
}

fn accepts_type(property: &Value, kind: &str) -> bool {
    match property.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_as_the_schema_says() {
        let schema = json!({ "properties": {
            "id": { "type": "string" },
            "many": { "type": ["string", "null"] },
            "count": { "type": "integer" },
            "tags": { "type": "array" },
        }});
        let pairs = [
            "id=007",
            "many=null",
            "count=7",
            "tags=[\"a\"]",
            "free=true",
            "url=a=b",
        ];
        let pairs: Vec<String> = pairs.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(
            from_pairs(&pairs, &schema).unwrap(),
            json!({ "id": "007", "many": "null", "count": 7, "tags": ["a"], "free": true, "url": "a=b" })
        );
        assert!(from_pairs(&["nothing".to_owned()], &schema).is_err());
        assert!(from_json("[1]").is_err());
    }
}
