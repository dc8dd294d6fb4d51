//! Bounds the patterns of a schema before they are compiled. A pattern of a few bytes may compile to
//! much memory, and compiling cannot be stopped.

use std::collections::HashSet;

use serde_json::Value;

/// The maximum number of different patterns in one schema.
pub(crate) const MAX_PATTERNS: usize = 64;

/// The maximum bytes of all different patterns in one schema.
pub(crate) const MAX_ALL_PATTERNS_BYTES: usize = 8 << 10;

/// Tells whether a schema has more patterns than are compiled. Every object is taken for a schema,
/// because a reference may lead to any part. Equal patterns are compiled once.
pub(crate) fn has_too_many_patterns(schema: &Value) -> bool {
    let mut patterns: HashSet<&str> = HashSet::new();
    let mut bytes = 0_usize;
    let mut todo = vec![schema];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                let own = fields.get("pattern").and_then(Value::as_str);
                let names = fields.get("patternProperties").and_then(Value::as_object);
                let names = names.into_iter().flat_map(|named| named.keys());
                for pattern in names.map(String::as_str).chain(own) {
                    if patterns.insert(pattern) {
                        bytes = bytes.saturating_add(pattern.len());
                    }
                    if patterns.len() > MAX_PATTERNS || bytes > MAX_ALL_PATTERNS_BYTES {
                        return true;
                    }
                }
                todo.extend(fields.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::{JsonSchemaError, JsonSchemaValidator};

    /// Compiles to much more than its text.
    fn pattern(number: usize) -> String {
        format!("a{number}[^b]{{9}}{{9}}")
    }

    fn error_of(schema: &Value) -> Option<JsonSchemaError> {
        JsonSchemaValidator::new(schema).err()
    }

    #[test]
    fn five_thousand_patterns_are_refused_before_they_are_compiled() {
        let properties: Map<String, Value> = (0..5_000)
            .map(|at| (format!("p{at}"), json!({ "pattern": pattern(at) })))
            .collect();
        let schema = json!({ "properties": properties });
        assert_eq!(error_of(&schema), Some(JsonSchemaError::TooExpensive));
        let named: Map<String, Value> = (0..5_000).map(|at| (pattern(at), json!(true))).collect();
        let schema = json!({ "items": { "patternProperties": named } });
        assert_eq!(error_of(&schema), Some(JsonSchemaError::TooExpensive));
        // A reference makes a schema of any part.
        let parts: Vec<Value> = (0..5_000)
            .map(|at| json!({ "pattern": pattern(at) }))
            .collect();
        let schema = json!({ "x": parts, "$ref": "#/x/7" });
        let told = error_of(&schema).unwrap();
        assert_eq!(told, JsonSchemaError::TooExpensive);
        assert!(told.to_string().contains("64 different patterns"), "{told}");
        let long = json!({ "pattern": "a".repeat(MAX_ALL_PATTERNS_BYTES + 1) });
        assert_eq!(error_of(&long), Some(JsonSchemaError::TooExpensive));
    }

    #[test]
    fn as_many_patterns_as_an_honest_schema_has_are_used() {
        let properties: Map<String, Value> = (0..MAX_PATTERNS)
            .map(|at| {
                (
                    format!("p{at}"),
                    json!({ "pattern": format!("^x{at}-[a-z]+$") }),
                )
            })
            .collect();
        let validator = JsonSchemaValidator::new(&json!({ "properties": properties })).unwrap();
        assert!(validator.accepts(&json!({ "p7": "x7-ok" })));
        assert!(!validator.accepts(&json!({ "p7": "x8-ok" })));
        // The same pattern in many places counts once, and a property may be called `pattern`.
        let same = vec![json!({ "pattern": "^a+$" }); 500];
        let schema = json!({
            "properties": { "pattern": { "type": "string" }, "list": { "prefixItems": same } },
        });
        let validator = JsonSchemaValidator::new(&schema).unwrap();
        assert!(!validator.accepts(&json!({ "list": ["a", "b"] })));
    }
}
