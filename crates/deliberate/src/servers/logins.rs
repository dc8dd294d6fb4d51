//! Logins at other servers: where they are kept, and clients that use them. Nobody is asked here.

use std::{path::PathBuf, sync::Arc};

use deliberate_adapter::{
    Client, Error, ServerConfig,
    client::Handler,
    config::{HttpConfig, Reach},
    oauth::{LoginError, OAuth, OAuthOptions},
    transport::{TransportError, http::Authorizer},
};
use futures::future::BoxFuture;
use secrecy::SecretString;

use super::tokens::FileTokens;
use crate::config::Environment;

/// Where logins are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logins {
    /// Without it none are kept.
    folder: Option<PathBuf>,
}

impl Logins {
    /// In this user's place for data.
    pub(crate) fn of(environment: &Environment) -> Self {
        let folder = environment.data_dir.as_ref();
        Self {
            folder: folder.map(|it| it.join("deliberate").join("logins")),
        }
    }

    /// The place for the login at one server.
    pub(crate) fn at(&self, name: &str) -> Result<FileTokens, LoginError> {
        let folder = self.folder.as_deref();
        let folder = folder.ok_or_else(|| {
            LoginError::new("this user has no data directory to keep logins in; set XDG_DATA_HOME")
        })?;
        FileTokens::new(folder, name)
    }

    /// A client that uses what is kept.
    pub(crate) fn client(
        &self,
        config: &ServerConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Client, Error> {
        let http = with_login(config);
        let Some((http, tokens)) = http.zip(self.at(&config.name).ok()) else {
            return Client::new(config.clone(), handler);
        };
        let store = Arc::new(tokens);
        let options = OAuthOptions {
            auth: http.auth.clone().unwrap_or_default(),
            store: store.clone(),
            ..OAuthOptions::default()
        };
        let auth = OAuth::new(http.url.clone(), options);
        let has_secret = http
            .auth
            .as_ref()
            .is_some_and(|it| it.client_secret.is_some());
        let auth: Arc<dyn Authorizer> = if has_secret {
            Arc::new(auth)
        } else {
            Arc::new(OnceKept { store, auth })
        };
        Client::with_authorizer(config.clone(), auth, handler)
    }
}

/// How a server is reached, if one can log in to it.
pub(crate) fn with_login(config: &ServerConfig) -> Option<&HttpConfig> {
    match &config.reach {
        Reach::Http(http) | Reach::Sse(http) => Some(http),
        Reach::Stdio(_) | Reach::WebSocket(_) => None,
    }
}

/// Uses a login while one is kept, be it from before or made in another shell just now. Without
/// one and without a secret there is no way to log in, and a refusal stands as it is.
struct OnceKept {
    store: Arc<FileTokens>,
    auth: OAuth,
}

impl Authorizer for OnceKept {
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, TransportError>> {
        Box::pin(async move {
            if self.store.is_there().await {
                return self.auth.token().await;
            }
            Ok(None)
        })
    }

    fn challenged<'a>(
        &'a self,
        status: u16,
        www_authenticate: Option<&'a str>,
        attempt: u32,
    ) -> BoxFuture<'a, Result<bool, TransportError>> {
        // Made first: it remembers which token was refused.
        let challenged = self.auth.challenged(status, www_authenticate, attempt);
        Box::pin(async move {
            if !self.store.is_there().await {
                return Ok(false);
            }
            challenged.await
        })
    }
}
