//! The authorization server of an MCP server: discovery, checks and token grants.

use deliberate_http_client::{install_crypto, is_loopback};
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    ClientCredentialsConfig, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::{OAuthClientOptions, browser_login::Browser, error, token_store::RegisteredClient};
use crate::transport::TransportError;

/// Our name at dynamic client registration.
const CLIENT_NAME: &str = "deliberate";

/// The scope with which some authorization servers issue refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";

pub(super) struct AuthorizationServer {
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    credential_store: InMemoryCredentialStore,
}

impl AuthorizationServer {
    /// Discovers the authorization server from the challenge of the MCP server, or by asking the
    /// server.
    pub(super) async fn discover(server: &Url, said: Option<&str>) -> Result<Self, TransportError> {
        // The SDK builds HTTP clients of its own.
        install_crypto();
        let failed = |error: AuthError| error::from_auth_error(&error, &[]);
        let manager = AuthorizationManager::new(server.as_str()).await;
        let mut manager = manager.map_err(failed)?;
        let found = manager.resolve_metadata_from_challenge(said).await;
        let metadata = found.map_err(failed)?.metadata;
        check(server, &metadata)?;
        manager.set_metadata(metadata.clone());
        let tokens = InMemoryCredentialStore::new();
        manager.set_credential_store(tokens.clone());
        Ok(Self {
            manager,
            metadata,
            credential_store: tokens,
        })
    }

    pub(super) fn issuer(&self) -> Option<&str> {
        self.metadata.issuer.as_deref()
    }

    /// Returns the scopes of the first request: the configured ones, or those that the server
    /// names.
    pub(super) async fn initial_scopes(&self, configured: &[String]) -> Vec<String> {
        if configured.is_empty() {
            return self.manager.select_initial_scopes(&[]).await;
        }
        configured.to_vec()
    }

