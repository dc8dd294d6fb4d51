//! Truncates JSON values for the invocation log.

use serde_json::Value;

use crate::truncate_chars;

/// The shortest length that a string inside a value is cut to.
const MIN_STRING_BYTES: usize = 64;

/// Shortens the strings of `value` until it has about `limit` bytes, or replaces it by a note of
/// its size if that is not enough. Log records are for diagnosis and must not double the stored
/// data.
pub fn truncate_json(value: Value, limit: usize) -> Value {
    let mut longest = limit;
    let mut capped = value;
    let mut bytes = json_size(&capped);
    let original = bytes;
    while bytes > limit && longest > MIN_STRING_BYTES {
        longest = (longest / 2).max(MIN_STRING_BYTES);
        truncate_strings(&mut capped, longest);
        bytes = json_size(&capped);
    }
    if bytes > limit {
        return serde_json::json!({ "omitted_bytes": original });
    }
    capped
}

fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_size(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields
                .iter()
                .map(|(key, item)| key.len() + json_size(item) + 4)
                .sum::<usize>()
                + 2
        }
    }
}

fn truncate_strings(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) if text.len() > longest => *text = truncate_chars(text, longest),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| truncate_strings(item, longest)),
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(_, item)| truncate_strings(item, longest)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_strings_are_shortened_and_hopeless_values_noted() {
        let small = json!({ "a": 1 });
        assert_eq!(truncate_json(small.clone(), 100), small);

        let long = truncate_json(json!({ "content": "x".repeat(10_000), "k": 3 }), 1_000);
        assert_eq!(long["k"], 3);
        assert!(json_size(&long) <= 1_000);

        let many = truncate_json(json!(vec![1; 10_000]), 1_000);
        assert!(many["omitted_bytes"].as_u64().unwrap() > 1_000);
    }
}
