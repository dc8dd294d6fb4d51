//! What is asked of the net, and what it answers.

use std::time::Duration;

use bytes::Bytes;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use url::Url;

use super::HttpClientError;

/// How fast a source may be asked, by its published terms.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRateLimit {
    /// Whose pace it is: requests with the same name share it.
    pub name: String,
    /// At least this long between the beginnings of two requests.
    pub interval: Duration,
    /// So many requests at a time.
    pub max_concurrent: usize,
    /// The longest a request waits for its turn; beyond that it is refused with the wait.
    pub max_wait: Duration,
}

/// A question to the net.
#[derive(Debug, Clone)]
pub struct FetchRequest {
    /// Where.
    pub url: Url,
    /// What is sent, as JSON; `None` asks with GET.
    pub body: Option<serde_json::Value>,
    /// What kinds of answer are understood.
    pub accept: &'static str,
    /// Headers that hold keys; never written anywhere.
    pub secret_headers: Vec<(&'static str, SecretString)>,
    /// Query parameters that hold keys; never written anywhere, no part of the cache's key.
    pub secret_query: Vec<(&'static str, SecretString)>,
    /// How fast.
    pub rate_limit: SourceRateLimit,
    /// How long an answer to the same question may be used again. Zero: not at all.
    pub cache_ttl: Duration,
    /// The largest answer.
    pub max_bytes: u64,
    /// The longest it may take, waiting for its turn not counted.
    pub timeout: Duration,
    /// Answers that mean "slower" beside 429 and 503: arXiv says it with 406.
    pub throttle_statuses: &'static [u16],
}

/// What the net answered: 2xx only, everything else is a [`HttpClientError`].
#[derive(Debug, Clone)]
pub struct FetchResponse {
    /// The status.
    pub status: u16,
    /// What kind of answer it is, lower case, without parameters; empty if nobody said.
    pub content_type: String,
    /// The answer.
    pub body: Bytes,
    /// The address it came from in the end.
    pub url: Url,
    /// Whether it was kept from before.
    pub from_cache: bool,
}

impl SourceRateLimit {
    /// One request at a time, waiting twenty seconds for its turn at the most.
    pub fn new(name: impl Into<String>, interval: Duration) -> Self {
        Self {
            name: name.into(),
            interval,
            max_concurrent: 1,
            max_wait: Duration::from_secs(20),
        }
    }

    /// So many requests at a time.
    pub fn max_concurrent(mut self, requests: usize) -> Self {
        self.max_concurrent = requests;
        self
    }

    /// Waits so long for its turn.
    pub fn max_wait(mut self, patience: Duration) -> Self {
        self.max_wait = patience;
        self
    }
}

impl FetchRequest {
    /// Asks for JSON with GET: 16 MiB and half a minute at the most, nothing kept.
    pub fn new(url: Url, rate_limit: SourceRateLimit) -> Self {
        Self {
            url,
            body: None,
            accept: "application/json",
            secret_headers: Vec::new(),
            secret_query: Vec::new(),
            rate_limit,
            cache_ttl: Duration::ZERO,
            max_bytes: 16 * 1024 * 1024,
            timeout: Duration::from_secs(30),
            throttle_statuses: &[],
        }
    }

    /// Sends JSON, with POST.
    pub fn json_body(mut self, body: serde_json::Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Understands other kinds of answer.
    pub fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// Sends a key in a header.
    pub fn secret_header(mut self, name: &'static str, value: SecretString) -> Self {
        self.secret_headers.push((name, value));
        self
    }

    /// Sends a key, or an address to write to, as a query parameter.
    pub fn secret_parameter(mut self, name: &'static str, value: SecretString) -> Self {
        self.secret_query.push((name, value));
        self
    }

    /// An answer may be used again for so long.
    pub fn cache_for(mut self, keep: Duration) -> Self {
        self.cache_ttl = keep;
        self
    }

    /// Takes no larger answer.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Waits no longer for it.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// Statuses that mean "slower" beside 429 and 503.
    pub fn throttle_on(mut self, statuses: &'static [u16]) -> Self {
        self.throttle_statuses = statuses;
        self
    }
}

impl FetchResponse {
    /// Who answered.
    pub fn host(&self) -> String {
        host_label(&self.url)
    }

    /// The answer as JSON of that shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpClientError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let reason = if self.is_html() {
                "a web page, not JSON".to_owned()
            } else if self.body.is_empty() {
                "it is empty".to_owned()
            } else {
                format!("no JSON of the expected shape: {error}")
            };
            self.unreadable_error(reason)
        })
    }

    /// The answer as text, with a mark in place of what is none.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether it is a web page: by its beginning, whatever it says it is; by what it says only if
    /// it begins as one could.
    pub fn is_html(&self) -> bool {
        let start = self.body.trim_ascii_start();
        let could_be = start.starts_with(b"<") && !start.starts_with(b"<?xml");
        looks_like_html(&self.body) || (self.content_type == "text/html" && could_be)
    }

    /// The error of an answer that can't be read.
    pub fn unreadable_error(&self, reason: impl Into<String>) -> HttpClientError {
        HttpClientError::Unreadable {
            host: self.host(),
            reason: reason.into(),
        }
    }
}

/// Whether bytes begin as a web page does.
pub(super) fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = start.trim_ascii_start();
    let begins = |with: &[u8]| {
        start
            .get(..with.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(with))
    };
    begins(b"<!doctype html") || begins(b"<html")
}

/// Who is asked, for messages.
pub(super) fn host_label(url: &Url) -> String {
    url.host_str().unwrap_or("nobody").to_owned()
}

/// The longest address in a message.
const MAX_URL_CHARS: usize = 200;

/// An address for messages: keys are in what follows the path, or in front of the host.
pub(super) fn redacted_url(url: &Url) -> String {
    let port = url.port().map(|it| format!(":{it}")).unwrap_or_default();
    let whole = format!(
        "{}://{}{port}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        url.path()
    );
    deliberate_core::truncate_chars(&whole, MAX_URL_CHARS)
}
