//! Validates and repairs tool calls: names that are nearly correct, arguments in other shapes, ids
//! that are missing or duplicated. Calls that cannot be repaired are reported.

use std::collections::BTreeSet;

use deliberate_core::ellipsize;
use serde_json::{Map, Value};

use super::MAX_TOOL_CALLS;
use crate::{
    ModelRequest, ToolCall, ToolDefinition,
    json_repair::{self, Termination},
};

/// Longest id that is accepted unchanged.
const MAX_ID_CHARS: usize = 128;
/// Shortest name that is matched by its beginning or end.
const MIN_PART_CHARS: usize = 4;
/// How much of an unknown name is quoted.
const MAX_NAME_CHARS: usize = 80;
/// How many names are suggested instead.
const MAX_SUGGESTED: usize = 20;

/// Returns whether the request allows tool calls.
pub(super) fn tools_allowed(ask: &ModelRequest) -> bool {
    !ask.functions.is_empty() && !ask.answer_now
}

/// Returns the valid calls and the errors of the others.
pub(super) fn validate_calls(
    raw: Vec<ToolCall>,
    ask: &ModelRequest,
) -> (Vec<ToolCall>, Vec<String>) {
    let mut ids = CallIds::from_request(ask);
    let (mut calls, mut faults) = (Vec::new(), Vec::new());
    for call in raw.into_iter().take(MAX_TOOL_CALLS) {
        match repair_call(call, &ask.functions) {
            Ok(call) => calls.push(ToolCall {
                id: ids.assign(&call.id),
                ..call
            }),
            Err(fault) if !faults.contains(&fault) => faults.push(fault),
            Err(_) => {}
        }
    }
    (calls, faults)
}

fn repair_call(call: ToolCall, functions: &[ToolDefinition]) -> Result<ToolCall, String> {
    let Some(name) = match_tool(&call.name, functions) else {
        let known: Vec<&str> = functions
            .iter()
            .take(MAX_SUGGESTED)
            .map(|it| it.name.as_str())
            .collect();
        return Err(format!(
            "there is no function {:?}; there are {}",
            ellipsize(&call.name, MAX_NAME_CHARS),
            known.join(", ")
        ));
    };
    let Some(arguments) = parse_arguments(call.arguments) else {
        return Err(format!("the arguments of {name} are not one JSON object"));
    };
    Ok(ToolCall {
        name: name.to_owned(),
        arguments: Value::Object(arguments),
        ..call
    })
}

/// Returns the tool that a name refers to: an exact match, or else the only similar one.
fn match_tool<'f>(name: &str, functions: &'f [ToolDefinition]) -> Option<&'f str> {
    if let Some(known) = functions.iter().find(|it| it.name == name) {
        return Some(&known.name);
    }
    let given = normalize_name(name);
    let only = |same: &dyn Fn(&str) -> bool| {
        let mut found = functions
            .iter()
            .filter(|it| same(&normalize_name(&it.name)));
        match (found.next(), found.next()) {
            (Some(one), None) => Some(one.name.as_str()),
            _ => None,
        }
    };
    if let Some(one) = only(&|known| known == given) {
        return Some(one);
    }
    // The model dropped the server's prefix, or the provider added one.
    let part_of = |part: &str, whole: &str| {
        part.chars().count() >= MIN_PART_CHARS && (whole.starts_with(part) || whole.ends_with(part))
    };
    only(&|known| part_of(&given, known) || part_of(known, &given))
}

/// Normalizes case and word separators.
fn normalize_name(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the arguments in whatever form they were written.
fn parse_arguments(arguments: Value) -> Option<Map<String, Value>> {
    match arguments {
        Value::Object(members) => Some(members),
        Value::Null => Some(Map::new()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => match parse_arguments_text(&text)? {
            Value::String(_) => None,
            value => parse_arguments(value),
        },
        Value::Array(mut items) => match items.len() {
            0 => Some(Map::new()),
            1 if items.iter().all(Value::is_object) => items.pop().and_then(parse_arguments),
            _ => None,
        },
        Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Parses arguments. Truncated ones are rejected: the missing part may be essential.
fn parse_arguments_text(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let whole = !json_repair::has_open_bracket(text);
        whole.then(|| json_repair::parse_with_end(text, Termination::Complete).ok())?
    })
}

/// Call ids of a conversation. Calls without an id get one that is the same in every run.
struct CallIds {
    used: BTreeSet<String>,
    count: usize,
}

impl CallIds {
    fn from_request(ask: &ModelRequest) -> Self {
        let earlier = || ask.messages.iter().flat_map(|message| &message.calls);
        Self {
            used: earlier().map(|call| call.id.clone()).collect(),
            count: earlier().count(),
        }
    }

    fn assign(&mut self, id: &str) -> String {
        self.count += 1;
        let sound =
            !id.is_empty() && id.len() <= MAX_ID_CHARS && id.chars().all(|c| c.is_ascii_graphic());
        let base = if sound {
            id.to_owned()
        } else {
            format!("call_{}", self.count)
        };
        let mut own = base.clone();
        let mut number = 1;
        while !self.used.insert(own.clone()) {
            number += 1;
            own = format!("{base}_{number}");
        }
        own
    }
}
