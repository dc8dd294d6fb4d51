//! Trying again where that can help: after a fault that may pass, and after "slower" if the wait is
//! short. All within the time and the patience of the request.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep, timeout};

use super::{
    WebError,
    pace::{Pacer, Turn},
    request::Pace,
};

/// Why an attempt failed, and what is to be done about it.
#[derive(Debug)]
pub(super) enum Setback {
    /// Nothing.
    Final(WebError),
    /// It may pass.
    Again(WebError),
    /// Asked too often.
    Throttled {
        /// Who says so.
        host: String,
        /// The wait it asks for, if it says.
        wait: Option<Duration>,
    },
}

/// How often one request is sent.
const MOST_ATTEMPTS: u32 = 3;
/// The pause after the first failure; it grows threefold.
const FIRST_PAUSE: Duration = Duration::from_millis(300);

/// A request as far as trying is concerned.
pub(super) struct Persistence<'a> {
    pub(super) pacer: &'a Pacer,
    pub(super) pace: &'a Pace,
    pub(super) host: String,
    pub(super) time: Duration,
}

impl Persistence<'_> {
    /// Tries until it succeeds, trying again is of no use, or the time is over.
    pub(super) async fn run<'f, T>(
        &self,
        attempt: impl Fn() -> BoxFuture<'f, Result<T, Setback>> + Send + Sync,
    ) -> Result<T, WebError> {
        let mut left = self.time;
        let mut patience = self.pace.patience;
        for attempts in 1.. {
            let turn = self.turn(patience).await?;
            patience = patience.saturating_sub(turn.waited);
            let began = Instant::now();
            let outcome = timeout(left, attempt()).await;
            left = left.saturating_sub(began.elapsed());
            let error = match outcome {
                Err(_) => return Err(self.took_too_long()),
                Ok(Ok(done)) => {
                    self.pacer.went_well(self.pace, &turn).await;
                    return Ok(done);
                }
                Ok(Err(Setback::Final(error))) => return Err(error),
                Ok(Err(Setback::Throttled { host, wait })) => {
                    let wait = self.pacer.throttled(self.pace, wait).await;
                    if attempts >= MOST_ATTEMPTS || wait > patience {
                        return Err(WebError::RateLimited { host, wait });
                    }
                    continue;
                }
                Ok(Err(Setback::Again(error))) => error,
            };
            drop(turn);
            let pause = FIRST_PAUSE * 3_u32.pow(attempts - 1);
            if attempts >= MOST_ATTEMPTS || pause >= left {
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
        Err(self.took_too_long())
    }

    async fn turn(&self, patience: Duration) -> Result<Turn, WebError> {
        let turn = self.pacer.turn(self.pace, patience).await;
        turn.map_err(|wait| WebError::RateLimited {
            host: self.host.clone(),
            wait,
        })
    }

    fn took_too_long(&self) -> WebError {
        WebError::TookTooLong {
            host: self.host.clone(),
            after: self.time,
        }
    }
}
