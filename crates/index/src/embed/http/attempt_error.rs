//! The failure of one attempt: whether it is retried, and the error after the last attempt.

use std::time::Duration;

use deliberate_http_client::RetryableError;

use crate::EmbedError;

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

impl RetryableError for EmbedAttemptError {
    fn is_retryable(&self) -> bool {
        matches!(self, Self::Retryable { .. })
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Retryable { wait, .. } => *wait,
            Self::Final(_) => None,
        }
    }
}

impl EmbedAttemptError {
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
