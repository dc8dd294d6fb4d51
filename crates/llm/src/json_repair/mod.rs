//! Extracts JSON from a model's text, repairing it where needed.
//!
//! It tries the text itself, then fenced blocks, then bracketed spans, each as strict JSON before
//! the tolerant parser. [`read_json`] returns strict JSON unchanged. For a model's answer,
//! [`parse_with_end`] also restores LaTeX: `"\frac{1}{2}"` is valid JSON for a form feed and
//! `rac{1}{2}`, which no model means.
//!
//! The time is linear in the length of the text, for hostile texts too: lists, lookahead and
//! nesting are bounded.

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

/// Longest text that is searched for JSON; strict JSON may be longer.
const MAX_BYTES: usize = 1024 * 1024;

/// Error for a text that contains no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no JSON was found in the text")]
pub struct NoJson;

/// Reads the JSON in a model's text: the object, if there is one, else an array of objects, else
/// the strict JSON value that the whole text is.
pub fn read_json(text: &str) -> Result<Value, NoJson> {
    let how = RepairOptions {
        escapes: latex::detect_policy(limit_length(text)),
        end: Termination::Complete,
        controls: ControlCharacters::Literal,
        open_strings: UnterminatedString::Close,
    };
    search_all(text, how)
}

/// Reads the JSON in a model's answer that is known to be complete or truncated. A text that ends
/// inside a string is incomplete and rejected.
pub(crate) fn parse_with_end(text: &str, end: Termination) -> Result<Value, NoJson> {
    let how = RepairOptions {
        escapes: latex::detect_policy(limit_length(text)),
        end,
        controls: ControlCharacters::MaybeLatex,
        open_strings: UnterminatedString::Reject,
    };
    search_all(text, how)
}

/// Returns whether a text that [`parse_with_end`] rejects contains JSON that only lacks its end.
pub(crate) fn is_truncated(text: &str) -> bool {
    read_json(text).is_ok_and(|value| value.is_object() || value.is_array())
}

/// Returns whether a bracket in the text is never closed, as in truncated JSON.
pub(crate) fn has_open_bracket(text: &str) -> bool {
    let spans =
        candidates::bracketed_spans(strip_thinking(limit_length(text)), QuoteHandling::Respected);
    !spans.open.is_empty()
}

/// Options for reading a text.
#[derive(Debug, Clone, Copy)]
struct RepairOptions {
    escapes: latex::EscapePolicy,
    end: Termination,
    controls: ControlCharacters,
    open_strings: UnterminatedString,
}

/// Meaning of control characters in strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlCharacters {
    /// They are literal control characters.
    Literal,
    /// Possibly the start of a LaTeX command, where only that makes sense.
    MaybeLatex,
}

fn search_all(text: &str, how: RepairOptions) -> Result<Value, NoJson> {
    let text = trim(text);
    match parse_strict(text, how) {
        // The JSON was encoded once more as a JSON string.
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

/// Returns the text after a `<think>` block, which reasoning models put before their answer.
pub(crate) fn strip_thinking(text: &str) -> &str {
    text.rsplit_once("</think>")
        .map_or(text, |(_, spoken)| trim(spoken))
}

/// Returns the content of the `<think>` block before an answer; empty if there is none.
pub(crate) fn thinking(text: &str) -> &str {
    let block = text.rsplit_once("</think>").map_or("", |(block, _)| block);
    trim(
        block
            .split_once("<think>")
            .map_or(block, |(_, inner)| inner),
    )
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

/// Searches fenced blocks and the text itself. If the text begins with a brace, the object at its
/// start is the answer: a fence inside it is part of a string.
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

/// Parses a span if it can be an answer: a non-empty object or an array of objects. In prose, `[1]`
/// is a reference and `{}` a piece of code.
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
