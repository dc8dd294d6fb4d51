//! What an answer means before it is read: here it is, slower, not here, not you, broken.

use std::time::Duration;

use deliberate_core::{Timestamp, cut_to_chars};
use reqwest::{Response, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{
    WebError,
    pace::retry_after,
    persist::Setback,
    request::{address_of, host_of},
};

/// How much of a refusal is read.
const MOST_SAID_BYTES: usize = 4 * 1024;
/// How long it is read.
const SAID_TIME: Duration = Duration::from_secs(2);
/// How much of it is handed on.
const MOST_SAID_CHARS: usize = 200;

/// How an answer is judged.
pub(super) struct Judge<'a> {
    pub(super) now: Timestamp,
    pub(super) throttled: &'a [u16],
    /// Keys, to be struck from what the answer says.
    pub(super) secrets: Vec<&'a SecretString>,
    /// Whether a refusal can be about a key: not where none would be taken.
    pub(super) by_key: bool,
}

impl Judge<'_> {
    /// The answer, if it is a good one that can be read.
    pub(super) async fn judge(&self, response: Response, url: &Url) -> Result<Response, Setback> {
        let status = response.status().as_u16();
        let host = host_of(url);
        match status {
            200..=299 => as_it_is(response, url),
            429 | 503 => Err(self.slower(&response, host)),
            it if self.throttled.contains(&it) => Err(self.slower(&response, host)),
            404 | 410 => Err(Setback::Final(WebError::NotThere {
                address: address_of(url),
            })),
            401 | 403 if self.by_key => Err(Setback::Final(WebError::Key { host, status })),
            _ => {
                let said = self.said(response).await;
                let error = WebError::Status { host, status, said };
                Err(match status {
                    408 | 500.. => Setback::Again(error),
                    _ => Setback::Final(error),
                })
            }
        }
    }

    fn slower(&self, response: &Response, host: String) -> Setback {
        Setback::Throttled {
            host,
            wait: retry_after(response.headers(), self.now),
        }
    }

    /// A refusal in the source's own words, if they are plain text or the usual JSON.
    async fn said(&self, mut response: Response) -> Option<String> {
        let kind = kind_of(&response);
        let mut bytes = Vec::new();
        // Words that come too slowly are not worth the time of the request.
        let end = Instant::now() + SAID_TIME;
        while bytes.len() < MOST_SAID_BYTES
            && let Ok(Ok(Some(piece))) = timeout_at(end, response.chunk()).await
        {
            bytes.extend_from_slice(&piece);
        }
        bytes.truncate(MOST_SAID_BYTES);
        let text = String::from_utf8_lossy(&bytes);
        let said = match kind.as_str() {
            "text/plain" => text.into_owned(),
            it if it.ends_with("json") => message_in(&serde_json::from_str(&text).ok()?)?,
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
        let said = cut_to_chars(&unmarked(&said), MOST_SAID_CHARS);
        (!said.is_empty()).then_some(said)
    }
}

/// Refuses what is packed: it was asked for as it is, and unpacking has no bound.
fn as_it_is(response: Response, url: &Url) -> Result<Response, Setback> {
    let packed = response
        .headers()
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"));
    if packed {
        return Err(Setback::Final(WebError::Unreadable {
            host: host_of(url),
            reason: "it is compressed although it was asked for as it is".to_owned(),
        }));
    }
    Ok(response)
}

/// The words of an error: `{"message": …}`, `{"error": …}`, `{"error": {"message": …}}`,
/// `{"message": [{"message": …}]}`.
fn message_in(value: &Value) -> Option<String> {
    let inner = |it: &Value| it.get("message")?.as_str().map(str::to_owned);
    let words = |it: &Value| match it {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => all.first().and_then(inner),
        it => inner(it),
    };
    ["message", "error", "detail", "error_message"]
        .iter()
        .filter_map(|it| value.get(*it))
        .find_map(words)
}

/// Words of others in a message of ours: they can't be taken for marks around a text.
pub(crate) fn unmarked(text: &str) -> String {
    text.replace('<', "‹").replace('`', "'")
}

/// What kind of answer it says it is: lower case, without parameters.
pub(super) fn kind_of(response: &Response) -> String {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    cut_to_chars(&kind.to_ascii_lowercase(), 100)
}
