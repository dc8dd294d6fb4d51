//! The errors of the HTTP client.

use std::time::Duration;

/// A failed request. It holds no secrets and no content of responses except short messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpClientError {
    /// The server reported a rate limit, or our own rate limiter has no free slot in time.
    #[error("the rate limit of {host} is reached; retry in {} s", .wait.as_secs().max(1))]
    RateLimited {
        host: String,
        /// The time until the next request may be sent.
        wait: Duration,
    },
    /// The URL is blocked.
    #[error("{url} is blocked: {reason}")]
    Forbidden {
        /// The URL up to its path.
        url: String,
        reason: String,
    },
    /// The URL does not exist.
    #[error("{url} does not exist")]
    NotFound {
        /// The URL up to its path.
        url: String,
    },
    /// The API key is missing or wrong.
    #[error("{host} rejected the API key or needs one (status {status})")]
    KeyRequired { host: String, status: u16 },
    /// The server answered with another error status.
    #[error("{host} answered with status {status}{}", .message.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    Status {
        host: String,
        status: u16,
        /// The server's message, shortened, if it is plain text.
        message: Option<String>,
    },
    /// The connection failed.
    #[error("{host} can't be reached: {reason}")]
    Unreachable { host: String, reason: String },
    /// The request took too long.
    #[error("{host} did not answer within {} s", .timeout.as_secs())]
    Timeout { host: String, timeout: Duration },
    /// The response is larger than the limit.
    #[error("the response of {host} is larger than the limit of {max_bytes} bytes")]
    TooLarge { host: String, max_bytes: u64 },
    /// The response has the wrong form: HTML instead of JSON, or incomplete XML.
    #[error("the response of {host} can't be read: {reason}")]
    Unreadable { host: String, reason: String },
    /// A failure on this machine, such as a full disk.
    #[error("{what} failed: {reason}")]
    Local {
        /// The operation that failed.
        what: &'static str,
        reason: String,
    },
}

impl HttpClientError {
    /// The time after which a retry can help, if it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => Some(*wait),
            _ => None,
        }
    }

    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::Forbidden { .. } => "forbidden",
            Self::NotFound { .. } => "not_found",
            Self::KeyRequired { .. } => "key_needed",
            Self::Status { .. } => "status",
            Self::Unreachable { .. } => "unreachable",
            Self::Timeout { .. } => "timeout",
            Self::TooLarge { .. } => "too_large",
            Self::Unreadable { .. } => "unreadable",
            Self::Local { .. } => "local",
        }
    }
}
