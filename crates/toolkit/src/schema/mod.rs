//! Generates JSON Schemas from types (`mod`) and validates arguments against them (`check`),
//! including lists that were sent as one text (`split_list`).
//!
//! Schemas are kept small, because every client pays for them with its context: everything inline,
//! no titles, no dialect, optional fields simply not required.

mod check;
mod split_list;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::call::context::usage::MODEL_FIELD;

pub(crate) use check::ArgumentChecker;

use crate::tool::REPLY_FIELD;

/// Returns the schema of a model's answer.
pub fn answer_schema<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12())
}

/// Returns the schema of a tool's arguments.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = arguments_schema::<T>();
    split_list::remove_marks(&mut schema);
    schema
}

/// Returns the same for the checker, with the marks that clients do not see.
pub(crate) fn arguments_schema<T: JsonSchema>() -> Value {
    let mut schema = generate_marked::<T>(SchemaSettings::draft2020_12());
    without_null(&mut schema);
    schema
}

/// Adds the argument in which a caller brings its own reply, if the tool takes one.
pub(crate) fn with_reply(mut schema: Value, takes_reply: bool) -> Value {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties.filter(|_| takes_reply) {
        let about = json!({ "description": "Your thought" });
        properties.insert(REPLY_FIELD.to_owned(), about);
    }
    schema
}

/// Returns the schema of a tool's answer. A tool that uses a model may answer `needs_reply` or
/// `still_running` instead.
pub(crate) fn output_schema<T: JsonSchema>(thinks: bool) -> Value {
    // In the form that is serialized: a field that is omitted when it is empty is not required.
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_serialize());
    if !thinks {
        return schema;
    }
    let Some(fields) = schema.as_object_mut() else {
        return schema;
    };
    let required = fields.remove("required").unwrap_or_else(|| json!([]));
    fields.remove("additionalProperties");
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(
            "needs_reply".to_owned(),
            json!({ "type": "object", "description": "Think, then call reasoning_resume" }),
        );
        properties.insert(
            "still_running".to_owned(),
            json!({ "type": "object", "description": "Call reasoning_resume for the answer" }),
        );
        properties
            .entry(MODEL_FIELD)
            .or_insert_with(|| json!({ "type": "string", "description": "Which model thought" }));
    }
    fields.insert(
        "anyOf".to_owned(),
        json!([
            { "required": required },
            { "required": ["needs_reply"] },
            { "required": ["still_running"] },
        ]),
    );
    schema
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = generate_marked::<T>(settings);
    split_list::remove_marks(&mut schema);
    schema
}

fn generate_marked<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema);
    // The type's doc comment is for readers of the code; the tool has its own description.
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
    }
    schema
}

