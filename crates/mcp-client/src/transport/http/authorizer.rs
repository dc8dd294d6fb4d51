//! The source of bearer tokens. The transport does not know how a login works.

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::transport::TransportError;

/// Provides the token for each request.
pub trait Authorizer: Send + Sync {
    /// Returns the current token; none if there is none yet.
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, TransportError>>;

    /// Handles the answer 401 or 403 to attempt number `attempt` (from 1). Returns true if the
    /// request should be retried with another token.
    fn handle_challenge<'a>(
        &'a self,
        status: u16,
        www_authenticate: Option<&'a str>,
        attempt: u32,
    ) -> BoxFuture<'a, Result<bool, TransportError>>;
}
