//! Continuations that the caller brings with `reasoning_got_generate`, in any of the forms that models
//! write: an object, a list, a text that lists them, or JSON as a text.

use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ToolContext, ToolError, answer_schema};
use serde_json::{Value, json};

use super::expand::{ContinuationList, ContinuationReply};
use crate::text_items::TextItems;

/// Reads the continuations that the caller brought: an object with a list of them, a list, a text
/// that lists them, or one.
pub(super) async fn read_continuations(
    reply: Value,
    k: u32,
    call: &ToolContext,
) -> Result<Vec<ContinuationReply>, ToolError> {
    let list = match parse_json_text(reply) {
        Value::Object(fields) if fields.contains_key("continuations") => Value::Object(fields),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| match item {
                Value::String(text) => json!({ "thought": text }),
                other => other,
            });
            json!({ "continuations": items.collect::<Vec<Value>>() })
        }
        Value::String(text) => json!({ "continuations": listed_thoughts(&text, k) }),
        other => json!({ "continuations": [other] }),
    };
    let ask = ModelRequest {
        key: "got_generate".to_owned(),
        schema: answer_schema::<ContinuationList>(),
        ..ModelRequest::default()
    };
    let mut read = call.read_reply::<ContinuationList>(ask, list, None).await?;
    read.value.continuations.truncate(k as usize);
    Ok(read.value.continuations)
}

/// Returns the continuations that a text holds as JSON, alone or in a code fence. Any other reply
/// stays as it is, also JSON that is itself the thought.
fn parse_json_text(reply: Value) -> Value {
    let Value::String(text) = &reply else {
        return reply;
    };
    let text = text.trim();
    let fenced = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    match serde_json::from_str(fenced.unwrap_or(text).trim()) {
        Ok(Value::Object(fields)) if is_continuation_object(&fields) => Value::Object(fields),
        Ok(Value::Array(items)) if !items.is_empty() && items.iter().all(is_continuation) => {
            Value::Array(items)
        }
        _ => reply,
    }
}

fn is_continuation(item: &Value) -> bool {
    match item {
        Value::Object(fields) => is_continuation_object(fields),
        other => other.is_string(),
    }
}

fn is_continuation_object(fields: &serde_json::Map<String, Value>) -> bool {
    ["continuations", "thought", "content"]
        .iter()
        .any(|name| fields.contains_key(*name))
}

/// The thoughts of a plain text: one for each item of a list, if several are wanted.
fn listed_thoughts(text: &str, k: u32) -> Vec<Value> {
    match TextItems::parse(text).filter(|_| k > 1) {
        Some(list) => {
            let items = list.items.into_iter();
            items.map(|item| json!({ "thought": item.text })).collect()
        }
        None => vec![json!({ "thought": text })],
    }
}
