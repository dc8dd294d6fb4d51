//! Rate limiter of one provider: a limit of concurrent requests, a limit of requests per second,
//! and a pause that lasts as long as the provider asked for.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout_at},
};

use super::HttpSettings;

/// Uses the system clock: the crate's default clock measures the processor for a fraction of a
/// second before it starts.
type GovernorLimiter = RateLimiter<
    NotKeyed,
    InMemoryState,
    MonotonicClock,
    NoOpMiddleware<<MonotonicClock as Clock>::Instant>,
>;

/// Rate limiter of one provider.
pub(super) struct Limiter {
    permits: Arc<Semaphore>,
    rate: Option<GovernorLimiter>,
    not_before: Mutex<Option<Instant>>,
}

/// Why a request cannot be sent in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LimiterError {
    /// The rate limit asks for a longer wait than the deadline allows.
    TooSoon(Duration),
    /// All slots were taken until the deadline.
    Late,
}

impl Limiter {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(
                settings.concurrency.clamp(1, Semaphore::MAX_PERMITS),
            )),
            rate: settings.requests_per_second.and_then(rate),
            not_before: Mutex::default(),
        }
    }

    /// Waits for a slot. Dropping the permit frees it.
    pub(super) async fn admit(
        &self,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, LimiterError> {
        loop {
            if let Some(moment) = self.not_before() {
                wait_until(moment, deadline).await?;
            }
            let place = timeout_at(deadline, Arc::clone(&self.permits).acquire_owned())
                .await
                .map_err(|_| LimiterError::Late)?
                .map_err(|_| LimiterError::Late)?;
            // Another response may have asked for a pause while this request was queued.
            if self.not_before().is_some() {
                continue;
            }
            let Some(wait) = self.rate.as_ref().and_then(check_rate) else {
                return Ok(place);
            };
            // The slot is released while waiting, so that no request waits for one that is waiting
            // itself.
            drop(place);
            wait_until(Instant::now() + wait, deadline).await?;
        }
    }

    /// Pauses all requests for `wait`.
    pub(super) fn pause(&self, wait: Duration) {
        let moment = Instant::now() + wait;
        let mut not_before = self.lock();
        *not_before = Some(not_before.map_or(moment, |known| known.max(moment)));
    }

    /// Returns the end of the pause if it is in the future.
    fn not_before(&self) -> Option<Instant> {
        self.lock().filter(|moment| *moment > Instant::now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds a limiter of `per_second` requests that allows a burst after a pause.
fn rate(per_second: f64) -> Option<GovernorLimiter> {
    let period = Duration::try_from_secs_f64(per_second.recip()).ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates"
    )]
    let burst = NonZeroU32::new(per_second as u32).unwrap_or(NonZeroU32::MIN);
    Some(RateLimiter::direct_with_clock(
        Quota::with_period(period)?.allow_burst(burst),
        MonotonicClock,
    ))
}

/// Takes a token, or returns the time until one is available.
fn check_rate(rate: &GovernorLimiter) -> Option<Duration> {
    let denied = rate.check().err()?;
    // A timer may fire slightly early; without the millisecond this would spin.
    Some(denied.wait_time_from(rate.clock().now()) + Duration::from_millis(1))
}

async fn wait_until(moment: Instant, deadline: Instant) -> Result<(), LimiterError> {
    if moment >= deadline {
        return Err(LimiterError::TooSoon(moment - Instant::now()));
    }
    sleep_until(moment).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(concurrency: usize, requests_per_second: Option<f64>) -> HttpSettings {
        HttpSettings {
            concurrency,
            requests_per_second,
            ..HttpSettings::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_waited_for_if_it_fits() {
        let limiter = Limiter::new(&settings(1, None));
        limiter.pause(Duration::from_secs(5));
        limiter.pause(Duration::from_secs(1));
        let started = Instant::now();
        let denied = limiter.admit(started + Duration::from_secs(2)).await;
        assert!(matches!(denied, Err(LimiterError::TooSoon(wait)) if wait.as_secs() >= 4));
        assert_eq!(started.elapsed(), Duration::ZERO);
        assert!(
            limiter
                .admit(started + Duration::from_secs(9))
                .await
                .is_ok()
        );
        assert!(started.elapsed() >= Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_few_and_come_back() {
        let limiter = Limiter::new(&settings(1, None));
        let soon = Instant::now() + Duration::from_millis(50);
        let place = limiter.admit(soon).await.unwrap();
        assert_eq!(limiter.admit(soon).await.err(), Some(LimiterError::Late));
        drop(place);
        assert!(
            limiter
                .admit(Instant::now() + Duration::from_millis(50))
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_rate_holds_requests_back() {
        // So slow that no second token arrives while the test runs.
        let limiter = Limiter::new(&settings(8, Some(0.01)));
        let soon = Instant::now() + Duration::from_millis(100);
        assert!(limiter.admit(soon).await.is_ok());
        assert!(matches!(
            limiter.admit(soon).await,
            Err(LimiterError::TooSoon(_))
        ));
        for nonsense in [0.0, -1.0, f64::NAN] {
            assert!(rate(nonsense).is_none());
        }
    }
}
