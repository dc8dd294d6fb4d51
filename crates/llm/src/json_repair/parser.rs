//! JSON parser that tolerates the errors that models make.
//!
//! It tolerates errors of form only: an object must have names with colons, so that braces in prose
//! (`the set {x}`) are not taken for one.

use serde_json::{Map, Number, Value};

use super::{
    cursor::TextCursor,
    latex::EscapePolicy,
    strings::{StringPosition, is_quote, is_word, read_string},
};

/// Maximum nesting depth; `serde_json` has the same limit.
const MAX_DEPTH: usize = 128;

/// Whether the text is known to be truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Termination {
    /// The text ends where its writer ended it.
    Complete,
    /// The text was cut off, so a number at its very end may lack digits and is left out.
    Truncated,
}

/// How to treat a text that ends inside a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnterminatedString {
    /// The string ends there too.
    Close,
    /// The text is rejected.
    Reject,
}

/// Error for a text that cannot be repaired to JSON.
#[derive(Debug)]
struct Unrepairable;

/// Parses the object or array at the start of `text` and ignores the rest.
pub(super) fn parse(
    text: &str,
    escapes: EscapePolicy,
    end: Termination,
    open_strings: UnterminatedString,
) -> Option<Value> {
    let mut parser = JsonRepairParser {
        cursor: TextCursor::new(text),
        escapes,
        end,
        ends_in_string: false,
    };
    let value = match parser.cursor.peek() {
        Some('{') => parser.object(1).ok(),
        Some('[') => parser.array(1, UnquotedText::Reject).ok(),
        _ => None,
    };
    value.filter(|_| open_strings == UnterminatedString::Close || !parser.ends_in_string)
}

/// Whether an unquoted value is taken for a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnquotedText {
    /// Accepted: its name was quoted, so this is meant as JSON.
    Accept,
    /// Rejected: this may be prose.
    Reject,
}

struct JsonRepairParser<'t> {
    cursor: TextCursor<'t>,
    escapes: EscapePolicy,
    end: Termination,
    /// Whether the text ended inside a string.
    ends_in_string: bool,
}

impl JsonRepairParser<'_> {
    fn object(&mut self, depth: usize) -> Result<Value, Unrepairable> {
        let mut members = Map::new();
        self.cursor.bump();
        loop {
            self.skip_commas();
            match self.cursor.peek() {
                None => break,
                Some('}') => {
                    self.cursor.bump();
                    break;
                }
                // The bracket belongs to the enclosing array: this object's brace is missing.
                Some(']') if depth > 1 && !members.is_empty() => break,
                Some(_) => {}
            }
            let Some((key, position)) = self.key() else {
                // The outermost closing brace is missing and prose follows.
                if depth == 1 && !members.is_empty() {
                    break;
                }
                return Err(Unrepairable);
            };
            self.cursor.skip_trivia();
            if self.cursor.at_end() {
                break;
            }
            if !self.cursor.eat(":") {
                if depth == 1 && !members.is_empty() {
                    break;
                }
                return Err(Unrepairable);
            }
            self.cursor.skip_trivia();
            let bare = if position == StringPosition::Member {
                UnquotedText::Accept
            } else {
                UnquotedText::Reject
            };
            if let Some(value) = self.value(depth, position, bare)? {
                members.insert(key, value);
            }
        }
        Ok(Value::Object(members))
    }

    fn key(&mut self) -> Option<(String, StringPosition)> {
        let first = self.cursor.peek().filter(|_| !self.cursor.starts_fence())?;
        if is_quote(first) {
            let key = read_string(&mut self.cursor, StringPosition::Key, self.escapes);
            return Some((key.text, StringPosition::Member));
        }
        let key = self.cursor.take_while(is_word);
        key.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
            .then(|| (key.to_owned(), StringPosition::BareMember))
    }

    fn array(&mut self, depth: usize, bare: UnquotedText) -> Result<Value, Unrepairable> {
        let mut items = Vec::new();
        self.cursor.bump();
        loop {
            self.skip_commas();
            match self.cursor.peek() {
                None => break,
                Some(']') => {
                    self.cursor.bump();
                    break;
                }
                // The brace belongs to the enclosing object: this array's bracket is missing.
                Some('}') if depth > 1 => break,
                Some(_) => {}
            }
            // Models write an ellipsis for "and so on".
            if self.cursor.eat("...") || self.cursor.eat("\u{2026}") {
                continue;
            }
            if let Some(value) = self.value(depth, StringPosition::Item, bare)? {
                items.push(value);
            }
        }
        Ok(Value::Array(items))
    }

    /// Parses a value; returns `None` if the text ends before there is one to keep.
    fn value(
        &mut self,
        depth: usize,
        position: StringPosition,
        bare: UnquotedText,
    ) -> Result<Option<Value>, Unrepairable> {
        let Some(first) = self.cursor.peek() else {
            return Ok(None);
        };
        match first {
            '{' | '[' if depth >= MAX_DEPTH => Err(Unrepairable),
            '{' => self.object(depth + 1).map(Some),
            '[' => self.array(depth + 1, bare).map(Some),
            // A fence ends the block that contains the object; a single backtick may be a quote.
            '`' if self.cursor.starts_fence() => Err(Unrepairable),
            c if is_quote(c) => {
                let text = read_string(&mut self.cursor, position, self.escapes);
                self.ends_in_string |= text.is_open;
                Ok(Some(Value::String(text.text)))
            }
            // A name without a value: `{"a": , "b": 1}`.
            ',' | '}' | ']' if position != StringPosition::Item => Ok(Some(Value::Null)),
            _ => self.scalar(bare),
        }
    }

    fn scalar(&mut self, bare: UnquotedText) -> Result<Option<Value>, Unrepairable> {
        let text = self
            .cursor
            .take_while(|c| !matches!(c, ',' | '}' | ']' | '\n'));
        let cut = self.cursor.at_end();
        // A comment may follow on the same line.
        let text = text
            .split_once(" //")
            .or_else(|| text.split_once(" #"))
            .map_or(text, |(text, _)| text)
            .trim();
        if cut && self.end == Termination::Truncated {
            return Ok(None);
        }
        let value = match text {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            "null" | "None" | "NULL" | "undefined" | "NaN" | "nan" | "Infinity" | "-Infinity" => {
                Value::Null
            }
            _ => match number(text) {
                Some(number) => Value::Number(number),
                None if cut && is_truncated_literal(text) => return Ok(None),
                None if bare == UnquotedText::Accept && !text.is_empty() => {
                    Value::String(text.to_owned())
                }
                None => return Err(Unrepairable),
            },
        };
        Ok(Some(value))
    }

    fn skip_commas(&mut self) {
        loop {
            self.cursor.skip_trivia();
            if !self.cursor.eat(",") {
                return;
            }
        }
    }
}

/// Returns whether `text` is the start of a literal that was cut off.
fn is_truncated_literal(text: &str) -> bool {
    ["true", "false", "null", "True", "False", "None", "-"]
        .iter()
        .any(|word| word.starts_with(text))
}

/// Parses a number, also in the forms `+1`, `.5`, `5.`, `007` and `1_000`.
fn number(text: &str) -> Option<Number> {
    if let Ok(number) = serde_json::from_str(text) {
        return Some(number);
    }
    if !text.contains(|c: char| c.is_ascii_digit())
        || text.contains(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E' | '_'))
    {
        return None;
    }
    let plain = text.replace('_', "");
    match plain.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => plain.parse().ok().and_then(Number::from_f64),
    }
}
