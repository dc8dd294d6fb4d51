//! Finds a value by its path, for the input mappings of chain steps. A path contains only names and
//! indexes; nothing is evaluated.

use serde_json::Value;

use super::TemplateValues;

/// The maximum bytes of a path.
const MAX_PATH_BYTES: usize = 1_000;

/// Returns the value at a path: `x`, `steps.Collect.result`, `steps["My step"].output.field`,
/// `chain_args.x`, `list[0]`. Text that is JSON is parsed. Returns `None` if there is no value.
pub fn lookup(path: &str, values: &TemplateValues) -> Option<Value> {
    let path = path.trim();
    if let Some(found) = values.get(path) {
        return Some(found.clone()).filter(|value| !value.is_null());
    }
    let parts = parse_path(path)?;
    let (first, rest) = parts.split_first()?;
    let mut found = std::borrow::Cow::Borrowed(values.get(first)?);
    for part in rest {
        found = std::borrow::Cow::Owned(member(&found, part)?);
    }
    Some(found.into_owned()).filter(|value| !value.is_null())
}

fn member(value: &Value, part: &str) -> Option<Value> {
    match value {
        Value::Object(fields) => fields.get(part).cloned(),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?).cloned(),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            let read: Value = serde_json::from_str(text).ok()?;
            member(&read, part)
        }
        _ => None,
    }
}

/// Splits a path into its parts; returns `None` if it is malformed.
fn parse_path(path: &str) -> Option<Vec<String>> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        if let Some(after) = rest.strip_prefix('[') {
            let (part, after) = parse_bracket(after)?;
            parts.push(part);
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (part, after) = rest.split_at_checked(end)?;
            if part.trim().is_empty() {
                return None;
            }
            parts.push(part.trim().to_owned());
            rest = after;
        }
        if rest.is_empty() {
            return Some(parts);
        }
        rest = match rest.strip_prefix('.') {
            Some(after) => after,
            None => rest.starts_with('[').then_some(rest)?,
        };
    }
}

/// Parses the content of brackets, with or without quotes, and returns the rest of the text.
fn parse_bracket(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (part, after) = inner.split_once(quote)?;
            let after = after.trim_start().strip_prefix(']')?;
            return Some((part.to_owned(), after));
        }
    }
    let (part, after) = text.split_once(']')?;
    let part = part.trim();
    (!part.is_empty()).then(|| (part.to_owned(), after))
}
