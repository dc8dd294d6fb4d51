//! The login at one server: loads, refreshes and stores its token, and answers the server's
//! challenges.

use rmcp::transport::auth::{StoredCredentials, WWWAuthenticateParams};
use url::Url;

use super::{
    OAuthClientOptions,
    authorization_server::AuthorizationServer,
    error,
    token_store::{AccessToken, RegisteredClient, StoredLogin},
};
use crate::transport::TransportError;

/// A rejection by the server.
pub(super) struct OAuthChallenge {
    pub(super) status: u16,
    pub(super) www_authenticate: Option<String>,
    /// The number of times the request was rejected, including this one.
    pub(super) attempt: u32,
}

/// The state of the login.
#[derive(Default)]
pub(super) struct OAuthSession {
    loaded: bool,
    login: Option<StoredLogin>,
    authorization_server: Option<AuthorizationServer>,
    /// Whether the token was newly issued and not refreshed. If it is rejected, another new one
    /// will be too.
    is_new: bool,
}

impl OAuthSession {
    /// Loads the stored login, once.
    pub(super) async fn load(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
    ) -> Result<(), TransportError> {
        if !self.loaded {
            self.login = load_login(server, options).await?;
            self.loaded = true;
        }
        Ok(())
    }

    pub(super) fn token(&self) -> Option<AccessToken> {
        self.login.as_ref().and_then(StoredLogin::token)
    }

    /// Logs in, even if there is a token.
    pub(super) async fn log_in(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
    ) -> Result<Option<AccessToken>, TransportError> {
        self.load(server, options).await?;
        self.discover(server, options, None).await?;
        let scopes = self.initial_scopes(options).await;
        self.obtain_token(server, options, scopes).await.map(Some)
    }

    /// Replaces an expired token; returns none if that is not possible.
    pub(super) async fn refresh(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
    ) -> Result<Option<AccessToken>, TransportError> {
        if self.adopt_stored(server, options).await? {
            return Ok(self.token());
        }
        if !self
            .login
            .as_ref()
            .is_some_and(StoredLogin::has_refresh_token)
        {
            return Ok(None);
        }
        if self.authorization_server.is_none() {
            self.discover(server, options, None).await?;
        }
        self.renew(server, options).await
    }

    /// Answers a challenge. Returns no token if nothing helps.
    pub(super) async fn answer_challenge(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
        challenge: &OAuthChallenge,
    ) -> Result<Option<AccessToken>, TransportError> {
        self.load(server, options).await?;
        let said = challenge.www_authenticate.as_deref();
        match challenge.status {
            401 if challenge.attempt > 1 && self.is_new => Ok(None),
            401 => {
                if self.adopt_stored(server, options).await? {
                    return Ok(self.token());
                }
                self.discover(server, options, said).await?;
                if let Some(token) = self.renew(server, options).await? {
                    return Ok(Some(token));
                }
                let scopes = self.initial_scopes(options).await;
                self.obtain_token(server, options, scopes).await.map(Some)
            }
            _ => {
                let params = WWWAuthenticateParams::parse(said.unwrap_or_default(), server);
                let is_for_more = params.is_insufficient_scope();
                let Some(wanted) = params.scope.filter(|_| is_for_more) else {
                    return Ok(None);
                };
                if self.authorization_server.is_none() {
                    self.discover(server, options, said).await?;
                }
                self.step_up(server, options, &wanted).await.map(Some)
            }
        }
    }

