//! The texts of a model request, for any provider format, and a JSON Schema written in them.

use serde_json::{Deserializer, Value};

/// The marker before a schema that is written out in the instructions.
const SCHEMA_MARKER: &str = "JSON Schema";

/// Returns all texts that the model reads: the system prompt and all messages.
pub(super) fn prompt_text(body: &Value) -> String {
    let mut all = vec![content_text(&body["system"])];
    all.extend(messages(body).map(|message| content_text(&message["content"])));
    all.join("\n")
}

/// Returns the schema that is written out in the system prompt, for providers without a schema
/// field. A schema quoted in other messages does not count.
pub(super) fn prompt_schema(body: &Value) -> Option<Value> {
    let system = system_text(body);
    let named = system.rmatch_indices(SCHEMA_MARKER);
    named.into_iter().find_map(|(at, _)| {
        let (_, after) = system.split_at(at);
        let (_, from) = after.split_at(after.find('{')?);
        let first = Deserializer::from_str(from).into_iter::<Value>().next()?;
        first.ok().filter(|schema| schema["properties"].is_object())
    })
}

/// Returns the system prompt: a field of its own at Anthropic, else messages.
fn system_text(body: &Value) -> String {
    let is_standing =
        |message: &&Value| message["role"] == "system" || message["role"] == "developer";
    let mut all = vec![content_text(&body["system"])];
    let in_messages = messages(body).filter(is_standing);
    all.extend(in_messages.map(|message| content_text(&message["content"])));
    all.join("\n")
}

pub(super) fn messages(body: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    let all = body["messages"].as_array();
    all.map_or(&[] as &[Value], Vec::as_slice).iter()
}

/// Returns the text of a content, which is a string or a list of typed parts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_found_in_the_instructions_of_every_wire() {
        let wanted = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let text = format!("Be good {{.\n\nAnswer by this JSON Schema: {wanted}\nNothing else.");
        let parts = json!([{ "type": "text", "text": text }]);
        for body in [
            json!({ "system": text, "messages": [] }),
            json!({ "system": parts, "messages": [] }),
            json!({ "messages": [{ "role": "system", "content": text }] }),
            json!({ "messages": [{ "role": "developer", "content": parts }] }),
        ] {
            assert_eq!(prompt_schema(&body), Some(wanted.clone()), "{body}");
        }
    }

    #[test]
    fn what_is_no_schema_or_not_an_instruction_is_left_alone() {
        let schema_text = r#"JSON Schema: {"properties": {}}"#;
        for body in [
            json!({ "messages": [{ "role": "user", "content": schema_text }] }),
            json!({ "system": "JSON Schema: {\"properties\"", "messages": [] }),
            json!({ "system": "JSON Schema: {\"thought\": 1}", "messages": [] }),
            json!({ "system": "JSON Schema", "messages": [] }),
            json!({}),
        ] {
            assert_eq!(prompt_schema(&body), None, "{body}");
        }
    }
}
