//! Who gives the tokens for a server: found out from the server, checked, and asked.

use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    ClientCredentialsConfig, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use secrecy::{ExposeSecret as _, SecretString};
use url::{Host, Url};

use super::{OAuthClientOptions, browser_login::Browser, error, token_store::RegisteredClient};
use crate::transport::TransportError;

/// What we are called where clients are registered.
const CLIENT_NAME: &str = "deliberate";

/// The scope that makes some give tokens that can be renewed.
const OFFLINE_ACCESS: &str = "offline_access";

/// Who gives tokens.
pub(super) struct AuthorizationServer {
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    credential_store: InMemoryCredentialStore,
}

impl AuthorizationServer {
    /// Finds out who it is, from what the server said when it refused us, or by asking it.
    pub(super) async fn discover(server: &Url, said: Option<&str>) -> Result<Self, TransportError> {
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
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

    /// What to ask for at first: what is configured, or what the server says it needs.
    pub(super) async fn initial_scopes(&self, configured: &[String]) -> Vec<String> {
        if configured.is_empty() {
            return self.manager.select_initial_scopes(&[]).await;
        }
        configured.to_vec()
    }

    /// With the scope that makes tokens last, if there is one and anything is asked for at all.
    pub(super) fn with_offline_access(&self, mut scopes: Vec<String>) -> Vec<String> {
        let known = self.metadata.scopes_supported.as_deref();
        let is_known = known.is_some_and(|known| known.iter().any(|scope| scope == OFFLINE_ACCESS));
        if is_known && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
            scopes.push(OFFLINE_ACCESS.to_owned());
        }
        scopes
    }

    /// Who we are here: as configured, as before, by our document, or newly registered.
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

    /// Whether it reads documents about clients.
    fn supports_client_metadata(&self) -> bool {
        let field = "client_id_metadata_document_supported";
        let reads = self.metadata.additional_fields.get(field);
        reads.and_then(serde_json::Value::as_bool).unwrap_or(false)
    }

    /// A token that someone agrees to.
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
        let back =
            back.map_err(|error| error::login_refused(format!("logging in failed: {error}")))?;
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

    /// A token for our secret.
    pub(super) async fn client_credentials_grant(
        &mut self,
        server: &Url,
        client: &RegisteredClient,
        scopes: &[String],
    ) -> Result<StoredCredentials, TransportError> {
        let failed = |error: AuthError| error::from_auth_error(&error, &client_secrets(client));
        let mut resource = server.clone();
        resource.set_fragment(None);
        // Our secret outlives every token; none has to be renewed.
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

    /// A new token for an old one; none if the old one is no longer good for that.
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
        given.ok_or_else(|| error::login_refused("logging in gave no token"))
    }
}

fn client_secrets(client: &RegisteredClient) -> Vec<SecretString> {
    client.secret.iter().cloned().map(Into::into).collect()
}

/// Secrets go over encrypted connections, or stay on this machine; and what a browser is sent to
/// is a page.
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
            return Err(error::login_refused(format!(
                "it sends us to {} to log in, which is not safe: only https is",
                origin.unwrap_or_else(|| "no address".to_owned())
            )));
        }
    }
    Ok(())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
