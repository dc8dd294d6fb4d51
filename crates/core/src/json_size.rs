//! The size of JSON values.

use serde_json::Value;

/// Tells whether a value contains more than so many values, itself included. It looks at no more than
/// that.
pub fn has_more_values(value: &Value, most: usize) -> bool {
    let mut count = 0_usize;
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        count += 1;
        let inside = match value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if count + todo.len() + inside > most {
            return true;
        }
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(fields) => todo.extend(fields.values()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_counts_once_and_names_do_not() {
        for (value, count) in [
            (json!(1), 1),
            (json!([]), 1),
            (json!([1, [2, 3], {}]), 6),
            (json!({ "a": { "b": [null, "x"] }, "c": 1 }), 6),
        ] {
            assert!(has_more_values(&value, count - 1), "{value}");
            assert!(!has_more_values(&value, count), "{value}");
        }
    }
}
