//! Errors of model requests.

use std::time::Duration;

/// A model request that brought no usable answer. Codes are stable. The texts contain no secrets
/// and at most a short excerpt of the provider's response.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// All attempts failed: the provider could not be reached or returned server errors.
    #[error("{provider} could not be reached after {attempts} attempt(s): {reason}")]
    Unavailable {
        /// Name of the provider.
        provider: String,
        /// Cause of the last failed attempt.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The provider returned an error that a retry would not fix.
    #[error("{provider} answered {status}: {message}")]
    Api {
        /// Name of the provider.
        provider: String,
        /// HTTP status of the response.
        status: u16,
        /// The provider's error message, shortened.
        message: String,
    },
    /// The provider limits the rate, and the wait does not fit into the call.
    #[error("{provider} limits the request rate{}", wait_text(*.retry_after))]
    RateLimited {
        /// Name of the provider.
        provider: String,
        /// Wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The call's time limit was reached.
    #[error("{provider} did not answer within {} ms", .after.as_millis())]
    Timeout {
        /// Name of the provider.
        provider: String,
        /// Time waited.
        after: Duration,
    },
    /// The provider answered, but the answer is unusable even after a second request.
    #[error("the answer of {provider} cannot be used: {reason}")]
    InvalidResponse {
        /// Name of the provider.
        provider: String,
        /// Why the answer cannot be used.
        reason: String,
        /// The answer, shortened, for the invocation log.
        answer: String,
    },
    /// The provider's settings are wrong.
    #[error("{provider} is misconfigured: {reason}")]
    Misconfigured {
        /// Name of the provider.
        provider: String,
        /// What is wrong with the settings.
        reason: String,
    },
    /// The client answered a sampling request with an error, for example because its user rejected
    /// it.
    #[error("the client declined to sample: {reason}")]
    Declined {
        /// The client's reason, shortened.
        reason: String,
    },
    /// The request was not sent, because it would exceed the budget of the call.
    #[error("{reason}")]
    BudgetExhausted {
        /// The bound that is reached, as a sentence without the final period.
        reason: String,
    },
    /// The client's model has not replied yet, so the call is suspended.
    #[error("the client's model has to reply first")]
    Pending,
}

fn wait_text(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| {
        format!(" and asks for a wait of {} s", wait.as_secs().max(1))
    })
}

impl ModelError {
    /// Returns the stable, documented error code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { provider, .. } if provider == "langbase" => "LangbaseUnavailable",
            Self::Unavailable { .. } | Self::Declined { .. } => "ProviderUnavailable",
            Self::Api { .. } => "ApiError",
            Self::RateLimited { .. } => "RateLimited",
            Self::Timeout { .. } => "Timeout",
            Self::InvalidResponse { .. } => "InvalidResponse",
            Self::Misconfigured { .. } => "Config",
            Self::BudgetExhausted { .. } => "LimitReached",
            Self::Pending => "Pending",
        }
    }

    /// Returns the next step for a person or a model.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unavailable { .. } => {
                "Check that the provider is running and reachable (`deliberate doctor`), then retry.".to_owned()
            }
            Self::Api { status, .. } => match *status {
                401 | 403 => "Check the provider's API key (`deliberate config` shows where it comes from).".to_owned(),
                404 => "Check the model or pipe name and the base URL (`deliberate config`).".to_owned(),
                413 => "Send less text, or start a new session.".to_owned(),
                _ => "The provider rejected the request; its message gives the reason.".to_owned(),
            },
            Self::RateLimited { retry_after, .. } => retry_after.map_or_else(
                || "Retry in a minute.".to_owned(),
                |wait| format!("Retry in {} s.", wait.as_secs().max(1)),
            ),
            Self::Timeout { .. } => {
                "Retry, ask for less, or raise REQUEST_TIMEOUT_MS.".to_owned()
            }
            Self::InvalidResponse { .. } => {
                "Retry; if it happens again, choose a model that follows a JSON schema.".to_owned()
            }
            Self::Misconfigured { .. } => "Correct the setting and restart the program.".to_owned(),
            Self::Declined { .. } => {
                "Allow sampling in the client, or set up a provider (`deliberate config`).".to_owned()
            }
            Self::BudgetExhausted { .. } => {
                "Ask for less at once, or allow the call more.".to_owned()
            }
            Self::Pending => return None,
        };
        Some(hint)
    }
}
