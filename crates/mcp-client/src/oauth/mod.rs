//! OAuth login to MCP servers: discovers the authorization server, registers a client if necessary,
//! gets a token with the user's consent or a client secret, and refreshes it before it expires. The
//! module does not know what the tokens are used for.
//!
//! `session` holds the login at one server, `authorization_server` grants tokens, `token_store`
//! persists them, `browser_login` asks the user, `error` words failures without secrets.

mod authorization_server;
mod browser_login;
mod error;
mod session;
mod token_store;

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::Mutex;
use url::Url;

use crate::{
    config::AuthConfig,
    transport::{TransportError, http::Authorizer},
};

pub use browser_login::{Browser, LoopbackRedirect, UrlOpener};
pub use error::LoginError;
pub use token_store::{MemoryTokenStore, TokenStore};

use session::{OAuthChallenge, OAuthSession};
use token_store::AccessToken;

/// The time limit for a token that needs no user.
const UNATTENDED_TIMEOUT: Duration = Duration::from_mins(1);

/// The time limit when the user has to consent.
const INTERACTIVE_TIMEOUT: Duration = Duration::from_mins(10);

/// Options of a login.
#[derive(Clone)]
pub struct OAuthClientOptions {
    /// The client id, its secret and the scopes, where they are configured.
    pub auth: AuthConfig,
    /// The URL of our client metadata document, for servers that accept it as client id.
    pub client_metadata: Option<Url>,
    /// Asks the user to consent. Without it, only a client secret or a stored token works. A user
    /// needs more time than a connection allows, so call [`OAuthClient::login`] before connecting.
    pub browser: Option<Arc<dyn Browser>>,
    /// The store for tokens.
    pub store: Arc<dyn TokenStore>,
}

impl Default for OAuthClientOptions {
    /// Asks no user and keeps tokens in memory.
    fn default() -> Self {
        Self {
            auth: AuthConfig::default(),
            client_metadata: None,
            browser: None,
            store: Arc::new(MemoryTokenStore::default()),
        }
    }
}

impl fmt::Debug for OAuthClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClientOptions")
            .field("auth", &self.auth)
            .field("client_metadata", &self.client_metadata)
            .field("asks", &self.browser.is_some())
            .finish_non_exhaustive()
    }
}

/// Provides the token for one server, and replaces it when the server rejects it. It is cheap to
/// clone; clones share the token.
#[derive(Clone)]
pub struct OAuthClient(Arc<OAuthClientInner>);

struct OAuthClientInner {
    server: Url,
    options: OAuthClientOptions,
    current: RwLock<Option<AccessToken>>,
    /// The number of tokens so far. A request that was rejected with an older token is only
    /// retried.
    generation: AtomicU64,
    /// One caller at a time gets a token; the others wait for it.
    session: Mutex<OAuthSession>,
}

impl OAuthClient {
    /// Creates the login for a server. Sends nothing yet.
    pub fn new(server: Url, options: OAuthClientOptions) -> Self {
        Self(Arc::new(OAuthClientInner {
            server,
            options,
            current: RwLock::default(),
            generation: AtomicU64::new(0),
            session: Mutex::default(),
        }))
    }

    /// Logs in now, even if there is a token.
    pub async fn login(&self) -> Result<(), TransportError> {
        let inner = Arc::clone(&self.0);
        self.run_detached(async move {
            let mut session = inner.session.lock().await;
            let access_token = session.log_in(&inner.server, &inner.options).await;
            access_token.map(|token| inner.set_token(token))
        })
        .await
    }

    /// Removes the token, here and from the store.
    pub async fn logout(&self) -> Result<(), TransportError> {
        let mut session = self.0.session.lock().await;
        *session = OAuthSession::default();
        self.0.set_token(None);
        let cleared = self.0.options.store.clear().await;
        cleared.map_err(|error| error::login_rejected_error(error.to_string()))
    }

    /// Returns true if there is a token. It may have expired.
    pub async fn is_logged_in(&self) -> Result<bool, TransportError> {
        let mut session = self.0.session.lock().await;
        session.load(&self.0.server, &self.0.options).await?;
        Ok(session.token().is_some())
    }

    /// Runs the future in its own task: a token that was issued must be stored, even if the caller
    /// has stopped waiting.
    async fn run_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TransportError>> + Send + 'static,
    ) -> Result<T, TransportError> {
        let limit = match self.0.options.browser {
            Some(_) => INTERACTIVE_TIMEOUT,
            None => UNATTENDED_TIMEOUT,
        };
        let task = tokio::spawn(tokio::time::timeout(limit, work));
        match task.await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(error::login_rejected_error("the login took too long")),
            Err(_) => Err(error::login_rejected_error("the login failed")),
        }
    }
}

impl OAuthClientInner {
    /// Returns the token if it has not expired.
    fn valid_token(&self) -> Option<SecretString> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let token = current.as_ref().filter(|token| token.is_valid());
        token.map(|token| token.text.clone())
    }

    fn set_token(&self, token: Option<AccessToken>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = token;
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    async fn token(&self) -> Result<Option<SecretString>, TransportError> {
        let mut session = self.session.lock().await;
        if let Some(token) = self.valid_token() {
            return Ok(Some(token));
        }
        session.load(&self.server, &self.options).await?;
        let Some(token) = session.token() else {
            return Ok(None);
        };
        if token.is_valid() {
            self.set_token(Some(token));
            return Ok(self.valid_token());
        }
        let renewed = session.refresh(&self.server, &self.options).await?;
        let text = renewed.as_ref().map(|token| token.text.clone());
        self.set_token(renewed);
        Ok(text)
    }

    async fn handle_challenge(
        &self,
        challenge: OAuthChallenge,
        seen: u64,
    ) -> Result<bool, TransportError> {
        let mut session = self.session.lock().await;
        if self.generation.load(Ordering::Acquire) != seen {
            return Ok(true);
        }
        let answer = session.answer_challenge(&self.server, &self.options, &challenge);
        let Some(token) = answer.await? else {
            return Ok(false);
        };
        self.set_token(Some(token));
        Ok(true)
    }
}

impl Authorizer for OAuthClient {
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, TransportError>> {
        Box::pin(async move {
            if let Some(token) = self.0.valid_token() {
                return Ok(Some(token));
            }
            let inner = Arc::clone(&self.0);
            self.run_detached(async move { inner.token().await }).await
        })
    }

    fn handle_challenge<'a>(
        &'a self,
        status: u16,
        www_authenticate: Option<&'a str>,
        attempt: u32,
    ) -> BoxFuture<'a, Result<bool, TransportError>> {
        let challenge = OAuthChallenge {
            status,
            www_authenticate: www_authenticate.map(str::to_owned),
            attempt,
        };
        let seen = self.0.generation.load(Ordering::Acquire);
        let inner = Arc::clone(&self.0);
        Box::pin(self.run_detached(async move { inner.handle_challenge(challenge, seen).await }))
    }
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("server", &self.0.server.origin().ascii_serialization())
            .finish_non_exhaustive()
    }
}
