//! What a reply means: calls or an answer, in either form.

use serde_json::{Map, Value};

use super::{
    Attempt, Turn,
    calls::{checked, may_call},
    words::is_wrapped,
};
use crate::{
    Ask, Finish, FunctionCall, Reply,
    answer::looks_like_json,
    lenient::{self, End},
};

/// How many calls are looked at in a text.
const MAX_READ: usize = 64;

/// The turn in a reply, or what is wrong with it.
pub(super) fn turn(reply: &Reply, ask: &Ask, which: Attempt) -> Result<Turn, String> {
    if reply.finish == Finish::Refusal {
        return Err("the model refused to answer".to_owned());
    }
    let text = lenient::without_thinking(&reply.text).trim();
    if may_call(ask) && !reply.calls.is_empty() {
        return calling(text.to_owned(), reply.calls.clone(), reply, ask, which);
    }
    if text.is_empty() {
        return Err(if reply.calls.is_empty() {
            "it is empty".to_owned()
        } else {
            "it calls a function, and nothing can be called any more".to_owned()
        });
    }
    if reply.described {
        return in_words(text, reply, ask, which);
    }
    // Servers that do not know how their model calls leave the call in the text.
    if may_call(ask)
        && let Some(calls) = left_in(text, ask)
    {
        return calling(String::new(), calls, reply, ask, which);
    }
    Ok(answer(text))
}

fn answer(text: &str) -> Turn {
    Turn {
        text: text.to_owned(),
        calls: Vec::new(),
    }
}

fn calling(
    text: String,
    raw: Vec<FunctionCall>,
    reply: &Reply,
    ask: &Ask,
    which: Attempt,
) -> Result<Turn, String> {
    let (mut calls, mut faults) = checked(raw, ask);
    if reply.finish == Finish::Length {
        // What was written last may not be whole, even where it looks so.
        calls.pop();
        faults.insert(0, "it ends in the middle".to_owned());
    }
    if !faults.is_empty() && (which == Attempt::First || calls.is_empty()) {
        return Err(faults.join("; "));
    }
    Ok(Turn { text, calls })
}

/// The turn in the text of one who was asked in words.
fn in_words(text: &str, reply: &Reply, ask: &Ask, which: Attempt) -> Result<Turn, String> {
    let end = match reply.finish {
        Finish::Length => End::Cut,
        Finish::Stop | Finish::Refusal => End::Written,
    };
    match lenient::read(text, end) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            let calls = if may_call(ask) {
                // The reader mends mathematics, which arguments need not be.
                let strict = serde_json::from_str(text).ok();
                calls_of(strict.as_ref().unwrap_or(&value), ask)
            } else {
                Vec::new()
            };
            let cut = reply.finish == Finish::Length || lenient::is_open(text);
            if cut && which == Attempt::First {
                return Err("it ends in the middle".to_owned());
            }
            let said = said(&value, text, ask);
            if calls.is_empty() {
                return if said.trim().is_empty() {
                    Err("it neither calls a function nor answers".to_owned())
                } else {
                    Ok(answer(said.trim()))
                };
            }
            calling(said, calls, reply, ask, which)
        }
        Err(_) if lenient::is_cut(text) => Err("it ends in the middle".to_owned()),
        Err(_) if looks_like_json(text) => {
            Err("it begins like JSON but can't be read as JSON".to_owned())
        }
        // Who speaks plainly answers.
        Ok(Value::String(said)) if !said.trim().is_empty() => Ok(answer(said.trim())),
        Ok(_) | Err(_) => Ok(answer(text)),
    }
}

/// What is said in the object: its answer, or itself if it was not put into its place.
fn said(value: &Value, text: &str, ask: &Ask) -> String {
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

/// What is called in what one wrote who was asked in words.
fn calls_of(value: &Value, ask: &Ask) -> Vec<FunctionCall> {
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
    list.into_iter().take(MAX_READ).filter_map(call).collect()
}

/// Whether an object is itself a call, of a function that is there.
fn is_call(members: &Map<String, Value>, ask: &Ask) -> bool {
    let named = members.get("name").and_then(Value::as_str);
    let known = named.is_some_and(|name| ask.functions.iter().any(|it| it.name == name));
    known && arguments(members).is_some()
}

fn call(value: &Value) -> Option<FunctionCall> {
    let members = value.as_object()?;
    let inner = match members.get("function") {
        Some(Value::Object(inner)) => inner,
        _ => members,
    };
    let name = ["name", "function", "tool"]
        .iter()
        .find_map(|name| inner.get(*name)?.as_str())?;
    let id = members.get("id").and_then(Value::as_str);
    Some(FunctionCall {
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

/// Calls that are the whole text, by the exact names of functions: anything else is an answer.
fn left_in(text: &str, ask: &Ask) -> Option<Vec<FunctionCall>> {
    const OPENS: &str = "<tool_call>";
    let pieces: Vec<&str> = if text.starts_with(OPENS) {
        text.split(OPENS)
            .skip(1)
            .take(MAX_READ)
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
            own.then(|| call(&value))?
        })
        .collect()
}
