//! Extracts a short error message from a service's response.

use deliberate_http_client::find_error_message;
use serde_json::Value;

use super::head;

/// The longest excerpt of a response body.
const MAX_BYTES: usize = 300;

/// The message in an error body, else a description of the body.
pub(super) fn error_message(body: &str) -> String {
    let text = body.trim();
    let found = serde_json::from_str::<Value>(text).ok();
    match found.as_ref().and_then(find_error_message) {
        Some(sentence) => excerpt(sentence),
        None => describe_body(text).map_or_else(|| excerpt(text), |kind| format!("it sent {kind}")),
    }
}

/// Describes a body that is not worth quoting.
pub(super) fn describe_body(body: &str) -> Option<&'static str> {
    let text = body.trim_start();
    if text.is_empty() {
        Some("nothing")
    } else if text.starts_with('<') {
        Some("an HTML page")
    } else {
        None
    }
}

/// A short excerpt in one line without control characters.
pub(super) fn excerpt(text: &str) -> String {
    let text = head(text, MAX_BYTES).replace(char::is_control, " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_is_found() {
        for body in [
            r#"{"error": {"code": "x", "message": "no such model"}}"#,
            r#"{"error": "no such model"}"#,
            r#"{"message": "no such model"}"#,
            r#"{"detail": [{"msg": "no such model"}]}"#,
            "no\n such \u{1b}  model",
        ] {
            assert_eq!(error_message(body), "no such model", "{body}");
        }
        assert_eq!(error_message("<html><p>x"), "it sent an HTML page");
        assert_eq!(error_message(" "), "it sent nothing");
        assert!(error_message(&"é".repeat(10_000)).len() <= MAX_BYTES);
    }
}
