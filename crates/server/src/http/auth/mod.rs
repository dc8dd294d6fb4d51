//! Who may come in over HTTP: anyone, holders of a token, or whom an OAuth issuer vouches for.
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
mod tokens;
mod tokens_file;

use axum::http::{HeaderMap, Uri};
use deliberate_toolkit::Principal;

pub use new_token::{NewToken, RandomnessError};
pub use oauth::{OAuthError, ResourceServer, ResourceServerOptions};
pub use startup_check::{StartError, check_start};
pub use tokens::Tokens;
pub use tokens_file::{TokenProblem, TokensError};

use super::guard::HttpRejection;
use bearer::BearerChallenge;

/// Who may come in.
#[derive(Debug, Default)]
pub struct Access {
    tokens: Option<Tokens>,
    resource_server: Option<ResourceServer>,
}

impl Access {
    /// Anyone who reaches us; for this machine only ([`check_start`]).
    pub fn open() -> Self {
        Self::default()
    }

    /// Those who hold one of these tokens, too.
    pub fn with_tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Those whom an OAuth issuer vouches for, too.
    pub fn with_oauth(mut self, server: ResourceServer) -> Self {
        self.resource_server = Some(server);
        self
    }

    /// Whether anyone may come in.
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.resource_server.is_none()
    }

    pub(super) fn resource_server(&self) -> Option<&ResourceServer> {
        self.resource_server.as_ref()
    }

    /// Finds out who sends this request.
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
        if let Some(principal) = self.tokens.as_ref().and_then(|tokens| tokens.owner(token)) {
            return Ok(principal);
        }
        match &self.resource_server {
            Some(server) => server.admit(token, &challenge).await,
            None => Err(challenge.invalid_token()),
        }
    }
}
