//! Tools as `tools/list` shows them: every client pays for the list with its context, so it says
//! what a client needs to choose and call a tool, and of the answers only their outline. The whole
//! schemas are checked by the gate and written out in the documentation.

use deliberate_toolkit::Annotations;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value, json};

/// The schema of the arguments. That unknown ones are refused is said by the error that refuses
/// them, with the name that may have been meant.
pub(crate) fn input(schema: &Value) -> Map<String, Value> {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    fields.shift_remove("additionalProperties");
    fields
}

/// The outline of an answer: its fields and what each is.
pub(crate) fn output(schema: &Value) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut outline = Map::from_iter([("type".to_owned(), json!("object"))]);
    if let Some(properties) = properties {
        let fields: Map<String, Value> = properties
            .iter()
            // The instructions tell of it once for all.
            .filter(|(name, _)| *name != "still_running")
            .map(|(name, field)| (name.clone(), kind(field)))
            .collect();
        outline.insert("properties".to_owned(), Value::Object(fields));
    }
    outline
}

/// What a field is, where it is always the same. Most are text, so that is not said.
fn kind(field: &Value) -> Value {
    match field.get("type") {
        Some(Value::String(kind)) if kind != "string" => json!({ "type": kind }),
        _ => json!({}),
    }
}

/// The hints that differ from what the protocol assumes.
pub(crate) fn annotations(hints: Annotations) -> ToolAnnotations {
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
