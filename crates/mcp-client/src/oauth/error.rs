//! Login errors, with messages that contain no secrets.

use rmcp::transport::auth::AuthError;
use secrecy::SecretString;

use crate::transport::{TransportError, http::error::redact};

/// The error of a browser or a token store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LoginError {
    /// The reason, without secrets.
    pub reason: String,
}

impl LoginError {
    /// Creates an error with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// Creates the error of a login that cannot succeed as things stand.
pub(super) fn login_rejected_error(reason: impl Into<String>) -> TransportError {
    TransportError::Unauthorized {
        reason: reason.into(),
        forbidden: false,
    }
}

/// Creates the error of a login that would need a user, when there is none to ask.
pub(super) fn login_impossible_error() -> TransportError {
    login_rejected_error(
        "the server requires a login; log in to it first, or put a key into its `headers`",
    )
}

/// Converts an error for the transport. Texts from others are shortened, and keys are removed.
pub(super) fn from_auth_error(error: &AuthError, secrets: &[SecretString]) -> TransportError {
    let words = redact(&error.to_string(), secrets).unwrap_or_default();
    match error {
        // The token may be valid, so a retry can succeed.
        AuthError::TokenRefreshFailed(_) => TransportError::Unreachable { reason: words },
        _ => login_rejected_error(format!("the login failed: {words}")),
    }
}
