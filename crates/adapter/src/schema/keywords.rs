//! The keywords of JSON Schema, and which type of value each speaks of.

use serde_json::Value;

/// The type of value a rule speaks of, if it is one alone; others pass it unseen.
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

/// Whether a keyword says what passes; all others only describe.
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

/// The type of a value, with whole numbers among the numbers.
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
