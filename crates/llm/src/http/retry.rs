//! What is tried again, when, and how often; and what is said when it did not help.

use std::time::Duration;

use backon::ExponentialBuilder;
use tokio::time::Instant;

use super::HttpSettings;
use crate::ModelError;

/// The longest wait between two attempts that the provider did not ask for itself.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// Why an attempt brought no answer.
#[derive(Debug)]
pub(super) enum ProviderAttemptError {
    /// The time of the whole call ran out.
    Late,
    /// Our own pace does not allow it in time.
    TooSoon(Duration),
    /// The attempt took too long.
    TimedOut,
    /// There was no connection, or it broke.
    Unreachable(String),
    /// The provider asks for patience (429).
    Limited(Option<Duration>),
    /// The provider failed (408, 5xx).
    Failing {
        status: u16,
        message: String,
        wait: Option<Duration>,
    },
    /// Trying again is of no use.
    Final(ModelError),
}

impl ProviderAttemptError {
    /// Whether the next attempt may succeed.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut | Self::Unreachable(_) | Self::Limited(_) | Self::Failing { .. } => true,
            Self::Late | Self::TooSoon(_) | Self::Final(_) => false,
        }
    }

    /// How long the provider asks to wait.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) | Self::Failing { wait, .. } => *wait,
            Self::TooSoon(wait) => Some(*wait),
            Self::Late | Self::TimedOut | Self::Unreachable(_) | Self::Final(_) => None,
        }
    }

    /// What the caller is told after the last attempt.
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

/// The waits between attempts: doubling, with jitter, so that many callers do not come back at
/// the same moment.
pub(super) fn backoff(settings: &HttpSettings) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(settings.retry_delay)
        .with_max_delay(MAX_DELAY.max(settings.retry_delay))
        .with_factor(2.0)
        .with_max_times(usize::try_from(settings.max_retries).unwrap_or(usize::MAX))
        .with_jitter()
}

/// The wait before the next attempt: the provider's word, else ours. `None` if no attempts are
/// left or it would come too late.
pub(super) fn delay(
    setback: &ProviderAttemptError,
    ours: Option<Duration>,
    deadline: Instant,
) -> Option<Duration> {
    let delay = setback.retry_after().unwrap_or(ours?);
    let left = deadline.saturating_duration_since(Instant::now());
    (delay < left).then_some(delay)
}