    /// Requests the previous scopes and those that the server requires in addition.
    async fn step_up(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
        wanted: &str,
    ) -> Result<AccessToken, TransportError> {
        let mut scopes = (self.login.as_ref()).map_or_else(Vec::new, |login| login.asked.clone());
        let before = scopes.len();
        for scope in wanted.split_whitespace() {
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        if scopes.len() == before {
            return Err(error::login_rejected_error(
                "the server requires more scopes than were granted, although they were requested",
            ));
        }
        self.obtain_token(server, options, scopes).await
    }

    /// Adopts a login that was stored meanwhile, for example by another program.
    async fn adopt_stored(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
    ) -> Result<bool, TransportError> {
        let there = load_login(server, options).await?;
        let is_other = |login: &StoredLogin| {
            let ours = self.login.as_ref().and_then(StoredLogin::token);
            let theirs = login.token().filter(AccessToken::is_valid);
            theirs.is_some_and(|theirs| ours.is_none_or(|ours| !ours.is_same(&theirs)))
        };
        let Some(there) = there.filter(is_other) else {
            return Ok(false);
        };
        self.login = Some(there);
        self.is_new = false;
        Ok(true)
    }

    /// Discovers the authorization server. If it is not the previous one, the previous login is of
    /// no use and must not be shown to it; neither must a client secret that was meant for the
    /// previous one.
    async fn discover(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
        said: Option<&str>,
    ) -> Result<(), TransportError> {
        let authority = AuthorizationServer::discover(server, said).await?;
        let before = self
            .login
            .as_ref()
            .and_then(|stored_login| stored_login.issuer.as_deref());
        let before = before.filter(|_| options.auth.client_secret.is_some());
        let expected = options.auth.issuer.as_deref().or(before);
        if let Some(expected) = expected.filter(|it| Some(*it) != authority.issuer()) {
            let found = authority.issuer().unwrap_or("an unknown server");
            return Err(error::login_rejected_error(format!(
                "the login is at {found}, not at {expected}; correct `issuer` in the server's `auth` \
                 if {found} is right"
            )));
        }
        let is_same =
            |stored_login: &StoredLogin| stored_login.issuer.as_deref() == authority.issuer();
        self.login = self.login.take().filter(is_same);
        self.authorization_server = Some(authority);
        Ok(())
    }

    async fn initial_scopes(&self, options: &OAuthClientOptions) -> Vec<String> {
        match &self.authorization_server {
            Some(authority) => authority.initial_scopes(&options.auth.scopes).await,
            None => options.auth.scopes.clone(),
        }
    }

    async fn renew(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
    ) -> Result<Option<AccessToken>, TransportError> {
        let login = self
            .login
            .as_ref()
            .filter(|login| login.has_refresh_token());
        let (Some(login), Some(authority)) = (login.cloned(), &mut self.authorization_server)
        else {
            return Ok(None);
        };
        let old = login.credentials.clone();
        let renewed = authority
            .refresh_token_grant(server, &login.client, old)
            .await;
        let renewed = renewed.map_err(|error| error::from_auth_error(&error, &login.secrets()))?;
        let Some(credentials) = renewed else {
            return Ok(None);
        };
        self.is_new = false;
        let token = self.store_login(server, options, login.client, login.asked, credentials);
        token.await.map(Some)
    }

    /// Gets a new token with the user's consent or the client secret.
    async fn obtain_token(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
        scopes: Vec<String>,
    ) -> Result<AccessToken, TransportError> {
        let Some(authority) = &mut self.authorization_server else {
            return Err(error::login_impossible_error());
        };
        let before = self.login.as_ref().map(|login| &login.client);
        let (client, credentials) = if let Some(browser) = &options.browser {
            let scopes = authority.with_offline_access(scopes.clone());
            let redirect = browser.redirect_uri();
            let client = authority
                .resolve_client(options, before, &redirect, &scopes)
                .await;
            let client = client.map_err(|error| error::from_auth_error(&error, &[]))?;
            let given = authority.authorization_code_grant(browser.as_ref(), &client, &scopes);
            let given = given.await?;
            (client, given)
        } else if let Some(client) = client_with_secret(options) {
            let given = authority
                .client_credentials_grant(server, &client, &scopes)
                .await?;
            (client, given)
        } else {
            return Err(error::login_impossible_error());
        };
        self.is_new = true;
        self.store_login(server, options, client, scopes, credentials)
            .await
    }

    async fn store_login(
        &mut self,
        server: &Url,
        options: &OAuthClientOptions,
        client: RegisteredClient,
        asked: Vec<String>,
        credentials: StoredCredentials,
    ) -> Result<AccessToken, TransportError> {
        let issuer = self
            .authorization_server
            .as_ref()
            .and_then(AuthorizationServer::issuer);
        let issuer = issuer.map(str::to_owned);
        let stored_login = StoredLogin::new(server, issuer, client, asked, credentials);
        let saved = match stored_login.write() {
            Ok(text) => options.store.save(text).await,
            Err(error) => Err(error),
        };
        if let Err(error) = saved {
            // The token is valid in this process even if it could not be stored.
            tracing::warn!(%error, "could not store the login");
        }
        let token = stored_login.token();
        self.login = Some(stored_login);
        token.ok_or_else(|| error::login_rejected_error("the login returned no token"))
    }
}

async fn load_login(
    server: &Url,
    options: &OAuthClientOptions,
) -> Result<Option<StoredLogin>, TransportError> {
    let text = options.store.load().await;
    let text = text.map_err(|error| error::login_rejected_error(error.to_string()))?;
    Ok(text.and_then(|text| StoredLogin::read(&text, server)))
}

/// Returns the client with a configured secret, if there is one.
fn client_with_secret(options: &OAuthClientOptions) -> Option<RegisteredClient> {
    use secrecy::ExposeSecret as _;
    let auth = &options.auth;
    let (id, secret) = auth.client_id.as_ref().zip(auth.client_secret.as_ref())?;
    Some(RegisteredClient {
        id: id.clone(),
        secret: Some(secret.expose_secret().to_owned()),
        redirect: None,
    })
}
