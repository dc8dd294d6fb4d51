//! Decides which failures are retried, when and how often, and converts the last failure to an
//! error.

use std::time::Duration;

use backon::ExponentialBuilder;
use tokio::time::Instant;

use super::{HttpSettings, limiter};
use crate::ModelError;

/// Longest delay between two attempts, unless the provider asks for a longer one.
const MAX_DELAY: Duration = Duration::from_mins(1);

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

impl ProviderAttemptError {
    /// Returns whether the next attempt may succeed.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut | Self::Unreachable(_) | Self::Limited(_) | Self::Failing { .. } => true,
            Self::Late | Self::TooSoon(_) | Self::Final(_) => false,
        }
    }

    /// Returns the wait that the provider asks for.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) | Self::Failing { wait, .. } => *wait,
            Self::TooSoon(wait) => Some(*wait),
            Self::Late | Self::TimedOut | Self::Unreachable(_) | Self::Final(_) => None,
        }
    }

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

/// Returns the delays between attempts: doubling, with jitter, so that many callers do not return
/// at the same moment.
pub(super) fn backoff(settings: &HttpSettings) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(settings.retry_delay)
        .with_max_delay(MAX_DELAY.max(settings.retry_delay))
        .with_factor(2.0)
        .with_max_times(usize::try_from(settings.max_retries).unwrap_or(usize::MAX))
        .with_jitter()
}

/// Returns the delay before the next attempt: the provider's, or else our own. Returns `None` if no
/// attempt is left, the next one would be too late, or the provider asks for a long wait, which a
/// caller should know of at once.
pub(super) fn delay(
    setback: &ProviderAttemptError,
    ours: Option<Duration>,
    deadline: Instant,
) -> Option<Duration> {
    let delay = setback.retry_after().unwrap_or(ours?);
    if delay > limiter::MAX_WAIT && setback.retry_after().is_some() {
        return None;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    (delay < left).then_some(delay)
}
