//! The short form of tools in `tools/list`. Every client pays for the list with its context, so it
//! contains only what a client needs to choose and call a tool, and of the answers only the ids for
//! further calls. The dispatcher checks the complete schemas, and the documentation contains them.

use deliberate_toolkit::ToolHints;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value, json};

/// A maximum from this value on is omitted, because callers do not reach it.
const HIGH_MAXIMUM: f64 = 1_000.0;

/// An integer with at most this maximum keeps its minimum too: in a short range callers try the ends.
const SHORT_RANGE: f64 = 10.0;

/// The input schema without constraints that well-meaning callers never violate. The error for an
/// unknown name, an empty text or too long a list states the rule.
pub(crate) fn slim_input_schema(schema: &Value) -> Map<String, Value> {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    strip_keywords(&mut fields);
    give_single_types(&mut fields);
    fields
}

/// Gives every argument and every item one type. Clients that convert schemas for their model refuse
/// or drop a tool otherwise: Gemini takes no list without the type of its items, Letta no list of
/// types. Where several are allowed, text is one of them, and an object can be written as text.
fn give_single_types(schema: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            give_single_type(property);
        }
    }
    if schema.get("type").is_some_and(|kind| kind == "array") {
        let items = schema.entry("items").or_insert_with(|| json!({}));
        give_single_type(items);
    }
}

fn give_single_type(schema: &mut Value) {
    // `true` allows anything, like an empty schema.
    if schema.is_boolean() {
        *schema = json!({});
    }
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let kind = match fields.get("type") {
        Some(Value::Array(kinds)) => {
            let text = kinds.iter().find(|kind| *kind == "string");
            let other = kinds.iter().find(|kind| *kind != "null");
            text.or(other).cloned()
        }
        Some(_) => None,
        None => {
            let is_described = [
                "anyOf",
                "oneOf",
                "allOf",
                "enum",
                "const",
                "$ref",
                "properties",
            ]
            .iter()
            .any(|keyword| fields.contains_key(*keyword));
            (!is_described).then(|| json!("string"))
        }
    };
    if let Some(kind) = kind {
        fields.insert("type".to_owned(), kind);
    }
    give_single_types(fields);
}

fn strip_keywords(schema: &mut Map<String, Value>) {
    let most = schema.get("maximum").and_then(Value::as_f64);
    let counts = schema.get("type").is_some_and(|kind| kind == "integer")
        && most.is_none_or(|most| most > SHORT_RANGE);
    schema.retain(|keyword, value| !is_redundant_keyword(keyword, value, counts));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            strip_keywords(property);
        }
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        strip_keywords(items);
    }
}

fn is_redundant_keyword(keyword: &str, value: &Value, counts: bool) -> bool {
    match keyword {
        "additionalProperties" => value.is_boolean(),
        "default" => *value == json!([]) || *value == json!({}),
        "maxLength" | "maxItems" => true,
        "minLength" => value == 1,
        "maximum" => value.as_f64().is_some_and(|most| most >= HIGH_MAXIMUM),
        // A fraction keeps its minimum: with only a maximum of 1 it could be read as a percentage.
        "minimum" => counts && (value == 0 || value == 1),
        _ => false,
    }
}

/// The output schema with only the ids that the next call needs and this one did not. Everything
/// else is visible in the answer.
pub(crate) fn slim_output_schema(schema: &Value, input: &Value) -> Map<String, Value> {
    let required = input.get("required").and_then(Value::as_array);
    let is_given =
        |name: &String| required.is_some_and(|names| names.iter().any(|it| it == name.as_str()));
    let mut outline = Map::from_iter([("type".to_owned(), json!("object"))]);
    let properties = schema.get("properties").and_then(Value::as_object);
    let ids: Map<String, Value> = properties
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| name.ends_with("_id") || name.ends_with("_ids"))
        .filter(|name| !is_given(name))
        .map(|name| (name.clone(), json!({})))
        .collect();
    if !ids.is_empty() {
        outline.insert("properties".to_owned(), Value::Object(ids));
    }
    outline
}

/// The hints that differ from the defaults of the protocol.
pub(crate) fn tool_annotations(hints: ToolHints) -> ToolAnnotations {
    let writes = !hints.read_only;
    ToolAnnotations::from_raw(
        None,
        hints.read_only.then_some(true),
        // These two hints have no meaning for a read-only tool.
        (writes && !hints.destructive).then_some(false),
        (writes && hints.idempotent).then_some(true),
        (!hints.open_world).then_some(false),
    )
}
