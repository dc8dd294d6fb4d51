//! JSON out of what a model wrote.
//!
//! First the text as it is, then what stands between fences, then what stands between brackets;
//! each as strict JSON before it is read tolerantly. [`read_json`] gives strict JSON back
//! unchanged. For a model's answer, [`read`] also undoes what strictness does to mathematics:
//! `"\frac{1}{2}"` is valid JSON for a form feed and `rac{1}{2}`, and no model means that.
//!
//! The time is linear in the length of the text, for hostile texts too: lists are bounded,
//! looking ahead is bounded, nesting is bounded.

mod cursor;
mod latex;
mod spans;
mod strings;
mod tolerant;

#[cfg(test)]
mod tests;

use serde_json::Value;

use spans::{Quotes, Spans};

pub(crate) use tolerant::End;
use tolerant::OpenStrings;

/// The longest text that is searched for JSON; strict JSON may be longer.
const MAX_BYTES: usize = 1024 * 1024;

/// There is no JSON in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no JSON was found in the text")]
pub struct NoJson;

/// Reads the JSON in a model's text: the object, if there is one, else an array of objects, else
/// whatever strict JSON the whole text is.
pub fn read_json(text: &str) -> Result<Value, NoJson> {
    let how = How {
        escapes: latex::escapes_of(shortened(text)),
        end: End::Written,
        controls: Controls::AsRead,
        open_strings: OpenStrings::Closed,
    };
    search_all(text, how)
}

/// Reads the JSON in a model's answer, of which it is known whether it was cut off. A text that
/// ends inside a string is not whole and not read.
pub(crate) fn read(text: &str, end: End) -> Result<Value, NoJson> {
    let how = How {
        escapes: latex::escapes_of(shortened(text)),
        end,
        controls: Controls::MayBeCommands,
        open_strings: OpenStrings::Refused,
    };
    search_all(text, how)
}

/// Whether a text that [`read`] refuses holds JSON that only lacks its end.
pub(crate) fn is_cut(text: &str) -> bool {
    read_json(text).is_ok_and(|value| value.is_object() || value.is_array())
}

/// Whether a bracket that opens in the text is never closed, as in JSON without its end.
pub(crate) fn is_open(text: &str) -> bool {
    let spans = spans::bracketed(without_thinking(shortened(text)), Quotes::Respected);
    !spans.open.is_empty()
}

/// How a text has to be taken.
#[derive(Debug, Clone, Copy)]
struct How {
    escapes: latex::Escapes,
    end: End,
    controls: Controls,
    open_strings: OpenStrings,
}

/// What control characters in strict JSON are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controls {
    /// What they are.
    AsRead,
    /// Perhaps the beginning of a LaTeX command, where only that makes sense.
    MayBeCommands,
}

fn search_all(text: &str, how: How) -> Result<Value, NoJson> {
    let text = trimmed(text);
    match strict(text, how) {
        // JSON that was put into a JSON string once more.
        Some(Value::String(inner)) => {
            let object = strict(inner.trim(), how).filter(Value::is_object);
            return Ok(object.unwrap_or(Value::String(inner)));
        }
        Some(value) => return Ok(value),
        None => {}
    }
    let text = shortened(text);
    let spoken = without_thinking(text);
    let mut array = None;
    for text in [spoken, text] {
        if let Some(object) = search(text, how, &mut array) {
            return Ok(object);
        }
        if spoken.len() == text.len() {
            break;
        }
    }
    array.ok_or(NoJson)
}

/// The text behind a `<think>` block, which reasoning models put before their answer.
pub(crate) fn without_thinking(text: &str) -> &str {
    text.rsplit_once("</think>")
        .map_or(text, |(_, spoken)| trimmed(spoken))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_BYTES))
        .unwrap_or(text)
}

fn strict(text: &str, how: How) -> Option<Value> {
    let mut value = serde_json::from_str(text).ok()?;
    if how.controls == Controls::MayBeCommands {
        latex::restore(&mut value);
    }
    Some(value)
}

/// Searches fenced blocks and the text itself. What stands first in an answer that begins with a
/// brace is the answer: a fence in it is part of a string.
fn search(text: &str, how: How, array: &mut Option<Value>) -> Option<Value> {
    let fenced = spans::fenced(text);
    let (first, last) = if text.starts_with('{') {
        (Some(text), None)
    } else {
        (None, Some(text))
    };
    first
        .into_iter()
        .chain(fenced)
        .chain(last)
        .find_map(|text| object_in(text, how, array))
}

fn object_in(text: &str, how: How, array: &mut Option<Value>) -> Option<Value> {
    if let Some(object) = strict(text, how).filter(Value::is_object) {
        return Some(object);
    }
    [Quotes::Respected, Quotes::Ignored]
        .into_iter()
        .find_map(|quotes| object_among(spans::bracketed(text, quotes), how, array))
}

fn object_among(spans: Spans<'_>, how: How, array: &mut Option<Value>) -> Option<Value> {
    let outer = spans
        .closed
        .into_iter()
        .chain(spans.open)
        .chain(spans.behind_open);
    for span in outer {
        match meant(span, how) {
            Some(object @ Value::Object(_)) => return Some(object),
            Some(list) if array.is_none() => *array = Some(list),
            _ => {}
        }
    }
    if array.is_some() {
        return None;
    }
    spans
        .nested
        .into_iter()
        .find_map(|span| meant(span, how).filter(Value::is_object))
}

/// Reads a span, if it can be meant as an answer: an object with something in it, or an array of
/// objects. `[1]` in prose is a reference, `{}` a piece of code.
fn meant(span: &str, how: How) -> Option<Value> {
    let value = strict(span, how)
        .or_else(|| tolerant::parse(span, how.escapes, how.end, how.open_strings))?;
    let meant = match &value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    };
    meant.then_some(value)
}
