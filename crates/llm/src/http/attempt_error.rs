//! The failure of one attempt: whether it is retried, and the caller's error after the last one.

use std::time::Duration;

use deliberate_http_client::RetryableError;

use crate::ModelError;

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum ProviderAttemptError {
    /// The deadline of the whole call passed.
    Late,
    /// The rate limiter does not allow the request in time.
    TooSoon(Duration),
    /// The attempt took too long.
    TimedOut,
    /// The connection failed or broke.
    Unreachable(String),
    /// The provider limits the rate (429).
    Limited(Option<Duration>),
    /// The provider failed (408, 5xx).
    Failing {
        status: u16,
        message: String,
        wait: Option<Duration>,
    },
    /// A retry is useless.
    Final(ModelError),
}

impl RetryableError for ProviderAttemptError {
    fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut | Self::Unreachable(_) | Self::Limited(_) | Self::Failing { .. } => true,
            Self::Late | Self::TooSoon(_) | Self::Final(_) => false,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) | Self::Failing { wait, .. } => *wait,
            Self::TooSoon(wait) => Some(*wait),
            Self::Late | Self::TimedOut | Self::Unreachable(_) | Self::Final(_) => None,
        }
    }
}

impl ProviderAttemptError {
    /// Converts the failure of the last attempt to the caller's error.
    pub(super) fn into_error(self, provider: &str, attempts: u32, after: Duration) -> ModelError {
        let retry_after = self.retry_after();
        let provider = provider.to_owned();
        match self {
            Self::Final(error) => error,
            Self::Late | Self::TimedOut => ModelError::Timeout { provider, after },
            Self::TooSoon(_) | Self::Limited(_) => ModelError::RateLimited {
                provider,
                retry_after,
            },
            Self::Unreachable(reason) => ModelError::Unavailable {
                provider,
                reason,
                attempts,
            },
            Self::Failing {
                status, message, ..
            } => ModelError::Unavailable {
                provider,
                reason: format!("it answered {status}: {message}"),
                attempts,
            },
        }
    }
}
