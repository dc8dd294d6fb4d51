//! Trying again where that can help: after a fault that may pass, and after "slower" if the wait is
//! short. All within the time and the patience of the request.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep, timeout};

use super::{
    HttpClientError,
    rate_limit::{RatePermit, SourceRateLimiter},
    request::SourceRateLimit,
};

/// Why an attempt failed, and what is to be done about it.
#[derive(Debug)]
pub(super) enum FetchAttemptError {
    /// Nothing.
    Final(HttpClientError),
    /// It may pass.
    Retryable(HttpClientError),
    /// Asked too often.
    Throttled {
        /// Who says so.
        host: String,
        /// The wait it asks for, if it says.
        wait: Option<Duration>,
    },
}

/// How often one request is sent.
const MAX_ATTEMPTS: u32 = 3;
/// The pause after the first failure; it grows threefold.
const INITIAL_BACKOFF: Duration = Duration::from_millis(300);

/// A request as far as trying is concerned.
pub(super) struct FetchRetry<'a> {
    pub(super) rate_limiter: &'a SourceRateLimiter,
    pub(super) rate_limit: &'a SourceRateLimit,
    pub(super) host: String,
    pub(super) timeout: Duration,
}

impl FetchRetry<'_> {
    /// Tries until it succeeds, trying again is of no use, or the time is over.
    pub(super) async fn run<'f, T>(
        &self,
        attempt: impl Fn() -> BoxFuture<'f, Result<T, FetchAttemptError>> + Send + Sync,
    ) -> Result<T, HttpClientError> {
        let mut left = self.timeout;
        let mut patience = self.rate_limit.max_wait;
        for attempts in 1.. {
            let turn = self.acquire_permit(patience).await?;
            patience = patience.saturating_sub(turn.waited);
            let began = Instant::now();
            let outcome = timeout(left, attempt()).await;
            left = left.saturating_sub(began.elapsed());
            let error = match outcome {
                Err(_) => return Err(self.timeout_error()),
                Ok(Ok(done)) => {
                    self.rate_limiter
                        .record_success(self.rate_limit, &turn)
                        .await;
                    return Ok(done);
                }
                Ok(Err(FetchAttemptError::Final(error))) => return Err(error),
                Ok(Err(FetchAttemptError::Throttled { host, wait })) => {
                    let wait = self
                        .rate_limiter
                        .record_throttle(self.rate_limit, wait)
                        .await;
                    if attempts >= MAX_ATTEMPTS || wait > patience {
                        return Err(HttpClientError::RateLimited { host, wait });
                    }
                    continue;
                }
                Ok(Err(FetchAttemptError::Retryable(error))) => error,
            };
            drop(turn);
            let pause = INITIAL_BACKOFF * 3_u32.pow(attempts - 1);
            if attempts >= MAX_ATTEMPTS || pause >= left {
                return Err(error);
            }
            tracing::debug!(
                host = self.host,
                code = error.code(),
                "trying again after {pause:?}"
            );
            sleep(pause).await;
            left = left.saturating_sub(pause);
        }
        Err(self.timeout_error())
    }

    async fn acquire_permit(&self, patience: Duration) -> Result<RatePermit, HttpClientError> {
        let turn = self.rate_limiter.acquire(self.rate_limit, patience).await;
        turn.map_err(|wait| HttpClientError::RateLimited {
            host: self.host.clone(),
            wait,
        })
    }

    fn timeout_error(&self) -> HttpClientError {
        HttpClientError::Timeout {
            host: self.host.clone(),
            timeout: self.timeout,
        }
    }
}
