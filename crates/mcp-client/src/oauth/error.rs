//! What went wrong while logging in, in words that hold no secret.

use rmcp::transport::auth::AuthError;
use secrecy::SecretString;

use crate::transport::{TransportError, http::error::redact};

/// What a browser could not do, or a place for tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LoginError {
    /// Why, in words, without secrets.
    pub reason: String,
}

impl LoginError {
    /// For that reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// The server can't be used as things stand.
pub(super) fn login_refused(reason: impl Into<String>) -> TransportError {
    TransportError::Unauthorized {
        reason: reason.into(),
    }
}

/// Nobody can be asked.
pub(super) fn no_login_possible() -> TransportError {
    login_refused(
        "it wants us to log in; log in to this server first, or put a key into its `headers`",
    )
}

/// What went wrong, for the transport. What others wrote is shortened, and keys are left out.
pub(super) fn from_auth_error(error: &AuthError, secrets: &[SecretString]) -> TransportError {
    let words = redact(&error.to_string(), secrets).unwrap_or_default();
    match error {
        // The token may be fine; it can be tried again.
        AuthError::TokenRefreshFailed(_) => TransportError::Unreachable { reason: words },
        _ => login_refused(format!("logging in failed: {words}")),
    }
}
