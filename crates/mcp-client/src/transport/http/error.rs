//! Converts HTTP failures into transport errors without secrets.

use std::time::Duration;

use deliberate_core::{Clock as _, SystemClock};
use deliberate_http_client::{retry_after, root_cause};
use reqwest::Response;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::Value;

use super::bounded_body;
use crate::{
    jsonrpc::RpcError,
    transport::{DeliveryStatus, TransportError},
};

/// The maximum number of bytes that are read of an error body.
const MAX_BODY: usize = 256 * 1024;

/// The time limit for reading them.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The maximum number of characters that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// A word of this length that contains letters and digits looks like a key.
const KEY_LENGTH: usize = 24;

/// Shorter secrets would match ordinary words.
const MIN_SECRET_CHARS: usize = 4;

/// The longest wait that a server may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// Converts the error of a request without an answer.
pub(super) fn from_reqwest(error: &reqwest::Error, connect: Duration) -> TransportError {
    if error.is_connect() {
        if error.is_timeout() {
            return TransportError::ConnectTimeout { after: connect };
        }
        return TransportError::Unreachable {
            reason: innermost_reason(error),
        };
    }
    if error.is_builder() {
        return TransportError::Unsendable {
            reason: innermost_reason(error),
        };
    }
    connection_broken(innermost_reason(error))
}

/// Creates the error of a connection that ended when the server may have received the message.
pub(crate) fn connection_broken(reason: impl Into<String>) -> TransportError {
    TransportError::Closed {
        reason: reason.into(),
        sent: DeliveryStatus::Maybe,
    }
}

/// Returns the innermost cause; the outer ones only say what was tried, and contain the URL.
pub(crate) fn innermost_reason(error: &reqwest::Error) -> String {
    root_cause(error).unwrap_or_else(|| "the request failed".to_owned())
}

/// A response with an error status.
pub(crate) struct HttpStatusError {
    pub(crate) status: u16,
    /// The JSON-RPC error in the body.
    pub(crate) rpc: Option<RpcError>,
    /// The same as a transport error.
    pub(crate) error: TransportError,
}

/// Reads a response with an error status.
pub(crate) async fn read_status_error(
    response: Response,
    secrets: &[SecretString],
) -> HttpStatusError {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers(), SystemClock.now(), MAX_RETRY_AFTER);
    let kind = bounded_body::body_kind(&response);
    let read = tokio::time::timeout(MAX_WAIT, bounded_body::read_body(response, MAX_BODY)).await;
    let bytes = read.ok().and_then(Result::ok).unwrap_or_default();
    let rpc = parse_anonymous_error(&bytes);
    let said = match (&rpc, kind) {
        (Some(rpc), _) => Some(rpc.message.clone()),
        (
            None,
            bounded_body::BodyKind::Json
            | bounded_body::BodyKind::Empty
            | bounded_body::BodyKind::Text,
        ) => body_message(&bytes),
        (None, _) => None,
    };
    let message = said.and_then(|text| redact(&text, secrets));
    let error = match status {
        401 | 403 => TransportError::Unauthorized {
            forbidden: status == 403,
            reason: match message {
                Some(message) => format!("HTTP status {status}: {message}"),
                None => format!("HTTP status {status}"),
            },
        },
        _ => TransportError::Http {
            status,
            message,
            retry_after,
        },
    };
    HttpStatusError { status, rpc, error }
}

/// Reads the JSON-RPC error of a body that may lack a request id.
pub(crate) fn parse_anonymous_error(bytes: &[u8]) -> Option<RpcError> {
    #[derive(Deserialize)]
    struct AnonymousError {
        error: RpcError,
    }
    let answer: AnonymousError = serde_json::from_slice(bytes).ok()?;
    Some(answer.error)
}

/// Finds the message of an error body in one of the usual forms.
fn body_message(bytes: &[u8]) -> Option<String> {
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        let places = [
            "/error_description",
            "/message",
            "/error",
            "/detail",
            "/title",
        ];
        return places
            .iter()
            .filter_map(|place| value.pointer(place))
            .find_map(Value::as_str)
            .map(str::to_owned);
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    (!text.trim_start().starts_with('<')).then_some(text)
}

/// Shortens a text to one line and removes everything that looks like a key.
pub(crate) fn redact(text: &str, secrets: &[SecretString]) -> Option<String> {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    for secret in secrets {
        if secret.expose_secret().len() >= MIN_SECRET_CHARS {
            line = line.replace(secret.expose_secret(), "…");
        }
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.~+/=".contains(c);
    let mut shown = String::new();
    for piece in line.split_inclusive(|c| !is_part(c)) {
        let word = piece.trim_end_matches(|c| !is_part(c));
        let looks_like_key = word.len() >= KEY_LENGTH
            && word.contains(|c: char| c.is_ascii_digit())
            && word.contains(|c: char| c.is_ascii_alphabetic());
        match piece.strip_prefix(word).filter(|_| looks_like_key) {
            Some(rest) => {
                shown.push('…');
                shown.push_str(rest);
            }
            None => shown.push_str(piece),
        }
    }
    let short: String = shown.trim().chars().take(MAX_SHOWN_CHARS).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_holds_no_key() {
        let secrets = [SecretString::from("opensesame")];
        for (text, line) in [
            ("  not\nfound ", Some("not found")),
            ("", None),
            ("the key opensesame is wrong", Some("the key … is wrong")),
            (
                "token 'eyJhbGciOiJIUzI1NiJ9.e30.abc' expired",
                Some("token '…' expired"),
            ),
            (
                "internationalisation-of-everything failed",
                Some("internationalisation-of-everything failed"),
            ),
        ] {
            assert_eq!(redact(text, &secrets).as_deref(), line, "{text:?}");
        }
        let long = redact(&"ab ".repeat(1000), &[]).unwrap();
        assert_eq!(long.chars().count(), MAX_SHOWN_CHARS);
    }

    #[test]
    fn a_body_says_what_it_says_in_usual_places_only() {
        for (body, said) in [
            (r#"{"detail":"no such path"}"#, Some("no such path")),
            (r#"{"error":"busy"}"#, Some("busy")),
            (r#"{"echo":{"authorization":"x"}}"#, None),
            ("<html>oops</html>", None),
            ("plain", Some("plain")),
        ] {
            assert_eq!(body_message(body.as_bytes()).as_deref(), said, "{body}");
        }
    }
}
