//! Parses a reply to calls or an answer, native or prompted.

use serde_json::{Map, Value};

use super::{
    AttemptKind, ModelTurn,
    prompted::is_wrapped,
    validate::{tools_allowed, validate_calls},
};
use crate::{
    FinishReason, ModelReply, ModelRequest, ToolCall,
    json_repair::{self, Termination},
    structured_output::looks_like_json,
};

/// Maximum number of calls examined in a text.
const MAX_CALLS_SCANNED: usize = 64;

/// Parses the turn in a reply or returns the reason why it is unusable.
pub(super) fn parse_turn(
    reply: &ModelReply,
    ask: &ModelRequest,
    which: AttemptKind,
) -> Result<ModelTurn, String> {
    if reply.finish_reason == FinishReason::Refusal {
        return Err("the model refused to answer".to_owned());
    }
    let text = json_repair::strip_thinking(&reply.text).trim();
    if tools_allowed(ask) && !reply.calls.is_empty() {
        return tool_turn(text.to_owned(), reply.calls.clone(), reply, ask, which);
    }
    if text.is_empty() {
        return Err(if reply.calls.is_empty() {
            "it is empty".to_owned()
        } else {
            "it calls a function, and nothing can be called any more".to_owned()
        });
    }
    if reply.tools_in_prompt {
        return parse_prompted(text, reply, ask, which);
    }
    // Servers that do not know their model's call format leave the call in the text.
    if tools_allowed(ask)
        && let Some(calls) = calls_in_text(text, ask)
    {
        return tool_turn(String::new(), calls, reply, ask, which);
    }
    Ok(text_turn(text))
}

fn text_turn(text: &str) -> ModelTurn {
    ModelTurn {
        text: text.to_owned(),
        calls: Vec::new(),
    }
}

fn tool_turn(
    text: String,
    raw: Vec<ToolCall>,
    reply: &ModelReply,
    ask: &ModelRequest,
    which: AttemptKind,
) -> Result<ModelTurn, String> {
    let (mut calls, mut faults) = validate_calls(raw, ask);
    if reply.finish_reason == FinishReason::Length {
        // The last call may be incomplete even if it parses.
        calls.pop();
        faults.insert(0, "it ends in the middle".to_owned());
    }
    if !faults.is_empty() && (which == AttemptKind::First || calls.is_empty()) {
        return Err(faults.join("; "));
    }
    Ok(ModelTurn { text, calls })
}

/// Parses the turn in the text of a model that got the tools in the prompt.
fn parse_prompted(
    text: &str,
    reply: &ModelReply,
    ask: &ModelRequest,
    which: AttemptKind,
) -> Result<ModelTurn, String> {
    let end = match reply.finish_reason {
        FinishReason::Length => Termination::Truncated,
        FinishReason::Stop | FinishReason::Refusal => Termination::Complete,
    };
    match json_repair::parse_with_end(text, end) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            let calls = if tools_allowed(ask) {
                // The repairing reader changes LaTeX, which arguments need not contain.
                let strict = serde_json::from_str(text).ok();
                extract_calls(strict.as_ref().unwrap_or(&value), ask)
            } else {
                Vec::new()
            };
            let cut =
                reply.finish_reason == FinishReason::Length || json_repair::has_open_bracket(text);
            if cut && which == AttemptKind::First {
                return Err("it ends in the middle".to_owned());
            }
            let said = answer_text(&value, text, ask);
            if calls.is_empty() {
                return if said.trim().is_empty() {
                    Err("it neither calls a function nor answers".to_owned())
                } else {
                    Ok(text_turn(said.trim()))
                };
            }
            tool_turn(said, calls, reply, ask, which)
        }
        Err(_) if json_repair::is_truncated(text) => Err("it ends in the middle".to_owned()),
        Err(_) if looks_like_json(text) => {
            Err("it begins like JSON but can't be read as JSON".to_owned())
        }
        // A plain text is an answer.
        Ok(Value::String(said)) if !said.trim().is_empty() => Ok(text_turn(said.trim())),
        Ok(_) | Err(_) => Ok(text_turn(text)),
    }
}

/// Returns the answer in an object: its `answer` field, or the object itself if the field is
/// missing.
fn answer_text(value: &Value, text: &str, ask: &ModelRequest) -> String {
    let Value::Object(members) = value else {
        return text.to_owned();
    };
    if !is_wrapped(ask) || is_call(members, ask) {
        return if is_wrapped(ask) {
            String::new()
        } else {
            text.to_owned()
        };
    }
    let known = |name: &String| name == "calls" || name == "answer";
    let as_asked = members.keys().all(known);
    let in_place = as_asked || members.contains_key("calls") || ask.schema.is_null();
    match members.get("answer") {
        Some(Value::String(said)) if in_place => said.clone(),
        Some(Value::Null) | None if as_asked || members.contains_key("calls") => String::new(),
        Some(other) if in_place => other.to_string(),
        _ => value.to_string(),
    }
}

/// Returns the calls in an object of a model that got the tools in the prompt.
fn extract_calls(value: &Value, ask: &ModelRequest) -> Vec<ToolCall> {
    let list = match value {
        Value::Object(members) if is_call(members, ask) => vec![value],
        Value::Object(members) => match ["calls", "tool_calls", "function_calls"]
            .iter()
            .find_map(|name| members.get(*name))
        {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(one @ Value::Object(_)) => vec![one],
            _ => Vec::new(),
        },
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    list.into_iter()
        .take(MAX_CALLS_SCANNED)
        .filter_map(parse_call)
        .collect()
}

/// Returns whether an object is itself a call of a known tool.
fn is_call(members: &Map<String, Value>, ask: &ModelRequest) -> bool {
    let named = members.get("name").and_then(Value::as_str);
    let known = named.is_some_and(|name| ask.functions.iter().any(|it| it.name == name));
    known && arguments(members).is_some()
}

fn parse_call(value: &Value) -> Option<ToolCall> {
    let members = value.as_object()?;
    let inner = match members.get("function") {
        Some(Value::Object(inner)) => inner,
        _ => members,
    };
    let name = ["name", "function", "tool"]
        .iter()
        .find_map(|name| inner.get(*name)?.as_str())?;
    let id = members.get("id").and_then(Value::as_str);
    Some(ToolCall {
        id: id.unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments: arguments(inner).cloned().unwrap_or_default(),
        extra: None,
    })
}

fn arguments(members: &Map<String, Value>) -> Option<&Value> {
    ["arguments", "args", "parameters", "params", "input"]
        .iter()
        .find_map(|name| members.get(*name))
}

/// Returns calls if the whole text consists of them, with exact tool names; anything else is an
/// answer.
fn calls_in_text(text: &str, ask: &ModelRequest) -> Option<Vec<ToolCall>> {
    const OPENS: &str = "<tool_call>";
    let pieces: Vec<&str> = if text.starts_with(OPENS) {
        text.split(OPENS)
            .skip(1)
            .take(MAX_CALLS_SCANNED)
            .map(|piece| piece.split("</tool_call>").next().unwrap_or(piece).trim())
            .collect()
    } else {
        vec![text]
    };
    pieces
        .into_iter()
        .map(|piece| {
            let value: Value = serde_json::from_str(piece).ok()?;
            let own = is_call(value.as_object()?, ask);
            own.then(|| parse_call(&value))?
        })
        .collect()
}
