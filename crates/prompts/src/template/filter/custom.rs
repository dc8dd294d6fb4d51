//! Custom filters: those that the template engine lacks, and those whose result it does not bound.
//! Each takes the maximum bytes of its result. Knows nothing of how filters are registered.

use deliberate_core::PromptFence;
use minijinja::{
    Error, ErrorKind, State,
    value::{Value, ValueKind},
};

use super::{
    super::value::{ValueSizeBudget, ValueTooLarge, absent_value, is_absent, to_json, write_text},
    FENCE_VARIABLE, output_too_large,
};

/// The longest name of a tag.
const MAX_TAG_LENGTH: usize = 32;

pub(super) fn text(value: &Value, most: usize) -> Result<String, Error> {
    let mut written = String::new();
    write_text(value, &mut written, &mut ValueSizeBudget(most))
        .map_err(|ValueTooLarge| output_too_large())?;
    Ok(written)
}

/// Puts a text inside the prompt fence, between tags of that name; an absent value stays absent.
pub(super) fn fenced(
    state: &State<'_, '_>,
    value: &Value,
    tag: &str,
    most: usize,
) -> Result<String, Error> {
    let fault = |message: &str| Error::new(ErrorKind::InvalidOperation, message.to_owned());
    let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter == b'_';
    if tag.is_empty() || tag.len() > MAX_TAG_LENGTH || !tag.bytes().all(is_plain) {
        return Err(fault(
            "a tag of `fenced` is a short name of lower-case letters, such as \"notes\"",
        ));
    }
    if is_absent(value) {
        return Ok(String::new());
    }
    let nonce = state.lookup(FENCE_VARIABLE).and_then(|it| it.as_i64());
    let nonce = nonce.and_then(|it| u32::try_from(it).ok());
    let nonce = nonce.ok_or_else(|| fault("`fenced` is for the texts of prompts"))?;
    let wrapped = PromptFence::new(nonce, &[]).wrap(tag, text(value, most)?.trim_matches('\n'));
    if wrapped.len() > most {
        return Err(output_too_large());
    }
    Ok(wrapped)
}

/// Returns the second value if the first is absent; with `true`, also if it is false or empty.
pub(super) fn default(value: Value, other: Option<Value>, also_false: Option<bool>) -> Value {
    if is_absent(&value) || (also_false == Some(true) && !value.is_true()) {
        other.unwrap_or_else(|| Value::from(""))
    } else {
        value
    }
}

pub(super) fn first_or_last(value: &Value, last: bool) -> Result<Value, Error> {
    if is_absent(value) {
        return Ok(absent_value());
    }
    if let Some(text) = value.as_str() {
        let mut letters = text.chars();
        let letter = if last {
            letters.next_back()
        } else {
            letters.next()
        };
        return Ok(letter.map_or_else(absent_value, Value::from));
    }
    let mut items = value.try_iter()?;
    let item = if last { items.last() } else { items.next() };
    Ok(item.unwrap_or_else(absent_value))
}

/// Returns the number of characters, entries or fields; 0 for an absent value.
pub(super) fn length(value: &Value) -> Result<Value, Error> {
    if is_absent(value) {
        return Ok(Value::from(0));
    }
    if value.kind() == ValueKind::Map
        && let Ok(field) = value.get_item(&Value::from("length"))
        && !field.is_undefined()
    {
        return Ok(field);
    }
    value.len().map(Value::from).ok_or_else(|| {
        let kind = value.kind();
        Error::new(
            ErrorKind::InvalidOperation,
            format!("a {kind} has no length"),
        )
    })
}

/// Returns the name and value of each field, for loops with two names; lists stay unchanged.
pub(super) fn pairs(value: Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        return Ok(value);
    }
    value
        .try_iter()?
        .map(|key| {
            let inner = value.get_item(&key)?;
            Ok(Value::from(vec![key, inner]))
        })
        .collect()
}

pub(super) fn keys(value: &Value) -> Result<Value, Error> {
    Ok(value.try_iter()?.collect())
}

pub(super) fn values(value: &Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        return Ok(value.clone());
    }
    let keys = value.try_iter()?;
    keys.map(|key| value.get_item(&key)).collect()
}

