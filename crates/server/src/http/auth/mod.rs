//! Authentication over HTTP: open access, operator tokens, or tokens of an OAuth issuer.
//!
//! It turns the headers of a request into a [`Principal`]; it knows nothing of routes.

mod bearer;
mod claims;
mod fetch;
mod jwks;
pub(super) mod metadata;
mod new_token;
mod oauth;
mod startup_check;
mod token_crypto;
mod tokens;
mod tokens_file;

use axum::http::{HeaderMap, Uri};
use deliberate_toolkit::Principal;

pub use new_token::{NewToken, RandomnessError};
pub use oauth::{OAuthError, ResourceServer, ResourceServerOptions};
pub use startup_check::{StartError, check_start};
pub use tokens::{SharedTokens, Tokens};
pub use tokens_file::{TokenProblem, TokensError, is_private};

use super::guard::HttpRejection;
use bearer::BearerChallenge;

/// The accepted kinds of authentication.
#[derive(Debug, Default)]
pub struct Access {
    tokens: Option<SharedTokens>,
    resource_server: Option<ResourceServer>,
}

impl Access {
    /// Accepts every request; only for servers that listen on this machine ([`check_start`]).
    pub fn open() -> Self {
        Self::default()
    }

    /// Also accepts these tokens, or those that replace them.
    pub fn with_tokens(mut self, tokens: impl Into<SharedTokens>) -> Self {
        self.tokens = Some(tokens.into());
        self
    }

    /// Also accepts tokens of an OAuth issuer.
    pub fn with_oauth(mut self, server: ResourceServer) -> Self {
        self.resource_server = Some(server);
        self
    }

    /// Tells whether requests need no token.
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.resource_server.is_none()
    }

    pub(super) fn resource_server(&self) -> Option<&ResourceServer> {
        self.resource_server.as_ref()
    }

    /// Authenticates a request.
    pub(super) async fn admit(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Principal, HttpRejection> {
        if self.is_open() {
            return Ok(Principal::default());
        }
        let challenge = BearerChallenge::new(self.resource_server());
        let token = bearer::bearer_token(uri, headers, &challenge)?;
        let tokens = self.tokens.as_ref().map(SharedTokens::current);
        if let Some(principal) = tokens.and_then(|tokens| tokens.owner(token)) {
            return Ok(principal);
        }
        match &self.resource_server {
            Some(server) => server.admit(token, &challenge).await,
            None => Err(challenge.invalid_token()),
        }
    }
}
