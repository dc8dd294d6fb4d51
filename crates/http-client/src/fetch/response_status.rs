//! Classifies responses by their status: success, throttled, not found, unauthorized, failed.

use std::time::Duration;

use deliberate_core::{Timestamp, truncate_chars};
use reqwest::{Response, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use url::Url;

use super::{
    HttpClientError,
    rate_limit::MAX_WAIT,
    request::{host_label, redacted_url},
    retry::FetchAttemptError,
};
use crate::{content_type, error_text::find_message, read_prefix, retry_after};

/// The most bytes of an error response that are read.
const MAX_ERROR_BODY_BYTES: usize = 4 * 1024;
/// The longest an error response is read.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest error message that is passed on.
const MAX_ERROR_MESSAGE_CHARS: usize = 200;

/// Where sources put their message; some have a general `error` beside it.
const MESSAGE_KEYS: &[&str] = &["message", "error", "detail", "error_message"];

/// The rules by which a response is classified.
pub(super) struct ResponseClassifier<'a> {
    pub(super) now: Timestamp,
    pub(super) throttle_statuses: &'a [u16],
    /// Secrets that are removed from the server's message.
    pub(super) secrets: Vec<&'a SecretString>,
    /// Whether a rejection can be about an API key, which is not so where none would be sent.
    pub(super) may_need_key: bool,
    pub(super) clean_message: fn(&str) -> String,
}

impl ResponseClassifier<'_> {
    /// Returns the response if it is successful and not compressed.
    pub(super) async fn classify(
        &self,
        response: Response,
        url: &Url,
    ) -> Result<Response, FetchAttemptError> {
        let status = response.status().as_u16();
        let host = host_label(url);
        match status {
            200..=299 => reject_compressed(response, url),
            429 | 503 => Err(self.throttled_error(&response, host)),
            it if self.throttle_statuses.contains(&it) => {
                Err(self.throttled_error(&response, host))
            }
            404 | 410 => Err(FetchAttemptError::Final(HttpClientError::NotFound {
                url: redacted_url(url),
            })),
            401 | 403 if self.may_need_key => {
                Err(FetchAttemptError::Final(HttpClientError::KeyRequired {
                    host,
                    status,
                }))
            }
            _ => {
                let said = self.read_error_message(response).await;
                let error = HttpClientError::Status {
                    host,
                    status,
                    message: said,
                };
                Err(match status {
                    408 | 500.. => FetchAttemptError::Retryable(error),
                    _ => FetchAttemptError::Final(error),
                })
            }
        }
    }

    fn throttled_error(&self, response: &Response, host: String) -> FetchAttemptError {
        FetchAttemptError::Throttled {
            host,
            wait: retry_after(response.headers(), self.now, MAX_WAIT),
        }
    }

    /// Reads the server's error message if it is plain text or JSON of a common form.
    async fn read_error_message(&self, response: Response) -> Option<String> {
        let kind = content_type(response.headers());
        // A slow error message must not use up the time of the request.
        let bytes = read_prefix(response, MAX_ERROR_BODY_BYTES, ERROR_BODY_TIMEOUT).await;
        let text = String::from_utf8_lossy(&bytes);
        let said = match kind.as_str() {
            "text/plain" => text.into_owned(),
            it if it.ends_with("json") => {
                let body: Value = serde_json::from_str(&text).ok()?;
                find_message(&body, MESSAGE_KEYS)?.to_owned()
            }
            _ => return None,
        };
        let mut said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        said.retain(|it| !it.is_control());
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            if !secret.is_empty() {
                said = said.replace(secret, "…");
            }
        }
        let said = truncate_chars(&(self.clean_message)(&said), MAX_ERROR_MESSAGE_CHARS);
        (!said.is_empty()).then_some(said)
    }
}

/// Rejects a compressed response: it was requested uncompressed, and decompression has no bound.
fn reject_compressed(response: Response, url: &Url) -> Result<Response, FetchAttemptError> {
    let packed = response
        .headers()
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"));
    if packed {
        return Err(FetchAttemptError::Final(HttpClientError::Unreadable {
            host: host_label(url),
            reason: "it is compressed although it was requested uncompressed".to_owned(),
        }));
    }
    Ok(response)
}