    /// Adds the scope for refresh tokens, if the server offers it and any scope is requested.
    pub(super) fn with_offline_access(&self, mut scopes: Vec<String>) -> Vec<String> {
        let known = self.metadata.scopes_supported.as_deref();
        let is_known = known.is_some_and(|known| known.iter().any(|scope| scope == OFFLINE_ACCESS));
        if is_known && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
            scopes.push(OFFLINE_ACCESS.to_owned());
        }
        scopes
    }

    /// Determines our client: the configured one, the stored one, our metadata document, or a new
    /// registration.
    pub(super) async fn resolve_client(
        &mut self,
        options: &OAuthClientOptions,
        before: Option<&RegisteredClient>,
        redirect: &str,
        scopes: &[String],
    ) -> Result<RegisteredClient, AuthError> {
        let auth = &options.auth;
        let known = |id: String, secret: Option<String>| RegisteredClient {
            id,
            secret,
            redirect: Some(redirect.to_owned()),
        };
        if let Some(id) = &auth.client_id {
            let secret = auth.client_secret.as_ref();
            let secret = secret.map(|secret| secret.expose_secret().to_owned());
            return Ok(known(id.clone(), secret));
        }
        if let Some(document) = options
            .client_metadata
            .as_ref()
            .filter(|_| self.supports_client_metadata())
        {
            return Ok(known(document.to_string(), None));
        }
        if let Some(before) = before.filter(|it| it.redirect.as_deref() == Some(redirect)) {
            return Ok(before.clone());
        }
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = self
            .manager
            .register_client(CLIENT_NAME, redirect, &scopes)
            .await;
        client.map(|client| known(client.client_id, client.client_secret))
    }

    /// Returns true if the authorization server accepts client metadata documents.
    fn supports_client_metadata(&self) -> bool {
        let field = "client_id_metadata_document_supported";
        let reads = self.metadata.additional_fields.get(field);
        reads.and_then(serde_json::Value::as_bool).unwrap_or(false)
    }

    /// Gets a token through the browser, with the consent of the user.
    pub(super) async fn authorization_code_grant(
        &mut self,
        browser: &dyn Browser,
        client: &RegisteredClient,
        scopes: &[String],
    ) -> Result<StoredCredentials, TransportError> {
        let secrets = client_secrets(client);
        let failed = |error: AuthError| error::from_auth_error(&error, &secrets);
        self.configure_client(client, "").map_err(failed)?;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let address = self.manager.get_authorization_url(&scopes).await;
        let address = address.map_err(failed)?;
        let address = Url::parse(&address).map_err(|error| failed(error.into()))?;
        let back = browser.authorize(&address).await;
        let back = back
            .map_err(|error| error::login_rejected_error(format!("the login failed: {error}")))?;
        if let Some((_, error)) = back.query_pairs().find(|(name, _)| name == "error") {
            return Err(failed(AuthError::AuthorizationFailed(error.into_owned())));
        }
        let said = AuthorizationCallback::from_redirect_url(back.as_str()).map_err(failed)?;
        let issuer = said.issuer.as_deref();
        (self.manager)
            .exchange_code_for_token_with_issuer(&said.code, &said.csrf_token, issuer)
            .await
            .map_err(failed)?;
        self.received_credentials().await
    }

    /// Gets a token for the client secret.
    pub(super) async fn client_credentials_grant(
        &mut self,
        server: &Url,
        client: &RegisteredClient,
        scopes: &[String],
    ) -> Result<StoredCredentials, TransportError> {
        let failed = |error: AuthError| error::from_auth_error(&error, &client_secrets(client));
        let mut resource = server.clone();
        resource.set_fragment(None);
        // The secret outlives every token, so no refresh token is needed.
        let scopes = scopes.iter().filter(|scope| *scope != OFFLINE_ACCESS);
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: client.id.clone(),
            client_secret: client.secret.clone().unwrap_or_default(),
            scopes: scopes.cloned().collect(),
            resource: Some(resource.to_string()),
        };
        let manager = &mut self.manager;
        let supported = manager.validate_client_credentials_metadata(&config);
        supported.map_err(failed)?;
        (manager.configure_client_credentials(&config)).map_err(failed)?;
        let given = manager.exchange_client_credentials(&config).await;
        given.map_err(failed)?;
        self.received_credentials().await
    }

    /// Exchanges a refresh token; returns none if it is no longer valid.
    pub(super) async fn refresh_token_grant(
        &mut self,
        server: &Url,
        client: &RegisteredClient,
        old: StoredCredentials,
    ) -> Result<Option<StoredCredentials>, AuthError> {
        self.configure_client(client, server.as_str())?;
        self.credential_store.save(old).await?;
        match self.manager.refresh_token().await {
            Ok(_) => self.credential_store.load().await,
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn configure_client(
        &mut self,
        client: &RegisteredClient,
        otherwise: &str,
    ) -> Result<(), AuthError> {
        let redirect = client.redirect.as_deref().unwrap_or(otherwise);
        let config = OAuthClientConfig::new(client.id.as_str(), redirect);
        self.manager.configure_client(match &client.secret {
            Some(secret) => config.with_client_secret(secret.as_str()),
            None => config,
        })
    }

    async fn received_credentials(&self) -> Result<StoredCredentials, TransportError> {
        let given = self.credential_store.load().await.ok().flatten();
        given.ok_or_else(|| error::login_rejected_error("the login returned no token"))
    }
}

fn client_secrets(client: &RegisteredClient) -> Vec<SecretString> {
    client.secret.iter().cloned().map(Into::into).collect()
}

/// Checks that secrets travel over encrypted connections only, or stay on this machine, and that
/// the browser is sent to a web page.
fn check(server: &Url, metadata: &AuthorizationMetadata) -> Result<(), TransportError> {
    let places = [
        Some(&metadata.authorization_endpoint),
        Some(&metadata.token_endpoint),
        metadata.registration_endpoint.as_ref(),
    ];
    for place in places.into_iter().flatten() {
        let url = Url::parse(place).ok();
        let is_safe = url.as_ref().is_some_and(|url| match url.scheme() {
            "https" => true,
            "http" => is_loopback(url) && is_loopback(server),
            _ => false,
        });
        if !is_safe {
            let origin = url.map(|url| url.origin().ascii_serialization());
            return Err(error::login_rejected_error(format!(
                "the login is at {}, which is not safe: only https is",
                origin.unwrap_or_else(|| "no address".to_owned())
            )));
        }
    }
    Ok(())
}
