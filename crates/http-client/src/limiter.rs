//! Limiter of the requests to one service: a limit of concurrent requests, a limit of requests per
//! second, and a pause that lasts as long as the service asked for. A short pause is waited for. During a
//! long one requests fail at once with the time left, except for a trial now and then: if it
//! succeeds, the pause is over.

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

/// Uses the system clock: the crate's default clock measures the processor for a fraction of a
/// second before it starts.
type GovernorLimiter = RateLimiter<
    NotKeyed,
    InMemoryState,
    MonotonicClock,
    NoOpMiddleware<<MonotonicClock as Clock>::Instant>,
>;

/// The time between two trials during a long pause.
const TRIAL_INTERVAL: Duration = Duration::from_secs(30);

/// Limits the requests to one service.
#[derive(Debug)]
pub struct RequestLimiter {
    permits: Arc<Semaphore>,
    rate: Option<GovernorLimiter>,
    pause: Mutex<Option<Pause>>,
}

/// A pause that the service asked for.
#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    /// When the next request is let through as a trial.
    next_trial: Instant,
    is_on_trial: bool,
}

/// Why a request cannot be sent in time.
#[derive(Debug, PartialEq, Eq)]
pub enum LimiterError {
    /// The rate limit asks for a longer wait than the deadline allows.
    TooSoon(Duration),
    /// All slots were taken until the deadline.
    Late,
}

impl RequestLimiter {
    /// The longest pause that a request waits for.
    pub const MAX_WAIT: Duration = Duration::from_secs(20);

    pub fn new(concurrency: usize, requests_per_second: Option<f64>) -> Self {
        let permits = concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            rate: requests_per_second.and_then(rate),
            pause: Mutex::default(),
        }
    }

    /// Waits for a slot. Dropping the permit frees it.
    pub async fn admit(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, LimiterError> {
        loop {
            let is_trial = match self.pause_end() {
                Some(moment) if moment - Instant::now() <= Self::MAX_WAIT => {
                    wait_until(moment, deadline).await?;
                    false
                }
                Some(moment) if !self.begin_trial() => {
                    return Err(LimiterError::TooSoon(moment - Instant::now()));
                }
                Some(_) => true,
                None => false,
            };
            let place = timeout_at(deadline, Arc::clone(&self.permits).acquire_owned())
                .await
                .map_err(|_| LimiterError::Late)?
                .map_err(|_| LimiterError::Late)?;
            // Another response may have asked for a pause while this request was queued.
            if !is_trial && self.pause_end().is_some() {
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
    pub fn pause(&self, wait: Duration) {
        let now = Instant::now();
        let mut pause = self.lock();
        let known = pause.filter(|known| known.until > now);
        *pause = Some(Pause {
            until: known.map_or(now + wait, |known| known.until.max(now + wait)),
            next_trial: known.map_or(now + TRIAL_INTERVAL, |known| known.next_trial),
            is_on_trial: false,
        });
    }

    /// Ends the pause if the request that succeeded was a trial.
    pub fn end_trial(&self) {
        let mut pause = self.lock();
        if pause.is_some_and(|pause| pause.is_on_trial) {
            *pause = None;
        }
    }

    /// Returns the time left if the pause is so long that requests fail at once.
    pub fn long_pause(&self) -> Option<Duration> {
        let left = self.pause_end()?.saturating_duration_since(Instant::now());
        (left > Self::MAX_WAIT).then_some(left)
    }

    /// Returns the end of the pause if it is in the future.
    fn pause_end(&self) -> Option<Instant> {
        let until = self.lock().map(|pause| pause.until);
        until.filter(|until| *until > Instant::now())
    }

    /// Tells whether this request is the next trial.
    fn begin_trial(&self) -> bool {
        let now = Instant::now();
        match self.lock().as_mut() {
            Some(pause) if now >= pause.next_trial => {
                pause.next_trial = now + TRIAL_INTERVAL;
                pause.is_on_trial = true;
                true
            }
            _ => false,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Pause>> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_waited_for_if_it_fits() {
        let limiter = RequestLimiter::new(1, None);
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
    async fn a_long_pause_fails_at_once_and_a_trial_can_end_it() {
        let limiter = RequestLimiter::new(8, None);
        let far = Instant::now() + Duration::from_hours(1);
        limiter.pause(Duration::from_mins(10));
        assert!(limiter.long_pause().is_some());
        let denied = limiter.admit(far).await;
        assert!(matches!(denied, Err(LimiterError::TooSoon(wait)) if wait.as_secs() >= 599));
        tokio::time::advance(TRIAL_INTERVAL).await;
        assert!(limiter.admit(far).await.is_ok(), "a trial");
        assert!(limiter.admit(far).await.is_err(), "one trial at a time");
        // The service still limits: the pause goes on until the next trial.
        limiter.pause(Duration::from_mins(10));
        limiter.end_trial();
        assert!(limiter.admit(far).await.is_err());
        tokio::time::advance(TRIAL_INTERVAL).await;
        assert!(limiter.admit(far).await.is_ok());
        limiter.end_trial();
        assert!(limiter.admit(far).await.is_ok(), "the pause is over");
        assert!(limiter.long_pause().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_few_and_come_back() {
        let limiter = RequestLimiter::new(1, None);
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
        let limiter = RequestLimiter::new(8, Some(0.01));
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
