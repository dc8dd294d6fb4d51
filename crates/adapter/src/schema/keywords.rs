//! The keywords of JSON Schema, and the type of value that each applies to.

use serde_json::Value;

/// Returns the only type of value that a keyword applies to; it ignores values of other types.
pub(super) fn keyword_type(key: &str) -> Option<&'static str> {
    Some(match key {
        "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" => "number",
        "maxLength" | "minLength" | "pattern" | "contentEncoding" | "contentMediaType"
        | "contentSchema" => "string",
        "items" | "prefixItems" | "additionalItems" | "maxItems" | "minItems" | "uniqueItems"
        | "contains" | "maxContains" | "minContains" | "unevaluatedItems" => "array",
        "maxProperties"
        | "minProperties"
        | "required"
        | "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas" => "object",
        _ => return None,
    })
}

/// Returns true if a keyword restricts values; all others only describe them.
pub(super) fn is_validation_keyword(key: &str) -> bool {
    keyword_type(key).is_some()
        || matches!(
            key,
            "type"
                | "enum"
                | "const"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "not"
                | "if"
                | "then"
                | "else"
                | "format"
        )
}

/// Returns the type of a value; integers count as numbers.
pub(super) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
