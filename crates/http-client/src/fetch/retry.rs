//! The retry loop: retries transient failures, and throttled requests if the wait is short, within
//! the timeout and the longest wait of the request.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep, timeout};

use super::{
    HttpClientError,
    rate_limit::{RatePermit, SourceRateLimiter},
    request::SourceRateLimit,
};

/// A failed attempt, classified by how to proceed.
#[derive(Debug)]
pub(super) enum FetchAttemptError {
    /// A retry is useless.
    Final(HttpClientError),
    /// The failure may be transient.
    Retryable(HttpClientError),
    /// The server throttled the request.
    Throttled {
        host: String,
        /// The wait that the server requests, if it does.
        wait: Option<Duration>,
    },
}

const MAX_ATTEMPTS: u32 = 3;
/// The pause after the first failure; it triples each time.
const INITIAL_BACKOFF: Duration = Duration::from_millis(300);

/// The context of the retries of one request.
pub(super) struct FetchRetry<'a> {
    pub(super) rate_limiter: &'a SourceRateLimiter,
    pub(super) rate_limit: &'a SourceRateLimit,
    pub(super) host: String,
    pub(super) timeout: Duration,
}

impl FetchRetry<'_> {
    /// Retries until an attempt succeeds, a retry is useless, or the time is up.
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
                "retrying after {pause:?}"
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
