//! Where a bearer token comes from, and who is told when a server wants another. How one logs in
//! is not known here.

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::transport::TransportError;

/// Gives the token that goes with each request.
pub trait Authorizer: Send + Sync {
    /// The token to use now; none if there is none yet.
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, TransportError>>;

    /// The server answered 401 or 403 to try number `attempt` (from 1). Says whether to try
    /// again, with another token.
    fn handle_challenge<'a>(
        &'a self,
        status: u16,
        www_authenticate: Option<&'a str>,
        attempt: u32,
    ) -> BoxFuture<'a, Result<bool, TransportError>>;
}
