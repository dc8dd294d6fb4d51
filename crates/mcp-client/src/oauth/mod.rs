//! Logging in to servers with OAuth, as MCP has it: who may give tokens is found out from the
//! server, a client is registered if need be, a person agrees in a browser or a secret stands for
//! one, and tokens are renewed before they end. What the tokens are used for is not known here.
//!
//! The rooms: `session` gets tokens, `authority` is who gives them, `keep` is where they are kept,
//! `browser` how a person is asked, `fault` what went wrong in words without secrets.

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

/// How long it may take to get a token when nobody is asked.
const UNATTENDED_TIMEOUT: Duration = Duration::from_mins(1);

/// How long when someone has to agree.
const INTERACTIVE_TIMEOUT: Duration = Duration::from_mins(10);

/// How we log in.
#[derive(Clone)]
pub struct OAuthClientOptions {
    /// Our client id, its secret, and what to ask for, where these are known.
    pub auth: AuthConfig,
    /// Where a document about us is found, for servers that take its address as our client id.
    pub client_metadata: Option<Url>,
    /// Who is asked to agree. Without it only a secret or a token from before helps. A person
    /// takes longer than a connection may: let them log in ([`OAuthClient::login`]) before it is made.
    pub browser: Option<Arc<dyn Browser>>,
    /// Where tokens are kept.
    pub store: Arc<dyn TokenStore>,
}

impl Default for OAuthClientOptions {
    /// Nobody is asked, and tokens are kept in memory.
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

/// Gives the token for one server, and gets another when the server wants that. Cheap to clone;
/// clones share the token.
#[derive(Clone)]
pub struct OAuthClient(Arc<OAuthClientInner>);

struct OAuthClientInner {
    server: Url,
    options: OAuthClientOptions,
    current: RwLock<Option<AccessToken>>,
    /// How many tokens there were. Who was refused with an older one only tries again.
    generation: AtomicU64,
    /// One at a time gets a token; the others wait for it.
    session: Mutex<OAuthSession>,
}

impl OAuthClient {
    /// The way to log in to that server. Does nothing yet.
    pub fn new(server: Url, options: OAuthClientOptions) -> Self {
        Self(Arc::new(OAuthClientInner {
            server,
            options,
            current: RwLock::default(),
            generation: AtomicU64::new(0),
            session: Mutex::default(),
        }))
    }

    /// Logs in now, whatever token there is.
    pub async fn login(&self) -> Result<(), TransportError> {
        let inner = Arc::clone(&self.0);
        self.run_detached(async move {
            let mut session = inner.session.lock().await;
            let kept = session.log_in(&inner.server, &inner.options).await;
            kept.map(|token| inner.set_token(token))
        })
        .await
    }

    /// Forgets the token, here and where it is kept.
    pub async fn logout(&self) -> Result<(), TransportError> {
        let mut session = self.0.session.lock().await;
        *session = OAuthSession::default();
        self.0.set_token(None);
        let cleared = self.0.options.store.clear().await;
        cleared.map_err(|error| error::login_refused(error.to_string()))
    }

    /// Whether there is a token. It may have ended.
    pub async fn is_logged_in(&self) -> Result<bool, TransportError> {
        let mut session = self.0.session.lock().await;
        session.load(&self.0.server, &self.0.options).await?;
        Ok(session.token().is_some())
    }

    /// Does it in a task of its own: a token that was given must be kept, even if who wanted it
    /// has gone away meanwhile.
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
            Ok(Err(_)) => Err(error::login_refused("logging in took too long")),
            Err(_) => Err(error::login_refused("logging in failed")),
        }
    }
}

impl OAuthClientInner {
    /// The token, if it can still be used.
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
