//! Sizes of values and rules: what a validation reads when it compares them, and what it copies for
//! a violation.

use serde_json::{Map, Value};

/// The bytes of text that count as one value.
const TEXT_PART_BYTES: usize = 64;

/// The keywords whose violation holds a copy of the rule.
const COPIED_RULES: [&str; 3] = ["const", "enum", "not"];

/// Returns the number of values in a value, itself included. Long texts count as several.
pub(crate) fn value_size(value: &Value) -> usize {
    let mut size = 0;
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        size += 1;
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(members) => {
                size += members.keys().map(|it| text_size(it)).sum::<usize>();
                todo.extend(members.values());
            }
            Value::String(text) => size += text_size(text),
            _ => {}
        }
    }
    size
}

fn text_size(text: &str) -> usize {
    text.len() / TEXT_PART_BYTES
}

/// Returns a schema's own rules of which every violation holds a copy.
pub(crate) fn copied_rules(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    COPIED_RULES
        .iter()
        .filter_map(|keyword| fields.get(*keyword))
}

/// Returns the size of the largest such rule in a document, and what all of them hold together, nested
/// ones more than once as a compiled schema does. Counts no further than `most`.
pub(crate) fn copied_sizes(document: &Value, most: usize) -> (usize, usize) {
    let (mut largest, mut total) = (0, 0_usize);
    let mut todo = vec![document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(fields) => {
                for size in copied_rules(fields).map(value_size) {
                    largest = largest.max(size);
                    total = total.saturating_add(size);
                }
                if total > most {
                    break;
                }
                todo.extend(fields.values());
            }
            _ => {}
        }
    }
    (largest, total)
}

/// Returns how much of a value is read to compare it with the options of an `enum` or a `const`.
pub(crate) fn compared_size<'a>(
    options: impl IntoIterator<Item = &'a Value>,
    value: &Value,
) -> usize {
    let alike = options.into_iter().map(|option| match (option, value) {
        (Value::Array(one), Value::Array(other)) => one.len() == other.len(),
        (Value::Object(one), Value::Object(other)) => one.len() == other.len(),
        (Value::String(one), Value::String(other)) => one.len() == other.len(),
        _ => false,
    });
    let (mut total, mut similar) = (0_usize, 0_usize);
    for is_similar in alike {
        total += 1;
        similar += usize::from(is_similar);
    }
    if similar > 0 {
        total = total.saturating_add(similar.saturating_mul(value_size(value)));
    }
    total
}
