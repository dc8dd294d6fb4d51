//! Integers beyond 64 bits, which a JSON value holds only as a rounded number.
//!
//! While such a JSON text is a value, a marked text stands for each of these integers. What writes
//! the value replaces the marks by the integers again, so that they are passed on exactly. The
//! validator takes a mark for the rounded number.

use std::{
    borrow::Cow,
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
};

use serde_json::{Map, Value};

/// The start of a text that stands for an integer. Its first character has no meaning anywhere, and
/// its random part keeps texts of others from being read as marks.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(0);
    format!("\u{f8ff}integer-{random:016x}:")
});

/// An integer with fewer digits fits into 64 bits.
const MIN_DIGITS: usize = 19;

/// A longer one is not a number for a JSON parser either.
const MAX_DIGITS: usize = 300;

/// Replaces the large integers of a JSON text by marks.
pub fn mark_large_integers(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !has_long_digits(bytes) {
        return Cow::Borrowed(text);
    }
    let (mut marked, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        match byte {
            b'"' => at += string_length(rest),
            b'-' | b'0'..=b'9' => {
                let end = at + number_length(rest);
                let number = text.get(at..end).unwrap_or_default();
                if is_large_integer(number) {
                    marked.push_str(text.get(copied..at).unwrap_or_default());
                    marked.extend(["\"", &MARK, number, "\""]);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    marked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(marked)
}

/// Tells whether a JSON text contains marks.
pub fn has_marked_integers(text: &str) -> bool {
    text.contains(MARK.as_str())
}

/// Replaces the marks in a JSON text without spaces between its parts by the integers.
pub fn unmark_large_integers(text: String) -> String {
    if !has_marked_integers(&text) {
        return text;
    }
    let start = format!("\"{}", *MARK);
    let (mut written, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some((before, after)) = rest.split_once(&start) {
        written.push_str(before);
        let end = after.find('"');
        let number = end.and_then(|end| after.get(..end)).unwrap_or_default();
        let left = after.get(number.len() + 1..).unwrap_or_default();
        // A quote after a backslash is part of a text, and a text before a colon is a name.
        if is_large_integer(number) && !before.ends_with('\\') && !left.starts_with(':') {
            written.push_str(number);
            rest = left;
        } else {
            written.push_str(&start);
            rest = after;
        }
    }
    written.push_str(rest);
    written
}

/// Replaces the marks in a value by rounded numbers.
pub fn round_large_integers(value: &mut Value) {
    replace_marks(value, |number| Some(number.parse::<f64>().ok()?.into()));
}

/// Replaces the marks in a value by texts of the digits.
pub fn stringify_large_integers(value: &mut Value) {
    replace_marks(value, |number| Some(number.into()));
}

/// Replaces the marks in a value by rounded numbers and returns their digits for
/// [`restore_large_integers`], if there are marks. Unlike a mark, the digits mean the same in every
/// process.
///
/// The digits are at the places of the marks in an object that has the form of the value; the items
/// of a list are at their index. So they are at most as large as the value.
pub fn take_large_integers(value: &mut Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            let digits = marked_integer(text)?.to_owned();
            *value = digits.parse::<f64>().ok()?.into();
            Some(Value::String(digits))
        }
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            let taken =
                items.filter_map(|(at, item)| Some((at.to_string(), take_large_integers(item)?)));
            non_empty_object(taken.collect())
        }
        Value::Object(fields) => {
            let fields = fields.iter_mut();
            let taken = fields
                .filter_map(|(name, field)| Some((name.clone(), take_large_integers(field)?)));
            non_empty_object(taken.collect())
        }
        _ => None,
    }
}

fn non_empty_object(fields: Map<String, Value>) -> Option<Value> {
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Puts marks in place of the numbers whose digits [`take_large_integers`] returned.
pub fn restore_large_integers(value: &mut Value, digits: &Value) {
    match (value, digits) {
        (value @ Value::Number(_), Value::String(number)) if is_large_integer(number) => {
            *value = format!("{}{number}", *MARK).into();
        }
        (Value::Array(items), Value::Object(digits)) => {
            for (at, digits) in digits {
                let item = at.parse::<usize>().ok().and_then(|at| items.get_mut(at));
                if let Some(item) = item {
                    restore_large_integers(item, digits);
                }
            }
        }
        (Value::Object(fields), Value::Object(digits)) => {
            for (name, digits) in digits {
                if let Some(field) = fields.get_mut(name) {
                    restore_large_integers(field, digits);
                }
            }
        }
        _ => {}
    }
}

fn replace_marks(value: &mut Value, replacement: fn(&str) -> Option<Value>) {
    match value {
        Value::String(text) => {
            if let Some(plain) = marked_integer(text).and_then(replacement) {
                *value = plain;
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace_marks(item, replacement)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace_marks(field, replacement)),
        _ => {}
    }
}

/// Returns the integer that a text stands for.
pub fn marked_integer(text: &str) -> Option<&str> {
    text.strip_prefix(MARK.as_str())
        .filter(|number| is_large_integer(number))
}

/// Tells whether a value contains a mark.
pub(crate) fn has_marks(value: &Value) -> bool {
    match value {
        Value::String(text) => marked_integer(text).is_some(),
        Value::Array(items) => items.iter().any(has_marks),
        Value::Object(fields) => fields.values().any(has_marks),
        _ => false,
    }
}

/// Tells whether so many digits follow each other that they may be a large integer. Of so many, one
/// is at a multiple of that number.
fn has_long_digits(bytes: &[u8]) -> bool {
    let mut at = MIN_DIGITS - 1;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            let (before, after) = bytes.split_at_checked(at).unwrap_or_default();
            let left = before.iter().rev().take_while(|it| it.is_ascii_digit());
            let right = after.iter().take_while(|it| it.is_ascii_digit());
            if left.count() + right.count() >= MIN_DIGITS {
                return true;
            }
        }
        at += MIN_DIGITS;
    }
    false
}

fn is_large_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    (MIN_DIGITS..=MAX_DIGITS).contains(&digits.len())
        && digits.bytes().all(|it| it.is_ascii_digit())
        && !digits.starts_with('0')
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

/// The length of the JSON string at the start of the bytes, with its quotes.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
        }
    }
}

