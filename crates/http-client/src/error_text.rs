//! The useful part of an error: its root cause, or the sentence in an error body.

use std::error::Error;

use serde_json::Value;

/// Returns the innermost cause of an error: "connection refused" says more than "error sending
/// request", and unlike the outer causes it contains no URL.
pub fn root_cause(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Some(cause.to_string())
}

/// Finds the message in the error bodies of model services: `{error: {message}}`, `{error: "…"}`,
/// `{message}`, `{detail}`, `{errors: [{message}]}`.
pub fn find_error_message(body: &Value) -> Option<&str> {
    find_message(body, &["error", "message", "detail", "errors", "msg"])
}

/// Finds the first text below these keys, in their order.
pub(crate) fn find_message<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(items) => find_message(items.first()?, keys),
        Value::Object(members) => keys
            .iter()
            .filter_map(|key| members.get(*key))
            .find_map(|value| find_message(value, keys)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_is_found_wherever_services_put_it() {
        for body in [
            json!({"error": {"code": "x", "message": "no such key"}}),
            json!({"success": false, "error": "no such key"}),
            json!({"message": "no such key"}),
            json!({"detail": [{"loc": ["body"], "msg": "no such key"}]}),
            json!([{"error": {"message": "no such key"}}]),
        ] {
            assert_eq!(find_error_message(&body), Some("no such key"), "{body}");
        }
        assert_eq!(find_error_message(&json!({"code": 7})), None);
    }
}
