#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod draft;
mod large_integers;
mod patterns;
#[doc(hidden)]
pub mod references;
mod trusted_schema;
mod validation_cost;
mod validator;
mod value_size;
mod violated_rule;
mod work;

use serde_json::Value;

pub use large_integers::{
    has_marked_integers, mark_large_integers, marked_integer, restore_large_integers,
    round_large_integers, stringify_large_integers, take_large_integers, unmark_large_integers,
};
pub use trusted_schema::TrustedSchema;
pub use validator::{JsonSchemaError, JsonSchemaValidator, MAX_VIOLATIONS, SchemaViolation};
pub use violated_rule::{ViolatedRule, ViolationKind};

/// The keywords whose violations are collected from several schemas, or hold a copy of the value.
const ALTERNATIVES: [&str; 4] = ["anyOf", "oneOf", "contains", "propertyNames"];

/// The greatest nesting depth of a schema's JSON. A JSON parser stops at 128; an honest tool does
/// not need more.
pub const MAX_JSON_DEPTH: usize = 200;

/// Tells whether a schema has alternatives, at any depth.
fn has_alternatives(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_alternatives),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, inner)| ALTERNATIVES.contains(&name.as_str()) || has_alternatives(inner)),
        _ => false,
    }
}

/// Shortens a text to `most` characters, at a word boundary if one is near, and marks the cut
/// with an ellipsis.
pub fn truncate_at_word(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let at_word = kept
        .rfind(char::is_whitespace)
        .filter(|at| *at * 2 > kept.len());
    let kept = at_word.and_then(|at| kept.get(..at)).unwrap_or(&kept);
    format!("{}…", kept.trim_end())
}
