//! Converts a given value to the type of its argument. Knows the types, not the validation rules.

use serde_json::{Number, Value};

use super::ArgumentError;
use crate::model::{ArgumentDefinition, ArgumentType};

/// Returns whether no value was given, or only blanks where blanks are not a value.
pub(super) fn is_missing(argument: &ArgumentDefinition, given: &Value) -> bool {
    match given {
        Value::Null => true,
        Value::String(text) if text.trim().is_empty() => {
            argument.required || argument.kind != ArgumentType::String
        }
        _ => false,
    }
}

/// Converts a value to the type of its argument.
pub(super) fn convert_to_type(
    argument: &ArgumentDefinition,
    given: &Value,
) -> Result<Value, ArgumentError> {
    let converted = match argument.kind {
        ArgumentType::String => Some(to_text(given)),
        ArgumentType::Number => to_number(given),
        ArgumentType::Boolean => to_boolean(given),
        ArgumentType::Array => to_array(given),
        ArgumentType::Object => to_object(given),
    };
    converted.ok_or_else(|| ArgumentError::wrong_type(argument, given))
}

/// Converts numbers and booleans to text; lists and objects stay, because an argument without a
/// type is text too.
fn to_text(given: &Value) -> Value {
    match given {
        Value::Number(it) => Value::String(it.to_string()),
        Value::Bool(it) => Value::String(it.to_string()),
        other => other.clone(),
    }
}

fn to_number(given: &Value) -> Option<Value> {
    match given {
        Value::Number(_) => Some(given.clone()),
        Value::String(text) => {
            let text = text.trim();
            if let Ok(whole) = text.parse::<i64>() {
                return Some(Value::from(whole));
            }
            if let Ok(whole) = text.parse::<u64>() {
                return Some(Value::from(whole));
            }
            // The parser accepts `inf` and `nan` as numbers; an argument must not be one of them.
            text.parse::<f64>()
                .ok()
                .and_then(Number::from_f64)
                .map(Value::Number)
        }
        _ => None,
    }
}

fn to_boolean(given: &Value) -> Option<Value> {
    let word = match given {
        Value::Bool(_) => return Some(given.clone()),
        Value::String(text) => text.trim().to_ascii_lowercase(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    match word.as_str() {
        "true" | "yes" | "1" => Some(Value::Bool(true)),
        "false" | "no" | "0" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn to_array(given: &Value) -> Option<Value> {
    match given {
        Value::Array(_) => Some(given.clone()),
        Value::String(text) if text.trim_start().starts_with('[') => {
            serde_json::from_str(text).ok().filter(Value::is_array)
        }
        Value::String(text) => Some(Value::Array(
            split(text).into_iter().map(Value::String).collect(),
        )),
        Value::Number(_) | Value::Bool(_) => Some(Value::Array(vec![given.clone()])),
        _ => None,
    }
}

fn to_object(given: &Value) -> Option<Value> {
    match given {
        Value::Object(_) => Some(given.clone()),
        Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

/// Splits at commas outside quotes; removes quotes around a whole entry, and empty entries.
fn split(text: &str) -> Vec<String> {
    let mut entries = Vec::new();
    let mut entry = String::new();
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (None, ',') => entries.push(std::mem::take(&mut entry)),
            (None, '"' | '\'') if entry.trim().is_empty() => {
                quote = Some(letter);
                entry.push(letter);
            }
            (Some(open), letter) => {
                if open == letter {
                    quote = None;
                }
                entry.push(letter);
            }
            (None, letter) => entry.push(letter),
        }
    }
    entries.push(entry);
    entries
        .iter()
        .map(|entry| strip_quotes(entry.trim()).to_owned())
        .filter(|entry| !entry.is_empty())
        .collect()
}

fn strip_quotes(entry: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| entry.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_do_not_cut() {
        assert_eq!(
            split(r#"a, "b, c" ,'d,"e"', it's, 5" disk,, "#),
            vec!["a", "b, c", r#"d,"e""#, "it's", "5\" disk"]
        );
        assert_eq!(split("'open, end"), vec!["'open, end"]);
    }
}
