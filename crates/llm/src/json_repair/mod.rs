//! JSON out of what a model wrote.
//!
//! First the text as it is, then what stands between fences, then what stands between brackets;
//! each as strict JSON before it is read tolerantly. [`read_json`] gives strict JSON back
//! unchanged. For a model's answer, [`read`] also undoes what strictness does to mathematics:
//! `"\frac{1}{2}"` is valid JSON for a form feed and `rac{1}{2}`, and no model means that.
//!
//! The time is linear in the length of the text, for hostile texts too: lists are bounded,
//! looking ahead is bounded, nesting is bounded.

mod candidates;
mod cursor;
mod latex;
mod parser;
mod strings;

#[cfg(test)]
mod tests;

use serde_json::Value;

use candidates::{JsonCandidates, QuoteHandling};
pub(crate) use parser::Termination;
use parser::UnterminatedString;

/// The longest text that is searched for JSON; strict JSON may be longer.
const MAX_BYTES: usize = 1024 * 1024;

/// There is no JSON in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no JSON was found in the text")]
pub struct NoJson;

/// Reads the JSON in a model's text: the object, if there is one, else an array of objects, else
/// whatever strict JSON the whole text is.
pub fn read_json(text: &str) -> Result<Value, NoJson> {
    let how = RepairOptions {
        escapes: latex::detect_policy(limit_length(text)),
        end: Termination::Complete,
        controls: ControlCharacters::Literal,
        open_strings: UnterminatedString::Close,
    };
    search_all(text, how)
}

/// Reads the JSON in a model's answer, of which it is known whether it was cut off. A text that
/// ends inside a string is not whole and not read.
pub(crate) fn parse_with_end(text: &str, end: Termination) -> Result<Value, NoJson> {
    let how = RepairOptions {
        escapes: latex::detect_policy(limit_length(text)),
        end,
        controls: ControlCharacters::MaybeLatex,
        open_strings: UnterminatedString::Reject,
    };
    search_all(text, how)
}

/// Whether a text that [`read`] refuses holds JSON that only lacks its end.
pub(crate) fn is_truncated(text: &str) -> bool {
    read_json(text).is_ok_and(|value| value.is_object() || value.is_array())
}

/// Whether a bracket that opens in the text is never closed, as in JSON without its end.
pub(crate) fn has_open_bracket(text: &str) -> bool {
    let spans =
        candidates::bracketed_spans(strip_thinking(limit_length(text)), QuoteHandling::Respected);
    !spans.open.is_empty()
}

/// How a text has to be taken.
#[derive(Debug, Clone, Copy)]
struct RepairOptions {
    escapes: latex::EscapePolicy,
    end: Termination,
    controls: ControlCharacters,
    open_strings: UnterminatedString,
}

/// What control characters in strict JSON are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlCharacters {
    /// What they are.
    Literal,
    /// Perhaps the beginning of a LaTeX command, where only that makes sense.
    MaybeLatex,
}

fn search_all(text: &str, how: RepairOptions) -> Result<Value, NoJson> {
    let text = trim(text);
    match parse_strict(text, how) {
        // JSON that was put into a JSON string once more.
        Some(Value::String(inner)) => {
            let object = parse_strict(inner.trim(), how).filter(Value::is_object);
            return Ok(object.unwrap_or(Value::String(inner)));
        }
        Some(value) => return Ok(value),
        None => {}
    }
    let text = limit_length(text);
    let spoken = strip_thinking(text);
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
pub(crate) fn strip_thinking(text: &str) -> &str {
    text.rsplit_once("</think>")
        .map_or(text, |(_, spoken)| trim(spoken))
}

fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

fn limit_length(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_BYTES))
        .unwrap_or(text)
}

fn parse_strict(text: &str, how: RepairOptions) -> Option<Value> {
    let mut value = serde_json::from_str(text).ok()?;
    if how.controls == ControlCharacters::MaybeLatex {
        latex::restore(&mut value);
    }
    Some(value)
}

/// Searches fenced blocks and the text itself. What stands first in an answer that begins with a
/// brace is the answer: a fence in it is part of a string.
fn search(text: &str, how: RepairOptions, array: &mut Option<Value>) -> Option<Value> {
    let fenced = candidates::fenced_blocks(text);
    let (first, last) = if text.starts_with('{') {
        (Some(text), None)
    } else {
        (None, Some(text))
    };
    first
        .into_iter()
        .chain(fenced)
        .chain(last)
        .find_map(|text| find_object(text, how, array))
}

fn find_object(text: &str, how: RepairOptions, array: &mut Option<Value>) -> Option<Value> {
    if let Some(object) = parse_strict(text, how).filter(Value::is_object) {
        return Some(object);
    }
    [QuoteHandling::Respected, QuoteHandling::Ignored]
        .into_iter()
        .find_map(|quotes| find_object_in(candidates::bracketed_spans(text, quotes), how, array))
}

fn find_object_in(
    spans: JsonCandidates<'_>,
    how: RepairOptions,
    array: &mut Option<Value>,
) -> Option<Value> {
    let outer = spans
        .closed
        .into_iter()
        .chain(spans.open)
        .chain(spans.after_open);
    for span in outer {
        match parse_candidate(span, how) {
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
        .find_map(|span| parse_candidate(span, how).filter(Value::is_object))
}

/// Reads a span, if it can be meant as an answer: an object with something in it, or an array of
/// objects. `[1]` in prose is a reference, `{}` a piece of code.
fn parse_candidate(span: &str, how: RepairOptions) -> Option<Value> {
    let value = parse_strict(span, how)
        .or_else(|| parser::parse(span, how.escapes, how.end, how.open_strings))?;
    let meant = match &value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    };
    meant.then_some(value)
}
