//! Tokens, the client they were issued to, and the store that keeps them between runs.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::future::BoxFuture;
use rmcp::transport::auth::StoredCredentials;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use url::Url;

use super::error::LoginError;

/// A token that expires sooner than this is no longer used.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// The longest lifetime of a token that is believed.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 365);

/// Stores the login at one server as one opaque, secret text.
pub trait TokenStore: Send + Sync + 'static {
    /// Loads the stored text.
    fn load(&self) -> BoxFuture<'_, Result<Option<SecretString>, LoginError>>;

    /// Stores the text in place of the previous one.
    fn save(&self, text: SecretString) -> BoxFuture<'_, Result<(), LoginError>>;

    /// Removes the stored text.
    fn clear(&self) -> BoxFuture<'_, Result<(), LoginError>>;
}

/// A store that lasts as long as the process.
#[derive(Debug, Default)]
pub struct MemoryTokenStore(Mutex<Option<SecretString>>);

impl MemoryTokenStore {
    fn set(&self, text: Option<SecretString>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl TokenStore for MemoryTokenStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<SecretString>, LoginError>> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(std::future::ready(Ok(text.clone())))
    }

    fn save(&self, text: SecretString) -> BoxFuture<'_, Result<(), LoginError>> {
        self.set(Some(text));
        Box::pin(std::future::ready(Ok(())))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), LoginError>> {
        self.set(None);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Clone)]
pub(super) struct AccessToken {
    pub(super) text: SecretString,
    expires_at: Option<Instant>,
}

impl AccessToken {
    pub(super) fn is_valid(&self) -> bool {
        self.expires_at.is_none_or(|until| Instant::now() < until)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.text.expose_secret() == other.text.expose_secret()
    }
}

/// Our client at the authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// The redirect URL of the client.
    pub(super) redirect: Option<String>,
}

/// The stored login.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    /// The server that the token is for. A token is never sent to another.
    server: String,
    /// The authorization server that issued the token.
    pub(super) issuer: Option<String>,
    pub(super) client: RegisteredClient,
    /// The requested scopes.
    pub(super) asked: Vec<String>,
    pub(super) credentials: StoredCredentials,
}

/// The fields of the credentials that are read.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
}

impl StoredLogin {
    pub(super) fn new(
        server: &Url,
        issuer: Option<String>,
        client: RegisteredClient,
        asked: Vec<String>,
        credentials: StoredCredentials,
    ) -> Self {
        Self {
            server: server.to_string(),
            issuer,
            client,
            asked,
            credentials,
        }
    }

    /// Parses a stored login; returns none if it is for another server.
    pub(super) fn read(text: &SecretString, server: &Url) -> Option<Self> {
        let kept: Self = serde_json::from_str(text.expose_secret()).ok()?;
        (kept.server == server.as_str()).then_some(kept)
    }

    pub(super) fn write(&self) -> Result<SecretString, LoginError> {
        let text = serde_json::to_string(self)
            .map_err(|_| LoginError::new("the token cannot be serialized"))?;
        Ok(SecretString::from(text))
    }

    fn token_response(&self) -> Option<TokenResponse> {
        let answer = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        serde_json::from_value(answer).ok()
    }

    pub(super) fn token(&self) -> Option<AccessToken> {
        let answer = self.token_response()?;
        let given = self.credentials.token_received_at;
        let until = answer.expires_in.zip(given).map(|(lasts, given)| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let age = now.unwrap_or_default().as_secs().saturating_sub(given);
            let left = Duration::from_secs(lasts.saturating_sub(age)).min(MAX_LIFETIME);
            // A token with a shorter lifetime than the margin is used for half of it.
            let margin = EXPIRY_MARGIN.min(Duration::from_secs(lasts / 2));
            Instant::now() + left.saturating_sub(margin)
        });
        Some(AccessToken {
            text: SecretString::from(answer.access_token),
            expires_at: until,
        })
    }

    pub(super) fn has_refresh_token(&self) -> bool {
        self.token_response()
            .is_some_and(|it| it.refresh_token.is_some())
    }

    /// Returns the texts that must not be shown.
    pub(super) fn secrets(&self) -> Vec<SecretString> {
        let answer = self.token_response();
        let tokens = answer.map(|it| [Some(it.access_token), it.refresh_token]);
        (tokens.into_iter().flatten())
            .chain([self.client.secret.clone()])
            .flatten()
            .map(SecretString::from)
            .collect()
    }
}
