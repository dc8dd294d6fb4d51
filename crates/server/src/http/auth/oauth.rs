//! This server as an OAuth 2.1 resource server: tokens are JWTs that an issuer has signed for us.

use std::fmt;

use axum::http::StatusCode;
use deliberate_toolkit::Principal;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::Value;
use thiserror::Error;
use url::Url;

use super::{
    bearer::BearerChallenge,
    claims::Claims,
    fetch::{Fetcher, is_secure},
    jwks::{JwksCache, JwksSource, KeyError},
    metadata,
};
use crate::http::guard::HttpRejection;

/// How far clocks may be apart.
const LEEWAY_SECONDS: u64 = 30;

/// What a signature may be made with. Never a shared secret, and never nothing.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Who vouches for clients, and for what.
#[derive(Debug, Clone, Default)]
pub struct ResourceServerOptions {
    /// The issuer, exactly as its tokens and its metadata name it.
    pub issuer: String,
    /// The address by which clients reach us, such as `https://mcp.example.com/mcp`.
    pub resource: String,
    /// What tokens for us are addressed to; the resource unless given.
    pub audience: Option<String>,
    /// Where the issuer's keys are; else its metadata says.
    pub jwks_url: Option<String>,
    /// A scope that allows every tool. With it, tokens without it are refused unless they have
    /// scopes of the form `tool:<pattern>`, which allow those tools. Without it, every good token
    /// is let in.
    pub required_scope: Option<String>,
}

/// Why OAuth can't be used as it is set up.
#[derive(Debug, Error)]
pub enum OAuthError {
    /// An address that is none, or not safe.
    #[error(
        "the OAuth {what} is refused: use an https address, or http to this machine, without user name, query or fragment"
    )]
    Url {
        /// Which one.
        what: &'static str,
    },
    /// A scope that could not be asked for.
    #[error("the OAuth scope is refused: it is one word without spaces or quotation marks")]
    Scope,
    /// An audience that could not be met.
    #[error("the OAuth audience is empty; leave it out to use the resource")]
    Audience,
    /// No client for HTTP could be made.
    #[error("the issuer can't be asked for its keys: {0}; check the machine's certificates")]
    Client(#[from] reqwest::Error),
}

/// Checks tokens that an issuer has signed.
pub struct ResourceServer {
    issuer: String,
    required_scope: Option<String>,
    metadata_url: String,
    document: Value,
    validation: Validation,
    keys: JwksCache,
}

impl ResourceServer {
    /// Takes the options, and asks nobody yet: keys are fetched when the first token comes.
    pub fn new(options: ResourceServerOptions) -> Result<Self, OAuthError> {
        let issuer = parse_url("issuer", &options.issuer)?;
        let resource = parse_url("resource", &options.resource)?;
        let audience = options.audience.unwrap_or_else(|| options.resource.clone());
        if audience.is_empty() {
            return Err(OAuthError::Audience);
        }
        if options
            .required_scope
            .as_deref()
            .is_some_and(|scope| !is_valid_scope(scope))
        {
            return Err(OAuthError::Scope);
        }
        let source = match &options.jwks_url {
            Some(url) => JwksSource::Url(parse_jwks_url(url)?),
            None => JwksSource::Discover {
                name: options.issuer.clone(),
                url: issuer.clone(),
            },
        };
        let mut validation = Validation::new(Algorithm::RS256);
        validation.algorithms = ALGORITHMS.to_vec();
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_audience(&[audience]);
        validation.set_issuer(&[&options.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        Ok(Self {
            metadata_url: metadata::metadata_url(&resource),
            document: metadata::metadata_document(
                &options.resource,
                &options.issuer,
                options.required_scope.as_deref(),
            ),
            keys: JwksCache::new(Fetcher::new(&issuer)?, source),
            issuer: options.issuer,
            required_scope: options.required_scope,
            validation,
        })
    }

    pub(super) fn required_scope(&self) -> Option<&str> {
        self.required_scope.as_deref()
    }

    pub(super) fn metadata_url(&self) -> &str {
        &self.metadata_url
    }

    pub(super) fn document(&self) -> Value {
        self.document.clone()
    }

    /// Whose token it is.
    pub(super) async fn admit(
        &self,
        token: &str,
        challenge: &BearerChallenge<'_>,
    ) -> Result<Principal, HttpRejection> {
        let header = decode_header(token).map_err(|_| challenge.invalid_token())?;
        // What is critical and not known must not be passed over.
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return Err(challenge.invalid_token());
        }
        let key = match self.keys.find(header.kid.as_deref(), header.alg).await {
            Ok(key) => key,
            Err(KeyError::Unknown) => return Err(challenge.invalid_token()),
            Err(KeyError::Unavailable) => return Err(issuer_unavailable()),
        };
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        let claims = match decode::<Claims>(token, &key, &validation) {
            Ok(token) => token.claims,
            Err(error) => {
                tracing::debug!(reason = %error, "a token was refused");
                return Err(challenge.invalid_token());
            }
        };
        let name = claims
            .principal_name(&self.issuer)
            .ok_or_else(|| challenge.invalid_token())?;
        let scope = claims
            .tool_scope(self.required_scope.as_deref())
            .ok_or_else(|| challenge.insufficient_scope())?;
        Ok(Principal {
            name: Some(name.into()),
            scope,
        })
    }
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResourceServer")
            .field("issuer", &self.issuer)
            .field("required_scope", &self.required_scope)
            .finish_non_exhaustive()
    }
}

fn parse_url(what: &'static str, text: &str) -> Result<Url, OAuthError> {
    let url = parse_jwks_url(text).map_err(|_| OAuthError::Url { what })?;
    // RFC 8414 and RFC 9728: neither has a query.
    if url.query().is_some() {
        return Err(OAuthError::Url { what });
    }
    Ok(url)
}

fn parse_jwks_url(text: &str) -> Result<Url, OAuthError> {
    let what = "keys' address";
    let url = Url::parse(text).map_err(|_| OAuthError::Url { what })?;
    // A quotation mark would end the header that the address is shown in.
    if !is_secure(&url) || url.fragment().is_some() || text.contains('"') {
        return Err(OAuthError::Url { what });
    }
    Ok(url)
}

fn is_valid_scope(scope: &str) -> bool {
    !scope.is_empty()
        && scope
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

fn issuer_unavailable() -> HttpRejection {
    HttpRejection::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "issuer_unavailable",
        "The issuer of tokens can't be reached to check yours; try again soon.",
    )
    .retry_after(5)
}
