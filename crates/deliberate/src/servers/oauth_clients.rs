//! Logins at upstream servers: where they are stored, and clients that use them. This file never
//! asks the user.

use std::{path::PathBuf, sync::Arc};

use deliberate_mcp_client::{
    ClientError, McpClient, ServerConfig,
    client::ClientHandler,
    config::{HttpConfig, TransportConfig},
    oauth::{LoginError, OAuthClient, OAuthClientOptions},
    transport::{TransportError, http::Authorizer},
};
use futures::future::BoxFuture;
use secrecy::SecretString;

use super::token_file::LoginTokenFile;
use crate::config::Environment;

/// Store of logins.
#[derive(Debug, Clone, Default)]
pub(crate) struct OAuthLogins {
    /// `None` if logins cannot be stored.
    folder: Option<PathBuf>,
}

impl OAuthLogins {
    /// Uses this user's data directory.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let folder = environment.data_dir.as_ref();
        Self {
            folder: folder.map(|it| it.join("deliberate").join("logins")),
        }
    }

    /// Returns the token file of one server.
    pub(crate) fn token_file(&self, name: &str) -> Result<LoginTokenFile, LoginError> {
        let folder = self.folder.as_deref();
        let folder = folder.ok_or_else(|| {
            LoginError::new("this user has no data directory for logins; set XDG_DATA_HOME")
        })?;
        LoginTokenFile::new(folder, name)
    }

    /// Builds a client that uses the stored login.
    pub(crate) fn build_client(
        &self,
        config: &ServerConfig,
        handler: Arc<dyn ClientHandler>,
    ) -> Result<McpClient, ClientError> {
        let http = oauth_http_config(config);
        let Some((http, tokens)) = http.zip(self.token_file(&config.name).ok()) else {
            return McpClient::new(config.clone(), handler);
        };
        let store = Arc::new(tokens);
        let options = OAuthClientOptions {
            auth: http.auth.clone().unwrap_or_default(),
            store: store.clone(),
            ..OAuthClientOptions::default()
        };
        let auth = OAuthClient::new(http.url.clone(), options);
        let has_secret = http
            .auth
            .as_ref()
            .is_some_and(|it| it.client_secret.is_some());
        let auth: Arc<dyn Authorizer> = if has_secret {
            Arc::new(auth)
        } else {
            Arc::new(StoredLoginAuthorizer { store, auth })
        };
        McpClient::with_authorizer(config.clone(), auth, handler)
    }
}

/// Returns how a server is connected, if it supports a login.
pub(crate) fn oauth_http_config(config: &ServerConfig) -> Option<&HttpConfig> {
    match &config.transport {
        TransportConfig::Http(http) | TransportConfig::Sse(http) => Some(http),
        TransportConfig::Stdio(_) | TransportConfig::WebSocket(_) => None,
    }
}

/// Uses a stored login, made earlier or just now in another shell. Without a login and without a
/// secret there is no way to log in, and a rejection is returned as it is.
struct StoredLoginAuthorizer {
    store: Arc<LoginTokenFile>,
    auth: OAuthClient,
}

impl Authorizer for StoredLoginAuthorizer {
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, TransportError>> {
        Box::pin(async move {
            if self.store.exists().await {
                return self.auth.token().await;
            }
            Ok(None)
        })
    }

    fn handle_challenge<'a>(
        &'a self,
        status: u16,
        www_authenticate: Option<&'a str>,
        attempt: u32,
    ) -> BoxFuture<'a, Result<bool, TransportError>> {
        // Built first, because it remembers which token was rejected.
        let challenged = self
            .auth
            .handle_challenge(status, www_authenticate, attempt);
        Box::pin(async move {
            if !self.store.exists().await {
                return Ok(false);
            }
            challenged.await
        })
    }
}
