//! What can go wrong between us and a model.

use std::time::Duration;

/// Why there is no usable answer. Codes are stable; texts carry no secrets and no more than a
/// short excerpt of what the other side said.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider could not be reached, or kept failing, in all attempts.
    #[error("{provider} could not be reached after {attempts} attempt(s): {reason}")]
    Unavailable {
        /// Who.
        provider: String,
        /// What the last attempt met.
        reason: String,
        /// How many times it was tried.
        attempts: u32,
    },
    /// The provider answered with an error that trying again would not cure.
    #[error("{provider} answered {status}: {message}")]
    Api {
        /// Who.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// What it said, shortened.
        message: String,
    },
    /// The provider asks for patience, and the wait does not fit into the call.
    #[error("{provider} limits the rate{}", wait_text(*.retry_after))]
    RateLimited {
        /// Who.
        provider: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The time of the call ran out.
    #[error("{provider} did not answer within {} ms", .after.as_millis())]
    Timeout {
        /// Who.
        provider: String,
        /// How long was waited.
        after: Duration,
    },
    /// An answer came, but not one that can be used, even when asked once more.
    #[error("the answer of {provider} can't be used: {reason}")]
    InvalidResponse {
        /// Who.
        provider: String,
        /// What is wrong with it.
        reason: String,
        /// The answer, shortened, for the record of the call.
        answer: String,
    },
    /// The setting of the provider is wrong.
    #[error("{provider} is not set up rightly: {reason}")]
    Misconfigured {
        /// Who.
        provider: String,
        /// What is wrong.
        reason: String,
    },
    /// No reply is there yet: the client's model has to be asked, and the call waits.
    #[error("the client's model has to reply first")]
    Pending,
}

fn wait_text(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| {
        format!(" and asks to wait {} s", wait.as_secs().max(1))
    })
}

impl ModelError {
    /// The stable code, as the documents name it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { provider, .. } if provider == "langbase" => "LangbaseUnavailable",
            Self::Unavailable { .. } => "ProviderUnavailable",
            Self::Api { .. } => "ApiError",
            Self::RateLimited { .. } => "RateLimited",
            Self::Timeout { .. } => "Timeout",
            Self::InvalidResponse { .. } => "InvalidResponse",
            Self::Misconfigured { .. } => "Config",
            Self::Pending => "Pending",
        }
    }

    /// What a person or a model can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unavailable { .. } => {
                "Check that the provider is running and reachable (`deliberate doctor`), then call again.".to_owned()
            }
            Self::Api { status, .. } => match *status {
                401 | 403 => "Check the provider's API key (`deliberate config` shows where it comes from).".to_owned(),
                404 => "Check the model or pipe name and the base URL (`deliberate config`).".to_owned(),
                413 => "Send less text, or start a new session.".to_owned(),
                _ => "The provider refused the request; its message says why.".to_owned(),
            },
            Self::RateLimited { retry_after, .. } => retry_after.map_or_else(
                || "Call again in a minute.".to_owned(),
                |wait| format!("Call again in {} s.", wait.as_secs().max(1)),
            ),
            Self::Timeout { .. } => {
                "Call again, ask for less, or raise REQUEST_TIMEOUT_MS.".to_owned()
            }
            Self::InvalidResponse { .. } => {
                "Call again; if it keeps happening, choose a model that follows a JSON schema.".to_owned()
            }
            Self::Misconfigured { .. } => "Correct the setting and start again.".to_owned(),
            Self::Pending => return None,
        };
        Some(hint)
    }
}
