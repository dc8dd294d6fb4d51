//! Requests to the HTTP client and its responses.

use std::time::Duration;

use bytes::Bytes;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use url::Url;

use super::HttpClientError;

/// The rate limit of a source by its published terms.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRateLimit {
    /// The name of the rate limit; requests with the same name share it.
    pub name: String,
    /// The shortest time between the starts of two requests.
    pub interval: Duration,
    /// The most concurrent requests.
    pub max_concurrent: usize,
    /// The longest wait for a permit. A request that would wait longer is rejected with the wait.
    pub max_wait: Duration,
}

/// A request whose response is read into memory.
#[derive(Debug, Clone)]
pub struct FetchRequest {
    pub url: Url,
    /// The JSON body, sent with POST; `None` sends a GET.
    pub body: Option<serde_json::Value>,
    /// The `Accept` header.
    pub accept: &'static str,
    /// Headers that hold secrets; they are never logged or stored.
    pub secret_headers: Vec<(&'static str, SecretString)>,
    /// Query parameters that hold secrets; they are never logged or stored and are not part of the
    /// cache key.
    pub secret_query: Vec<(&'static str, SecretString)>,
    pub rate_limit: SourceRateLimit,
    /// How long a cached response may be used. Zero disables the cache.
    pub cache_ttl: Duration,
    /// The largest accepted response.
    pub max_bytes: u64,
    /// The longest the request may take, without the wait for the rate limit.
    pub timeout: Duration,
    /// Statuses that mean throttling in addition to 429 and 503: arXiv sends 406.
    pub throttle_statuses: &'static [u16],
}

/// A successful response (2xx). Every other status is an [`HttpClientError`].
#[derive(Debug, Clone)]
pub struct FetchResponse {
    pub status: u16,
    /// The content type in lower case without parameters; empty if there was none.
    pub content_type: String,
    pub body: Bytes,
    /// The URL after redirects.
    pub url: Url,
    pub from_cache: bool,
}

impl SourceRateLimit {
    /// One request at a time, with a wait of at most twenty seconds.
    pub fn new(name: impl Into<String>, interval: Duration) -> Self {
        Self {
            name: name.into(),
            interval,
            max_concurrent: 1,
            max_wait: Duration::from_secs(20),
        }
    }

    /// Sets the most concurrent requests.
    pub fn max_concurrent(mut self, requests: usize) -> Self {
        self.max_concurrent = requests;
        self
    }

    /// Sets the longest wait for a permit.
    pub fn max_wait(mut self, patience: Duration) -> Self {
        self.max_wait = patience;
        self
    }
}

impl FetchRequest {
    /// A GET request for JSON: at most 16 MiB in 30 seconds, not cached.
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

    /// Sends JSON with POST.
    pub fn json_body(mut self, body: serde_json::Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Sets the `Accept` header.
    pub fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// Adds a header with a secret.
    pub fn secret_header(mut self, name: &'static str, value: SecretString) -> Self {
        self.secret_headers.push((name, value));
        self
    }

    /// Adds a query parameter with an API key or a contact address.
    pub fn secret_parameter(mut self, name: &'static str, value: SecretString) -> Self {
        self.secret_query.push((name, value));
        self
    }

    /// Sets how long a cached response may be used.
    pub fn cache_for(mut self, keep: Duration) -> Self {
        self.cache_ttl = keep;
        self
    }

    /// Sets the largest accepted response.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the timeout.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// Sets the statuses that mean throttling in addition to 429 and 503.
    pub fn throttle_on(mut self, statuses: &'static [u16]) -> Self {
        self.throttle_statuses = statuses;
        self
    }
}

impl FetchResponse {
    /// The host that answered.
    pub fn host(&self) -> String {
        host_label(&self.url)
    }

    /// Parses the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpClientError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let reason = if self.is_html() {
                "it is a web page, not JSON".to_owned()
            } else if self.body.is_empty() {
                "it is empty".to_owned()
            } else {
                format!("it is not JSON of the expected form: {error}")
            };
            self.unreadable_error(reason)
        })
    }

    /// The body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether the response is a web page. Its first bytes decide; the content type counts only if
    /// the first bytes may be those of a web page.
    pub fn is_html(&self) -> bool {
        let start = self.body.trim_ascii_start();
        let could_be = start.starts_with(b"<") && !start.starts_with(b"<?xml");
        looks_like_html(&self.body) || (self.content_type == "text/html" && could_be)
    }

    /// The error for an unreadable response.
    pub fn unreadable_error(&self, reason: impl Into<String>) -> HttpClientError {
        HttpClientError::Unreadable {
            host: self.host(),
            reason: reason.into(),
        }
    }
}

/// Whether the first bytes are those of a web page.
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

/// The host of a URL, for messages.
pub(super) fn host_label(url: &Url) -> String {
    url.host_str().unwrap_or("unknown host").to_owned()
}

/// The longest URL in a message.
const MAX_URL_CHARS: usize = 200;

/// A URL for messages, without the parts that may hold secrets: user info, query and fragment.
pub(crate) fn redacted_url(url: &Url) -> String {
    let port = url.port().map(|it| format!(":{it}")).unwrap_or_default();
    let whole = format!(
        "{}://{}{port}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        url.path()
    );
    deliberate_core::truncate_chars(&whole, MAX_URL_CHARS)
}
