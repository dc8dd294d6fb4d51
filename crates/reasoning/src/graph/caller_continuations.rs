//! Continuations that the caller brings with `reasoning_got_generate`, in any of the forms that models
//! write: an object, a list, a text that lists them, or JSON as a text.

use deliberate_llm::{ModelRequest, read_json};
use deliberate_toolkit::{ToolContext, ToolError, answer_schema};
use serde_json::{Value, json};

use super::expand::{ContinuationList, ExpansionReply};
use crate::text_items::TextItems;

/// The field with the list of continuations.
const LIST: &str = "continuations";

/// The fields of which an object that is or holds continuations has one.
const FIELDS: [&str; 3] = [LIST, "thought", "content"];

/// Reads at most `k` continuations that the caller brought, and notes what of them was dropped.
pub(super) async fn read_continuations(
    reply: Value,
    k: u32,
    call: &ToolContext,
) -> Result<ExpansionReply, ToolError> {
    let list = match reply {
        Value::String(text) => text_to_list(text, k),
        other => value_to_list(other),
    };
    let ask = ModelRequest {
        key: "got_generate".to_owned(),
        schema: answer_schema::<ContinuationList>(),
        ..ModelRequest::default()
    };
    let read = call.read_reply::<ContinuationList>(ask, list, None).await?;
    let list = read.value.continuations;
    let mut notes = Vec::from_iter(list.unreadable_note(LIST));
    let mut continuations = list.items;
    let total = continuations.len();
    continuations.truncate(k as usize);
    let dropped = total - continuations.len();
    if dropped > 0 {
        notes.push(format!(
            "this call takes at most {k}, so {dropped} of {total} continuations were dropped"
        ));
    }
    Ok(ExpansionReply {
        continuations,
        notes,
    })
}

/// The reply object for an object or a list.
fn value_to_list(reply: Value) -> Value {
    match reply {
        Value::Object(fields) if fields.contains_key(LIST) => Value::Object(fields),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| match item {
                Value::String(text) => json!({ "thought": text }),
                other => other,
            });
            json!({ LIST: items.collect::<Vec<Value>>() })
        }
        other => json!({ LIST: [other] }),
    }
}

/// The reply object for a text: the continuations that it holds as JSON, else those that it lists.
/// JSON that cannot be read stays a text, which is refused with the shape of a reply.
fn text_to_list(text: String, k: u32) -> Value {
    let body = without_fence(&text);
    let is_json = begins_as_json(body);
    if is_json || names_list(body) {
        match read_whole_json(body) {
            Some(value) if holds_continuations(&value) => return value_to_list(value),
            None if is_json => return Value::String(text),
            // JSON that is itself the thought, or a text about such.
            _ => {}
        }
    }
    json!({ LIST: listed_thoughts(&text, k) })
}

/// The content of the code fence that a text begins with; else the text.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let fenced = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"));
    let body = fenced.map(|rest| rest.strip_suffix("```").unwrap_or(rest));
    body.unwrap_or(text).trim()
}

/// Tells whether a text was meant as JSON: `{x | x > 3}` is a set, and `[1]` a reference.
fn begins_as_json(text: &str) -> bool {
    let in_list = text.strip_prefix('[').map(str::trim_start);
    let Some(fields) = in_list.unwrap_or(text).strip_prefix('{') else {
        return in_list.is_some_and(|items| items.starts_with('"'));
    };
    let fields = fields.trim_start();
    fields.starts_with(['"', '\'']) || FIELDS.iter().any(|name| fields.starts_with(name))
}

fn names_list(text: &str) -> bool {
    text.contains("\"continuations\"")
}

/// Reads JSON with the slips of models. `None` if only a part of it can be read, which would drop
/// the rest without a word.
fn read_whole_json(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let value = read_json(text).ok()?;
    let is_whole = !ends_in_string(text)
        && (value.is_array() || !text.starts_with('['))
        && (value.get(LIST).is_some() || !names_list(text));
    is_whole.then_some(value)
}

/// Tells whether JSON ends in the middle of a text: there is a quote behind its last bracket.
fn ends_in_string(text: &str) -> bool {
    let end = text.rsplit(['}', ']']).next();
    end.is_some_and(|end| end.contains('"'))
}

/// Tells whether a value is one continuation or several. Of a list with other items, those are
/// reported as unreadable.
fn holds_continuations(value: &Value) -> bool {
    let has_field = |value: &Value| FIELDS.iter().any(|name| value.get(name).is_some());
    match value {
        Value::Array(items) => {
            items.iter().any(has_field) || (!items.is_empty() && items.iter().all(Value::is_string))
        }
        other => has_field(other),
    }
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
