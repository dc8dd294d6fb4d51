//! The form of a tool's result. Other clients reject a whole result for one part of a wrong form, so
//! such a part is left out and the rest is kept.

use serde_json::{Value, json};

use crate::ClientErrorKind;

/// The text that stands for a content block of a wrong form.
const UNREADABLE_BLOCK: &str =
    "[A content block of the server is left out: it does not have the form that MCP defines.]";

/// Replaces content blocks of a wrong form by a note, and removes a `_meta` that is no object and
/// fields that are null, as some servers write absent ones. Returns an error if nothing of the result
/// can be kept.
pub(super) fn repair_result(mut result: Value) -> Result<Value, ClientErrorKind> {
    let malformed = || ClientErrorKind::Malformed {
        reason: "the result does not have the form that the protocol defines".to_owned(),
    };
    let fields = result.as_object_mut().ok_or_else(malformed)?;
    for name in ["content", "isError", "resultType", "_meta"] {
        if fields.get(name).is_some_and(Value::is_null) {
            fields.shift_remove(name);
        }
    }
    let is = |name: &str, fits: fn(&Value) -> bool| fields.get(name).is_none_or(fits);
    if !is("isError", Value::is_boolean) || !is("resultType", Value::is_string) {
        return Err(malformed());
    }
    if !is("_meta", Value::is_object) {
        fields.shift_remove("_meta");
    }
    if let Some(content) = fields.get_mut("content") {
        let blocks = content.as_array_mut().ok_or_else(malformed)?;
        blocks.iter_mut().for_each(name_link);
        for block in blocks.iter_mut().filter(|block| !is_readable(block)) {
            *block = json!({ "type": "text", "text": UNREADABLE_BLOCK });
        }
    }
    Ok(result)
}

/// Names a link without a name by its URI, so that it is not lost.
fn name_link(block: &mut Value) {
    let Some(fields) = block.as_object_mut() else {
        return;
    };
    let is_link = fields
        .get("type")
        .is_some_and(|kind| kind == "resource_link");
    if is_link && !fields.get("name").is_some_and(Value::is_string) {
        let uri = fields.get("uri").cloned().unwrap_or_default();
        fields.insert("name".to_owned(), uri);
    }
}

/// Returns true if a block has the fields that its type requires. Blocks of unknown types belong to
/// newer revisions and are readable for those who know them.
fn is_readable(block: &Value) -> bool {
    let has = |value: &Value, name: &str| value.get(name).is_some_and(Value::is_string);
    match block.get("type").and_then(Value::as_str) {
        Some("text") => has(block, "text"),
        Some("image" | "audio") => has(block, "data") && has(block, "mimeType"),
        Some("resource_link") => has(block, "uri") && has(block, "name"),
        Some("resource") => block.get("resource").is_some_and(|resource| {
            has(resource, "uri") && (has(resource, "text") || has(resource, "blob"))
        }),
        Some(_) => true,
        None => false,
    }
}
