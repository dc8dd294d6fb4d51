//! The login at one server: what is kept of it, how it is renewed, and what a refusal leads to.

use rmcp::transport::auth::{StoredCredentials, WWWAuthenticateParams};
use url::Url;

use super::{
    OAuthOptions,
    authority::Authority,
    fault,
    keep::{Kept, KnownClient, Token},
};
use crate::transport::TransportError;

/// A server's refusal.
pub(super) struct Challenge {
    pub(super) status: u16,
    pub(super) said: Option<String>,
    /// How many times the request was refused, this time included.
    pub(super) attempt: u32,
}

/// How it stands with the login.
#[derive(Default)]
pub(super) struct Session {
    loaded: bool,
    kept: Option<Kept>,
    authority: Option<Authority>,
    /// Whether the token was got anew, not renewed. If it is refused, another will be too.
    is_new: bool,
}

impl Session {
    /// Reads what was kept, once.
    pub(super) async fn load(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
    ) -> Result<(), TransportError> {
        if !self.loaded {
            self.kept = read(server, options).await?;
            self.loaded = true;
        }
        Ok(())
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.kept.as_ref().and_then(Kept::token)
    }

    /// Logs in, whatever token there is.
    pub(super) async fn log_in(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
    ) -> Result<Option<Token>, TransportError> {
        self.load(server, options).await?;
        self.find(server, options, None).await?;
        let scopes = self.first_scopes(options).await;
        self.get(server, options, scopes).await.map(Some)
    }

    /// A token that has not ended, in place of one that has; none if there is no way.
    pub(super) async fn refresh(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
    ) -> Result<Option<Token>, TransportError> {
        if self.adopt(server, options).await? {
            return Ok(self.token());
        }
        if !self.kept.as_ref().is_some_and(Kept::can_be_renewed) {
            return Ok(None);
        }
        if self.authority.is_none() {
            self.find(server, options, None).await?;
        }
        self.renew(server, options).await
    }

    /// Does what a refusal calls for. No token means that nothing helps.
    pub(super) async fn answer(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
        challenge: &Challenge,
    ) -> Result<Option<Token>, TransportError> {
        self.load(server, options).await?;
        let said = challenge.said.as_deref();
        match challenge.status {
            401 if challenge.attempt > 1 && self.is_new => Ok(None),
            401 => {
                if self.adopt(server, options).await? {
                    return Ok(self.token());
                }
                self.find(server, options, said).await?;
                if let Some(token) = self.renew(server, options).await? {
                    return Ok(Some(token));
                }
                let scopes = self.first_scopes(options).await;
                self.get(server, options, scopes).await.map(Some)
            }
            _ => {
                let params = WWWAuthenticateParams::parse(said.unwrap_or_default(), server);
                let is_for_more = params.is_insufficient_scope();
                let Some(wanted) = params.scope.filter(|_| is_for_more) else {
                    return Ok(None);
                };
                if self.authority.is_none() {
                    self.find(server, options, said).await?;
                }
                self.step_up(server, options, &wanted).await.map(Some)
            }
        }
    }