/// Removes keywords that callers do not need.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("title");
            fields.remove("$schema");
            // Callers do not need the widths of machine numbers ("double", "uint32").
            if fields.get("type").is_some_and(is_numeric) {
                fields.remove("format");
            }
            if fields.get("default").is_some_and(is_empty) {
                fields.shift_remove("default");
            }
            if fields.get("description") == Some(&"".into()) {
                fields.shift_remove("description");
            }
            if let Some(words) = enum_values(fields) {
                fields.shift_remove("oneOf");
                fields.insert("type".to_owned(), "string".into());
                fields.insert("enum".to_owned(), words);
            }
            for (key, value) in fields.iter_mut() {
                // Property names are not keywords.
                if key == "properties" {
                    if let Value::Object(properties) = value {
                        properties
                            .iter_mut()
                            .for_each(|(_, property)| simplify(property));
                    }
                } else if key == "items" && *value == Value::Bool(true) {
                    // This means the same, and some clients and models reject the short form.
                    *value = json!({});
                } else {
                    simplify(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Returns the values of an enum whose variants are separate constants because they have doc
/// comments. A list is shorter, and an error can name its values.
fn enum_values(fields: &Map<String, Value>) -> Option<Value> {
    let choices = fields.get("oneOf")?.as_array()?;
    choices
        .iter()
        .map(|choice| choice.get("const").filter(|word| word.is_string()).cloned())
        .collect()
}

/// Tells whether a default only means that the field may be omitted.
fn is_empty(default: &Value) -> bool {
    match default {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn is_numeric(kind: &Value) -> bool {
    let numeric = |word: &Value| matches!(word.as_str(), Some("number" | "integer"));
    numeric(kind)
        || kind
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(numeric))
}

/// Removes `null` from the types. An optional argument may be omitted; `null` is accepted as
/// omitted but not advertised, because some clients can't handle lists of types.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(kinds)) = fields.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(words)) = fields.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&json!("null")));
                // A single alternative replaces the list of alternatives.
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    fields.shift_remove("anyOf");
                    only.into_iter().for_each(|(key, value)| {
                        fields.entry(key).or_insert(value);
                    });
                }
            }
            fields.iter_mut().for_each(|(_, value)| without_null(value));
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Input {
        /// What to think about
        #[schemars(length(min = 1))]
        content: String,
        session_id: Option<String>,
        #[schemars(range(min = 0, max = 1))]
        confidence: Option<f64>,
        config: Option<Config>,
        hints: Option<Vec<String>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Config {
        #[schemars(range(min = 1))]
        max_depth: Option<u32>,
    }

    fn check(arguments: Value) -> Result<Value, String> {
        let checker = ArgumentChecker::new(&input_schema::<Input>()).unwrap();
        checker.check(arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn the_schema_is_plain_and_small() {
        let schema = input_schema::<Input>();
        assert_eq!(
            schema["properties"]["content"],
            json!({ "description": "What to think about", "type": "string", "minLength": 1 })
        );
        assert_eq!(
            schema["properties"]["session_id"],
            json!({ "type": "string" })
        );
        assert_eq!(schema["required"], json!(["content"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert!(!schema.to_string().contains('$'));
    }

    #[test]
    fn errors_name_field_rule_and_value() {
        assert_eq!(check(json!({})).unwrap_err(), "content: is required");
        assert_eq!(
            check(json!({ "content": "" })).unwrap_err(),
            "content: must not be empty, got \"\""
        );
        assert_eq!(
            check(json!({ "content": "x", "confidence": 5 })).unwrap_err(),
            "confidence: must be at most 1, got 5"
        );
        assert_eq!(
            check(json!({ "content": 7 })).unwrap_err(),
            "content: must be of type \"string\", got 7"
        );
        assert_eq!(
            check(json!({ "content": "x", "config": { "max_depth": 0 } })).unwrap_err(),
            "config.max_depth: must be at least 1, got 0"
        );
        assert_eq!(
            check(json!([1])).unwrap_err(),
            "arguments: must be of type \"object\", got [1]"
        );
    }

    #[test]
    fn a_slip_in_a_name_is_suggested() {
        assert_eq!(
            check(json!({ "content": "x", "sesion_id": "s" })).unwrap_err(),
            "sesion_id: is not an argument of this tool, got \"s\" (did you mean \"session_id\"?)"
        );
        assert_eq!(
            check(json!({ "content": "x", "config": { "maxDepth": 3 } })).unwrap_err(),
            "config.maxDepth: is not an argument of this tool, got 3 (did you mean \"max_depth\"?)"
        );
    }

    #[test]
    fn null_is_left_out_and_numbers_may_be_text() {
        assert_eq!(
            check(json!({ "content": "3", "session_id": null, "confidence": "0.5" })).unwrap(),
            json!({ "content": "3", "confidence": 0.5 })
        );
        assert_eq!(
            check(json!({ "content": "x", "config": "{\"max_depth\": \"3\"}", "hints": "one" }))
                .unwrap(),
            json!({ "content": "x", "config": { "max_depth": 3 }, "hints": ["one"] })
        );
        assert!(check(json!({ "content": null })).is_err());
        assert!(check(json!({ "content": "x", "confidence": "high" })).is_err());
    }
}
