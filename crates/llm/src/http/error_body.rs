//! Extracts one short line from an error body.

use deliberate_core::ellipsize;
use deliberate_http_client::find_error_message;
use serde_json::Value;

/// Longest excerpt of a response body.
const MAX_CHARS: usize = 300;

/// Returns the message in an error body: the provider's own sentence if the body is JSON, else a
/// short excerpt.
pub(super) fn error_message(body: &str) -> String {
    let text = body.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text)
        && let Some(message) = find_error_message(&value)
    {
        return excerpt(message);
    }
    if text.is_empty() {
        "it gave no details".to_owned()
    } else if is_html(text) {
        "it returned an HTML page".to_owned()
    } else {
        excerpt(text)
    }
}

/// Returns a short excerpt on one line.
pub(super) fn excerpt(text: &str) -> String {
    // Truncated before it is joined: a body may have megabytes.
    let head = ellipsize(text, 4 * MAX_CHARS);
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    ellipsize(&line, MAX_CHARS)
}

pub(super) fn is_html(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_is_found() {
        let bodies = [
            r#"{"error": {"code": "x", "message": "no such key"}}"#,
            r#"{"success": false, "error": "no such key"}"#,
            r#"{"message": "no such key"}"#,
            r#"{"type": "error", "error": {"type": "y", "message": "no such key"}}"#,
            r#"{"detail": [{"loc": ["body"], "msg": "no such key"}]}"#,
            r#"[{"error": {"message": "no such key"}}]"#,
            "no\n such   key",
        ];
        for body in bodies {
            assert_eq!(error_message(body), "no such key", "{body}");
        }
    }

    #[test]
    fn pages_and_long_bodies_are_not_repeated() {
        assert_eq!(
            error_message("<!DOCTYPE html><p>x"),
            "it returned an HTML page"
        );
        assert_eq!(error_message(" "), "it gave no details");
        let long = error_message(&"ü".repeat(100_000));
        assert_eq!(long.chars().count(), MAX_CHARS + 1);
        assert_eq!(error_message(r#"{"code": 7}"#), r#"{"code": 7}"#);
    }
}
