//! Merges the parts of an `allOf` into one schema, where the result has exactly the same meaning.

use serde_json::{Map, Value};

use super::keywords::is_validation_keyword;

/// Keywords whose meaning depends on their siblings: only one part may have any keyword of a group,
/// and then no other part may describe the fields or items that it refers to.
const OBJECT_KEYWORDS: [&str; 3] = ["properties", "patternProperties", "additionalProperties"];
const ARRAY_KEYWORDS: [&str; 6] = [
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
];
const CONDITIONAL_KEYWORDS: [&str; 3] = ["if", "then", "else"];

/// Merges the parts; returns none if that would change which values are valid.
pub(super) fn merge_all(parts: &[Map<String, Value>]) -> Option<Map<String, Value>> {
    for group in [&OBJECT_KEYWORDS[..], &ARRAY_KEYWORDS, &CONDITIONAL_KEYWORDS] {
        let has = |part: &&Map<String, Value>| group.iter().any(|key| part.contains_key(*key));
        let only_properties = |part: &&Map<String, Value>| {
            let own = group.iter().filter(|key| part.contains_key(**key));
            own.into_iter().all(|key| *key == "properties")
        };
        let concerned: Vec<_> = parts.iter().filter(has).collect();
        if concerned.len() > 1 && !concerned.iter().all(only_properties) {
            return None;
        }
    }
    if parts.iter().any(depends_on_siblings) {
        return None;
    }
    let mut whole = Map::new();
    for part in parts {
        for (key, value) in part {
            let joined = match whole.get(key) {
                None => value.clone(),
                Some(old) => merge_keyword(key, old, value)?,
            };
            whole.insert(key.clone(), joined);
        }
    }
    Some(whole)
}

/// Returns true if a part refers to whatever else is in the same schema.
fn depends_on_siblings(part: &Map<String, Value>) -> bool {
    let flag = |key: &str| part.get(key).is_some_and(Value::is_boolean);
    part.keys().any(|key| key.starts_with("unevaluated"))
        || flag("exclusiveMinimum")
        || flag("exclusiveMaximum")
}

/// Merges two values of a keyword.
fn merge_keyword(key: &str, old: &Value, new: &Value) -> Option<Value> {
    match (key, old, new) {
        _ if old == new => Some(old.clone()),
        ("description", Value::String(old), Value::String(new)) => {
            Some(Value::String(format!("{old}\n{new}")))
        }
        ("required", Value::Array(old), Value::Array(new)) => {
            let mut names = old.clone();
            names.extend(new.iter().filter(|name| !old.contains(name)).cloned());
            Some(Value::Array(names))
        }
        ("properties", Value::Object(old), Value::Object(new)) => {
            let mut all = old.clone();
            for (name, schema) in new {
                if all.get(name).is_some_and(|known| known != schema) {
                    return None;
                }
                all.insert(name.clone(), schema.clone());
            }
            Some(Value::Object(all))
        }
        ("minimum" | "minLength" | "minItems" | "minProperties", ..) => larger_value(old, new),
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", ..) => smaller_value(old, new),
        // A keyword that does not restrict values cannot change the meaning; the outer one is kept.
        _ if !is_validation_keyword(key) => Some(old.clone()),
        _ => None,
    }
}

fn larger_value(old: &Value, new: &Value) -> Option<Value> {
    let kept = if old.as_i64()? >= new.as_i64()? {
        old
    } else {
        new
    };
    Some(kept.clone())
}

fn smaller_value(old: &Value, new: &Value) -> Option<Value> {
    let kept = if old.as_i64()? <= new.as_i64()? {
        old
    } else {
        new
    };
    Some(kept.clone())
}
