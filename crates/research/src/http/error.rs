//! Why the net gave no answer.

use std::time::Duration;

/// Why there is no answer. Holds no keys and no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpClientError {
    /// Asked too often: by the answer, or by the pace we keep.
    #[error("{host} is asked too often; ask again in {} s", .wait.as_secs().max(1))]
    RateLimited {
        /// Who.
        host: String,
        /// When to ask again.
        wait: Duration,
    },
    /// The address may not be asked.
    #[error("{url} may not be asked: {reason}")]
    Forbidden {
        /// The address, without what follows the path.
        url: String,
        /// Why.
        reason: String,
    },
    /// There is nothing there.
    #[error("there is nothing at {url}")]
    NotFound {
        /// The address, without what follows the path.
        url: String,
    },
    /// The key is wrong, or one is needed.
    #[error("{host} wants another key, or one at all (status {status})")]
    KeyRequired {
        /// Who.
        host: String,
        /// The status.
        status: u16,
    },
    /// It answered that it can't.
    #[error("{host} answered with status {status}{}", .message.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    Status {
        /// Who.
        host: String,
        /// The status.
        status: u16,
        /// What it said, shortened, if it is plain text.
        message: Option<String>,
    },
    /// It could not be reached.
    #[error("{host} can't be reached: {reason}")]
    Unreachable {
        /// Who.
        host: String,
        /// Why.
        reason: String,
    },
    /// It took too long.
    #[error("{host} did not answer within {} s", .timeout.as_secs())]
    Timeout {
        /// Who.
        host: String,
        /// How long we waited.
        timeout: Duration,
    },
    /// It is larger than is taken.
    #[error("the answer of {host} is larger than {max_bytes} bytes, the most that is taken")]
    TooLarge {
        /// Who.
        host: String,
        /// The most.
        max_bytes: u64,
    },
    /// It is no answer that is understood: HTML in place of JSON, XML that breaks off.
    #[error("the answer of {host} can't be read: {reason}")]
    Unreadable {
        /// Who.
        host: String,
        /// Why.
        reason: String,
    },
    /// Something on this machine is in the way.
    #[error("{what} failed: {reason}")]
    Local {
        /// What was tried.
        what: &'static str,
        /// Why not.
        reason: String,
    },
}

impl HttpClientError {
    /// How long to wait before asking again can help, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => Some(*wait),
            _ => None,
        }
    }

    /// The stable code.
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
