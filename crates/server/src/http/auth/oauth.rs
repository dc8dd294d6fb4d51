//! The server as an OAuth 2.1 resource server: it accepts JWTs that an issuer signed for it.

use std::fmt;

use axum::http::StatusCode;
use deliberate_http_client::is_protected;
use deliberate_toolkit::Principal;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::Value;
use thiserror::Error;
use url::Url;

use super::{
    bearer::BearerChallenge,
    claims::Claims,
    fetch::Fetcher,
    jwks::{JwksCache, JwksSource, KeyError},
    metadata, token_crypto,
};
use crate::http::guard::HttpRejection;

/// The accepted clock difference.
const LEEWAY_SECONDS: u64 = 30;

/// The accepted signature algorithms: never a shared secret and never `none`.
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

/// The issuer and the requirements on its tokens.
#[derive(Debug, Clone, Default)]
pub struct ResourceServerOptions {
    /// The issuer, exactly as its tokens and its metadata name it.
    pub issuer: String,
    /// The URL at which clients reach this server, such as `https://mcp.example.com/mcp`.
    pub resource: String,
    /// The audience of tokens for this server; the resource if `None`.
    pub audience: Option<String>,
    /// The URL of the issuer's keys; taken from its metadata if `None`.
    pub jwks_url: Option<String>,
    /// A scope that allows every tool. If it is set, tokens without it are rejected unless they
    /// have scopes of the form `tool:<pattern>`, which allow those tools. If it is not set, every
    /// valid token is accepted.
    pub required_scope: Option<String>,
}

/// A fault in the OAuth settings.
#[derive(Debug, Error)]
pub enum OAuthError {
    /// An invalid or insecure URL.
    #[error(
        "the OAuth {what} is invalid: use an https URL, or http on this machine, without user name, query or fragment"
    )]
    Url {
        /// The setting that holds the URL.
        what: &'static str,
    },
    /// The required scope is not a valid scope.
    #[error("the OAuth scope is invalid: use one word without spaces or quotation marks")]
    Scope,
    /// The audience is empty.
    #[error("the OAuth audience is empty; omit it to use the resource")]
    Audience,
}

/// Verifies tokens of an issuer.
pub struct ResourceServer {
    issuer: String,
    required_scope: Option<String>,
    metadata_url: String,
    document: Value,
    validation: Validation,
    keys: JwksCache,
}

impl ResourceServer {
    /// Checks the options. Makes no request: the keys are fetched for the first token.
    pub fn new(options: ResourceServerOptions) -> Result<Self, OAuthError> {
        token_crypto::install();
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
            keys: JwksCache::new(Fetcher::new(&issuer), source),
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

    /// Verifies a token and returns its principal.
    pub(super) async fn admit(
        &self,
        token: &str,
        challenge: &BearerChallenge<'_>,
    ) -> Result<Principal, HttpRejection> {
        let header = decode_header(token).map_err(|_| challenge.invalid_token())?;
        // Unknown critical header parameters must not be ignored.
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
                tracing::debug!(reason = %error, "a token was rejected");
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
    // Neither URL has a query (RFC 8414, RFC 9728).
    if url.query().is_some() {
        return Err(OAuthError::Url { what });
    }
    Ok(url)
}

fn parse_jwks_url(text: &str) -> Result<Url, OAuthError> {
    let what = "keys' address";
    let url = Url::parse(text).map_err(|_| OAuthError::Url { what })?;
    // A quotation mark would end the quoted string in the `WWW-Authenticate` header.
    if !is_protected(&url) || url.fragment().is_some() || text.contains('"') {
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
        "The token cannot be verified, because its issuer cannot be reached; try again soon.",
    )
    .retry_after(5)
}