fn number_length(bytes: &[u8]) -> usize {
    let part = |it: &&u8| matches!(it, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    bytes.iter().take_while(part).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LARGE: &str = "18446744073709551617123";

    fn through_value(text: &str) -> String {
        let value: Value = serde_json::from_str(&mark_large_integers(text)).unwrap();
        unmark_large_integers(value.to_string())
    }

    #[test]
    fn every_integer_arrives_as_it_was() {
        for text in [
            format!(r#"{{"n":{LARGE},"list":[-{LARGE},1,{LARGE}]}}"#),
            LARGE.to_owned(),
            "[18446744073709551615,18446744073709551616,-9223372036854775808]".to_owned(),
            "[-9223372036854775809,0,-1,1.5,1e+300,123456789012345678]".to_owned(),
            format!(r#"{{"text":"{LARGE}","a \"{LARGE}\" b":"x\\"}}"#),
            "9".repeat(MAX_DIGITS),
        ] {
            assert_eq!(through_value(&text), text);
        }
    }

    #[test]
    fn texts_that_look_like_marks_never_break_the_json() {
        for value in [
            json!({ format!("{}{LARGE}", *MARK): 1 }),
            json!(format!("a \"{}{LARGE}", *MARK)),
            json!([format!("{}12", *MARK), format!("{}x", *MARK), *MARK]),
            json!([format!("{}{LARGE}\"", *MARK)]),
        ] {
            let text = value.to_string();
            assert_eq!(unmark_large_integers(text.clone()), text);
        }
    }

    #[test]
    fn other_texts_are_not_copied() {
        for text in [r#"{"a":[1,2.5,"three"]}"#, "", "not JSON at all"] {
            assert!(matches!(mark_large_integers(text), Cow::Borrowed(_)));
        }
        for text in [format!("\"{LARGE}"), format!("\\{LARGE}"), "-".repeat(40)] {
            drop(mark_large_integers(&text));
        }
    }

    #[test]
    fn a_mark_counts_as_its_rounded_number() {
        let mut value: Value = serde_json::from_str(&mark_large_integers(LARGE)).unwrap();
        assert!(has_marks(&value));
        round_large_integers(&mut value);
        assert_eq!(value, json!(1.844_674_407_370_955_2e22));
    }

    #[test]
    fn digits_that_are_kept_beside_a_value_bring_every_integer_back() {
        let text = format!(r#"{{"a":[0,-{LARGE},{{"b":{LARGE},"c":"{LARGE}"}}],"d":1.5}}"#);
        let marked: Value = serde_json::from_str(&mark_large_integers(&text)).unwrap();
        let mut stored = marked.clone();
        let digits = take_large_integers(&mut stored).unwrap();
        assert!(!has_marks(&stored) && !has_marks(&digits));
        assert_eq!(
            digits,
            json!({ "a": { "1": format!("-{LARGE}"), "2": { "b": LARGE } } })
        );
        let mut restored = stored.clone();
        restore_large_integers(&mut restored, &digits);
        assert_eq!(restored, marked);
        assert_eq!(take_large_integers(&mut json!({ "a": [1, "x"] })), None);
        // Digits that fit nothing change nothing.
        for other in [
            json!(LARGE),
            json!({ "a": { "9": LARGE, "x": LARGE }, "d": "12" }),
        ] {
            let mut value = stored.clone();
            restore_large_integers(&mut value, &other);
            assert_eq!(value, stored);
        }
    }

    #[test]
    fn a_mark_becomes_a_text_of_its_digits() {
        let text = format!(r#"{{"a":[-{LARGE},"x",1]}}"#);
        let mut value: Value = serde_json::from_str(&mark_large_integers(&text)).unwrap();
        stringify_large_integers(&mut value);
        assert_eq!(value, json!({ "a": [format!("-{LARGE}"), "x", 1] }));
    }
}
