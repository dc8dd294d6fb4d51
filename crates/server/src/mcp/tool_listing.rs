//! Tools as `tools/list` shows them: every client pays for the list with its context, so it says
//! what a client needs to choose and call a tool, and of the answers only what other calls are made
//! with. The whole schemas are checked by the gate and written out in the documentation.

use deliberate_toolkit::ToolHints;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value, json};

/// A number that is no smaller bounds what nobody reaches.
const HIGH_MAXIMUM: f64 = 1_000.0;

/// The schema of the arguments, without what nobody goes against who means well: the error that
/// refuses an unknown name, an empty text or too long a list says so, with what is right.
pub(crate) fn slim_input_schema(schema: &Value) -> Map<String, Value> {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    strip_keywords(&mut fields);
    fields
}

fn strip_keywords(schema: &mut Map<String, Value>) {
    let counts = schema.get("type").is_some_and(|kind| kind == "integer");
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
        // Not so of a share: who reads only that it is at most 1 may take it for a percentage.
        "minimum" => counts && (value == 0 || value == 1),
        _ => false,
    }
}

/// The outline of an answer: the ids that it brings, for those are what the next call is made with.
/// What else there is in an answer is seen in it.
pub(crate) fn slim_output_schema(schema: &Value) -> Map<String, Value> {
    let mut outline = Map::from_iter([("type".to_owned(), json!("object"))]);
    let properties = schema.get("properties").and_then(Value::as_object);
    let ids: Map<String, Value> = properties
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| name.ends_with("_id") || name.ends_with("_ids"))
        .map(|name| (name.clone(), json!({})))
        .collect();
    if !ids.is_empty() {
        outline.insert("properties".to_owned(), Value::Object(ids));
    }
    outline
}

/// The hints that differ from what the protocol assumes.
pub(crate) fn tool_annotations(hints: ToolHints) -> ToolAnnotations {
    let writes = !hints.read_only;
    ToolAnnotations::from_raw(
        None,
        hints.read_only.then_some(true),
        // These two say nothing of a tool that only reads.
        (writes && !hints.destructive).then_some(false),
        (writes && hints.idempotent).then_some(true),
        (!hints.open_world).then_some(false),
    )
}