/// Serializes a value as JSON without unnecessary escapes.
pub(super) fn to_json_text(
    value: &Value,
    indent: Option<usize>,
    most: usize,
) -> Result<String, Error> {
    use serde::Serialize as _;
    let json =
        to_json(value, &mut ValueSizeBudget(most)).map_err(|ValueTooLarge| output_too_large())?;
    let width = indent.unwrap_or_default().min(16);
    if width == 0 {
        return Ok(json.to_string());
    }
    let blanks = " ".repeat(width);
    let style = serde_json::ser::PrettyFormatter::with_indent(blanks.as_bytes());
    let mut written = BoundedText {
        text: Vec::new(),
        most,
    };
    json.serialize(&mut serde_json::Serializer::with_formatter(
        &mut written,
        style,
    ))
    .map_err(|_| output_too_large())?;
    String::from_utf8(written.text)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

/// Text of at most a number of bytes. With indentation, deeply nested JSON is far longer than its
/// values.
struct BoundedText {
    text: Vec<u8>,
    most: usize,
}

impl std::io::Write for BoundedText {
    fn write(&mut self, more: &[u8]) -> std::io::Result<usize> {
        if self.text.len().saturating_add(more.len()) > self.most {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.text.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(super) fn join(
    value: &Value,
    with: Option<&Value>,
    attribute: Option<&str>,
    most: usize,
) -> Result<String, Error> {
    if value.as_str().is_some() {
        return text(value, most);
    }
    let with = with.map_or(Ok(String::new()), |it| text(it, most))?;
    let mut joined = String::new();
    let mut budget = ValueSizeBudget(most);
    for (index, item) in value.try_iter()?.enumerate() {
        if index > 0 {
            budget
                .consume(with.len())
                .map_err(|ValueTooLarge| output_too_large())?;
            joined.push_str(&with);
        }
        budget
            .consume(1)
            .map_err(|ValueTooLarge| output_too_large())?;
        let item = match attribute {
            Some(name) => item.get_attr(name)?,
            None => item,
        };
        write_text(&item, &mut joined, &mut budget).map_err(|ValueTooLarge| output_too_large())?;
    }
    Ok(joined)
}

pub(super) fn replace(it: &str, from: &str, to: &str, most: usize) -> Result<String, Error> {
    let found = it.matches(from).count();
    let grown = found.saturating_mul(to.len()).saturating_add(it.len());
    if grown > most {
        return Err(output_too_large());
    }
    Ok(it.replace(from, to))
}

pub(super) fn repeat(it: &str, times: usize, most: usize) -> Result<String, Error> {
    if it.len().saturating_mul(times) > most {
        return Err(output_too_large());
    }
    Ok(it.repeat(times))
}

pub(super) fn indent(
    it: &str,
    width: Option<usize>,
    first: Option<bool>,
    most: usize,
) -> Result<String, Error> {
    let blanks = " ".repeat(width.unwrap_or(4).min(100));
    let lines = it.split('\n').count();
    if lines.saturating_mul(blanks.len()).saturating_add(it.len()) > most {
        return Err(output_too_large());
    }
    let mut lines = it.split('\n').enumerate();
    let mut shifted = String::new();
    lines.by_ref().for_each(|(index, line)| {
        if index > 0 {
            shifted.push('\n');
        }
        if (index > 0 || first == Some(true)) && !line.is_empty() {
            shifted.push_str(&blanks);
        }
        shifted.push_str(line);
    });
    Ok(shifted)
}

/// Truncates a text, by default after a whole word, and appends an ellipsis.
pub(super) fn truncate(
    it: &str,
    most_letters: Option<usize>,
    anywhere: Option<bool>,
    end: Option<&str>,
) -> String {
    let most = most_letters.unwrap_or(255);
    let Some((at, _)) = it.char_indices().nth(most) else {
        return it.to_owned();
    };
    let cut = it.get(..at).unwrap_or(it);
    let cut = match cut.rfind(' ') {
        Some(blank) if anywhere != Some(true) => cut.get(..blank).unwrap_or(cut),
        _ => cut,
    };
    format!("{cut}{}", end.unwrap_or("..."))
}