    /// Asks for what was asked for before and what the server wants beside.
    async fn step_up(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
        wanted: &str,
    ) -> Result<Token, TransportError> {
        let mut scopes = (self.kept.as_ref()).map_or_else(Vec::new, |kept| kept.asked.clone());
        let before = scopes.len();
        for scope in wanted.split_whitespace() {
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        if scopes.len() == before {
            return Err(fault::refused(
                "it wants more rights than we were given, though we asked for them",
            ));
        }
        self.get(server, options, scopes).await
    }

    /// Takes over what was kept meanwhile, by another program for instance.
    async fn adopt(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
    ) -> Result<bool, TransportError> {
        let there = read(server, options).await?;
        let is_other = |kept: &Kept| {
            let ours = self.kept.as_ref().and_then(Kept::token);
            let theirs = kept.token().filter(Token::is_fresh);
            theirs.is_some_and(|theirs| ours.is_none_or(|ours| !ours.is_same(&theirs)))
        };
        let Some(there) = there.filter(is_other) else {
            return Ok(false);
        };
        self.kept = Some(there);
        self.is_new = false;
        Ok(true)
    }

    /// Finds out who gives tokens. If it is another than before, nothing of before is of use, nor
    /// may the other see it; nor a secret of ours that was for the first.
    async fn find(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
        said: Option<&str>,
    ) -> Result<(), TransportError> {
        let authority = Authority::find(server, said).await?;
        let before = self.kept.as_ref().and_then(|kept| kept.issuer.as_deref());
        let before = before.filter(|_| options.auth.client_secret.is_some());
        let expected = options.auth.issuer.as_deref().or(before);
        if let Some(expected) = expected.filter(|it| Some(*it) != authority.issuer()) {
            let found = authority.issuer().unwrap_or("nobody we know");
            return Err(fault::refused(format!(
                "it sends us to {found} to log in, not to {expected}; correct `issuer` in its \
                 `auth` if that is right"
            )));
        }
        let is_same = |kept: &Kept| kept.issuer.as_deref() == authority.issuer();
        self.kept = self.kept.take().filter(is_same);
        self.authority = Some(authority);
        Ok(())
    }

    async fn first_scopes(&self, options: &OAuthOptions) -> Vec<String> {
        match &self.authority {
            Some(authority) => authority.first_scopes(&options.auth.scopes).await,
            None => options.auth.scopes.clone(),
        }
    }

    async fn renew(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
    ) -> Result<Option<Token>, TransportError> {
        let kept = self.kept.as_ref().filter(|kept| kept.can_be_renewed());
        let (Some(kept), Some(authority)) = (kept.cloned(), &mut self.authority) else {
            return Ok(None);
        };
        let old = kept.credentials.clone();
        let renewed = authority.by_renewal(server, &kept.client, old).await;
        let renewed = renewed.map_err(|error| fault::of(&error, &kept.secrets()))?;
        let Some(credentials) = renewed else {
            return Ok(None);
        };
        self.is_new = false;
        let token = self.keep(server, options, kept.client, kept.asked, credentials);
        token.await.map(Some)
    }

    /// Gets a token anew: someone agrees, or our secret is enough.
    async fn get(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
        scopes: Vec<String>,
    ) -> Result<Token, TransportError> {
        let Some(authority) = &mut self.authority else {
            return Err(fault::nobody());
        };
        let before = self.kept.as_ref().map(|kept| &kept.client);
        let (client, credentials) = if let Some(browser) = &options.browser {
            let scopes = authority.with_offline(scopes.clone());
            let redirect = browser.redirect();
            let client = authority.client(options, before, &redirect, &scopes).await;
            let client = client.map_err(|error| fault::of(&error, &[]))?;
            let given = authority.by_agreement(browser.as_ref(), &client, &scopes);
            let given = given.await?;
            (client, given)
        } else if let Some(client) = with_secret(options) {
            let given = authority.by_secret(server, &client, &scopes).await?;
            (client, given)
        } else {
            return Err(fault::nobody());
        };
        self.is_new = true;
        self.keep(server, options, client, scopes, credentials)
            .await
    }

    async fn keep(
        &mut self,
        server: &Url,
        options: &OAuthOptions,
        client: KnownClient,
        asked: Vec<String>,
        credentials: StoredCredentials,
    ) -> Result<Token, TransportError> {
        let issuer = self.authority.as_ref().and_then(Authority::issuer);
        let issuer = issuer.map(str::to_owned);
        let kept = Kept::new(server, issuer, client, asked, credentials);
        let saved = match kept.write() {
            Ok(text) => options.store.save(text).await,
            Err(error) => Err(error),
        };
        if let Err(error) = saved {
            // The token is good all the same, until the program ends.
            tracing::warn!(%error, "the login was not kept");
        }
        let token = kept.token();
        self.kept = Some(kept);
        token.ok_or_else(|| fault::refused("logging in gave no token"))
    }
}

async fn read(server: &Url, options: &OAuthOptions) -> Result<Option<Kept>, TransportError> {
    let text = options.store.load().await;
    let text = text.map_err(|error| fault::refused(error.to_string()))?;
    Ok(text.and_then(|text| Kept::read(&text, server)))
}

/// Who we are, if a secret stands for us.
fn with_secret(options: &OAuthOptions) -> Option<KnownClient> {
    use secrecy::ExposeSecret as _;
    let auth = &options.auth;
    let (id, secret) = auth.client_id.as_ref().zip(auth.client_secret.as_ref())?;
    Some(KnownClient {
        id: id.clone(),
        secret: Some(secret.expose_secret().to_owned()),
        redirect: None,
    })
}
