//! Tokens and what they were got with, and where that is kept between runs.

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

use super::fault::LoginError;

/// A token is no longer used when it ends sooner than this.
const MARGIN: Duration = Duration::from_secs(30);

/// No token is believed to last longer.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// Keeps what belongs to the login at one server, as one text that is nobody else's business.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept.
    fn load(&self) -> BoxFuture<'_, Result<Option<SecretString>, LoginError>>;

    /// Keeps this in its place.
    fn save(&self, text: SecretString) -> BoxFuture<'_, Result<(), LoginError>>;

    /// Forgets it.
    fn clear(&self) -> BoxFuture<'_, Result<(), LoginError>>;
}

/// Keeps it as long as the program runs.
#[derive(Debug, Default)]
pub struct MemoryTokens(Mutex<Option<SecretString>>);

impl MemoryTokens {
    fn put(&self, text: Option<SecretString>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl TokenStore for MemoryTokens {
    fn load(&self) -> BoxFuture<'_, Result<Option<SecretString>, LoginError>> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(std::future::ready(Ok(text.clone())))
    }

    fn save(&self, text: SecretString) -> BoxFuture<'_, Result<(), LoginError>> {
        self.put(Some(text));
        Box::pin(std::future::ready(Ok(())))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), LoginError>> {
        self.put(None);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A token and when it ends.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: SecretString,
    until: Option<Instant>,
}

impl Token {
    pub(super) fn is_fresh(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.text.expose_secret() == other.text.expose_secret()
    }
}

/// Who we are to those who give tokens.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KnownClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// Where people are sent back to.
    pub(super) redirect: Option<String>,
}

/// What is kept of a login.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// For which server. A token never goes to another.
    server: String,
    /// Who gave it.
    pub(super) issuer: Option<String>,
    pub(super) client: KnownClient,
    /// What was asked for.
    pub(super) asked: Vec<String>,
    pub(super) credentials: StoredCredentials,
}

/// The part of the credentials that is looked at.
#[derive(Deserialize)]
struct Answer {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
}

impl Kept {
    pub(super) fn new(
        server: &Url,
        issuer: Option<String>,
        client: KnownClient,
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

    /// What a text holds, if it was kept for that server.
    pub(super) fn read(text: &SecretString, server: &Url) -> Option<Self> {
        let kept: Self = serde_json::from_str(text.expose_secret()).ok()?;
        (kept.server == server.as_str()).then_some(kept)
    }

    pub(super) fn write(&self) -> Result<SecretString, LoginError> {
        let text = serde_json::to_string(self)
            .map_err(|_| LoginError::new("the token can't be written down"))?;
        Ok(SecretString::from(text))
    }

    fn answer(&self) -> Option<Answer> {
        let answer = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        serde_json::from_value(answer).ok()
    }

    pub(super) fn token(&self) -> Option<Token> {
        let answer = self.answer()?;
        let given = self.credentials.token_received_at;
        let until = answer.expires_in.zip(given).map(|(lasts, given)| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let age = now.unwrap_or_default().as_secs().saturating_sub(given);
            let left = Duration::from_secs(lasts.saturating_sub(age)).min(LONGEST);
            // One that lasts no longer than that is used all the same.
            let margin = MARGIN.min(Duration::from_secs(lasts / 2));
            Instant::now() + left.saturating_sub(margin)
        });
        Some(Token {
            text: SecretString::from(answer.access_token),
            until,
        })
    }

    pub(super) fn can_be_renewed(&self) -> bool {
        self.answer().is_some_and(|it| it.refresh_token.is_some())
    }

    /// What must not be shown.
    pub(super) fn secrets(&self) -> Vec<SecretString> {
        let answer = self.answer();
        let tokens = answer.map(|it| [Some(it.access_token), it.refresh_token]);
        (tokens.into_iter().flatten())
            .chain([self.client.secret.clone()])
            .flatten()
            .map(SecretString::from)
            .collect()
    }
}
