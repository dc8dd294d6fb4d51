//! Which failures are retried, after which wait, and the error after the last attempt.

use std::time::Duration;

use backon::ExponentialBuilder;
use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use tokio::time::Instant;

use super::ServiceSettings;
use crate::EmbedError;

/// The longest `Retry-After` that is accepted.
const MAX_WAIT: Duration = Duration::from_hours(1);

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum EmbedAttemptError {
    /// A transient failure.
    Retryable {
        reason: String,
        wait: Option<Duration>,
    },
    /// A failure that a retry cannot change.
    Final(EmbedError),
}

impl EmbedAttemptError {
    pub(super) fn is_retryable(&self) -> bool {
        matches!(self, Self::Retryable { .. })
    }

    /// The error after the last attempt.
    pub(super) fn into_error(self, attempts: u32) -> EmbedError {
        match self {
            Self::Final(error) => error,
            Self::Retryable { reason, wait } => {
                let times = if attempts == 1 {
                    "once"
                } else {
                    "several times"
                };
                let later = wait.map_or_else(
                    || "try again later".to_owned(),
                    |wait| format!("try again in {} s", wait.as_secs().max(1)),
                );
                EmbedError::Unavailable {
                    reason: format!("{reason} (asked {times}); {later}"),
                }
            }
        }
    }
}

/// Exponential backoff with jitter.
pub(super) fn backoff(settings: &ServiceSettings) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(settings.retry_delay)
        .with_max_delay(settings.deadline.max(settings.retry_delay))
        .with_factor(2.0)
        .with_max_times(settings.retries)
        .with_jitter()
}

/// The wait before the next attempt: the service's `Retry-After`, else the backoff. `None` if no
/// attempts are left or it would exceed the deadline.
pub(super) fn delay(
    setback: &EmbedAttemptError,
    ours: Option<Duration>,
    deadline: Instant,
) -> Option<Duration> {
    let ours = ours?;
    let delay = match setback {
        EmbedAttemptError::Retryable { wait, .. } => wait.unwrap_or(ours),
        EmbedAttemptError::Final(_) => return None,
    };
    (delay < deadline.saturating_duration_since(Instant::now())).then_some(delay)
}

/// Parses `Retry-After`: seconds or a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if let Ok(seconds) = text.parse::<f64>() {
        Duration::try_from_secs_f64(seconds).ok()?
    } else {
        let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        Duration::try_from(moment.duration_since(Timestamp::now())).unwrap_or_default()
    };
    Some(wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_as_seconds_or_dates() {
        let cases = [
            ("2", Some(2)),
            ("0", Some(0)),
            ("999999", Some(3_600)),
            ("-1", None),
            ("soon", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
        ];
        for (text, expected) in cases {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            assert_eq!(
                retry_after(&headers),
                expected.map(Duration::from_secs),
                "{text}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_goes_beyond_the_deadline() {
        let ours = Some(Duration::from_secs(1));
        let asked = |wait| EmbedAttemptError::Retryable {
            reason: String::new(),
            wait,
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        let nine = Duration::from_secs(9);
        assert_eq!(delay(&asked(None), ours, deadline), ours);
        assert_eq!(delay(&asked(Some(nine)), ours, deadline), Some(nine));
        assert_eq!(delay(&asked(Some(nine * 2)), ours, deadline), None);
        assert_eq!(delay(&asked(Some(nine)), None, deadline), None);
    }
}
