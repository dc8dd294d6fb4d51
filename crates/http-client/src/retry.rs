//! Repeats attempts that may succeed later: exponential backoff with jitter, so that many callers
//! do not return at the same moment. A wait that the server asks for comes before our own.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};
use tokio::time::Instant;

/// How often and how long attempts are repeated.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    pub max_retries: usize,
    /// The delay before the first retry; it doubles with each further one.
    pub first_delay: Duration,
    /// The longest delay of our own.
    pub max_delay: Duration,
    /// The longest delay that a server may ask for. A longer one ends the retries, because the
    /// caller should know of it at once.
    pub max_asked: Duration,
    /// No attempt begins after it.
    pub deadline: Instant,
}

/// An error of an attempt.
pub trait RetryableError {
    /// Returns whether the next attempt may succeed.
    fn is_retryable(&self) -> bool;

    /// Returns the wait that the server asks for.
    fn retry_after(&self) -> Option<Duration>;
}

/// The error of the last attempt.
#[derive(Debug)]
pub struct RetriesFailed<E> {
    pub error: E,
    /// The number of attempts that were made.
    pub attempts: u32,
    /// The time since the first attempt began.
    pub elapsed: Duration,
}

/// Repeats `attempt` until it succeeds, fails for good, or no time is left. `notify` hears of each
/// failure after which there is another attempt, with the delay before it.
pub async fn retry<T, E: RetryableError, F: Future<Output = Result<T, E>>>(
    policy: RetryPolicy,
    attempt: impl Fn() -> F,
    notify: impl FnMut(&E, Duration),
) -> Result<T, RetriesFailed<E>> {
    let started = Instant::now();
    let attempts = AtomicU32::new(0);
    let counted = || {
        attempts.fetch_add(1, Ordering::Relaxed);
        attempt()
    };
    counted
        .retry(policy.backoff())
        .when(E::is_retryable)
        .adjust(|error, delay| policy.delay(error, delay))
        .notify(notify)
        .await
        .map_err(|error| RetriesFailed {
            error,
            attempts: attempts.load(Ordering::Relaxed),
            elapsed: started.elapsed(),
        })
}

impl RetryPolicy {
    fn backoff(&self) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.first_delay)
            .with_max_delay(self.max_delay.max(self.first_delay))
            .with_factor(2.0)
            .with_max_times(self.max_retries)
            .with_jitter()
    }

    /// Returns the delay before the next attempt: the server's, or else our own. Returns `None` if
    /// no attempt is left or the next one would be too late.
    fn delay(&self, error: &impl RetryableError, ours: Option<Duration>) -> Option<Duration> {
        let asked = error.retry_after();
        if asked.is_some_and(|asked| asked > self.max_asked) {
            return None;
        }
        let delay = asked.unwrap_or(ours?);
        let left = self.deadline.saturating_duration_since(Instant::now());
        (delay < left).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Debug)]
    struct Failure {
        retryable: bool,
        asked: Option<Duration>,
    }

    impl RetryableError for Failure {
        fn is_retryable(&self) -> bool {
            self.retryable
        }

        fn retry_after(&self) -> Option<Duration> {
            self.asked
        }
    }

    fn policy() -> RetryPolicy {
        RetryPolicy {
            max_retries: 3,
            first_delay: SECOND,
            max_delay: 60 * SECOND,
            max_asked: 20 * SECOND,
            deadline: Instant::now() + 30 * SECOND,
        }
    }

    async fn failing(
        policy: RetryPolicy,
        retryable: bool,
        asked: Option<Duration>,
    ) -> (u32, Duration) {
        let attempt = || async move { Err::<(), _>(Failure { retryable, asked }) };
        let failed = retry(policy, attempt, |_, _| {}).await.unwrap_err();
        (failed.attempts, failed.elapsed)
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_repeated_with_growing_delays() {
        let (attempts, elapsed) = failing(policy(), true, None).await;
        assert_eq!(attempts, 4);
        assert!(
            elapsed >= 7 * SECOND && elapsed < 15 * SECOND,
            "{elapsed:?}"
        );
        assert_eq!(failing(policy(), false, None).await, (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_wait_comes_first() {
        let (attempts, elapsed) = failing(policy(), true, Some(9 * SECOND)).await;
        assert_eq!(attempts, 4);
        assert!(
            elapsed >= 27 * SECOND && elapsed < 28 * SECOND,
            "{elapsed:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_is_too_long_or_goes_beyond_the_deadline() {
        let (attempts, elapsed) = failing(policy(), true, Some(21 * SECOND)).await;
        assert_eq!((attempts, elapsed), (1, Duration::ZERO));
        let short = RetryPolicy {
            deadline: Instant::now() + 10 * SECOND,
            ..policy()
        };
        let (attempts, _) = failing(short, true, Some(9 * SECOND)).await;
        assert_eq!(attempts, 2);
        let (attempts, _) = failing(short, true, Some(18 * SECOND)).await;
        assert_eq!(attempts, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn each_delay_is_told() {
        let mut delays = Vec::new();
        let attempt = || async {
            Err::<(), _>(Failure {
                retryable: true,
                asked: Some(SECOND),
            })
        };
        let failed = retry(policy(), attempt, |_, delay| delays.push(delay)).await;
        assert!(failed.is_err());
        assert_eq!(delays, [SECOND; 3]);
    }
}
