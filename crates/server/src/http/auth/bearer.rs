//! Bearer tokens of requests, and the challenge for a request without a valid one (RFC 6750,
//! RFC 9728).

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::ResourceServer;
use crate::http::guard::HttpRejection;

/// The longest accepted token, in bytes.
const MAX_TOKEN_LEN: usize = 16 * 1024;

/// The challenge for a request without a valid token.
pub(super) struct BearerChallenge<'a> {
    server: Option<&'a ResourceServer>,
}

impl<'a> BearerChallenge<'a> {
    pub(super) fn new(server: Option<&'a ResourceServer>) -> Self {
        Self { server }
    }

    fn missing_token(&self) -> HttpRejection {
        self.unauthorized(
            "token_missing",
            "A token is required; send it as \"Authorization: Bearer <token>\".",
            None,
        )
    }

    fn malformed_header(&self) -> HttpRejection {
        self.unauthorized(
            "token_malformed",
            "The Authorization header is invalid; send exactly one, as \"Bearer <token>\".",
            Some("invalid_request"),
        )
    }

    fn token_in_query(&self) -> HttpRejection {
        self.unauthorized(
            "token_in_query",
            "A token in the URL is rejected, because URLs are logged; send it in the Authorization header.",
            Some("invalid_request"),
        )
    }

    /// The token is unknown or no longer valid. The rejection does not say which, so that guessing
    /// reveals nothing.
    pub(super) fn invalid_token(&self) -> HttpRejection {
        self.unauthorized(
            "token_refused",
            "The token is invalid or expired; get a new one.",
            Some("invalid_token"),
        )
    }

    /// The token is valid but grants no scope of this server.
    pub(super) fn insufficient_scope(&self) -> HttpRejection {
        let refusal = HttpRejection::new(
            StatusCode::FORBIDDEN,
            "insufficient_scope",
            "The token does not allow the use of this server; get one with the required scope.",
        );
        self.with_challenge(refusal, Some("insufficient_scope"))
    }

    fn unauthorized(
        &self,
        code: &'static str,
        message: &'static str,
        error: Option<&'static str>,
    ) -> HttpRejection {
        self.with_challenge(
            HttpRejection::new(StatusCode::UNAUTHORIZED, code, message),
            error,
        )
    }

    fn with_challenge(&self, refusal: HttpRejection, error: Option<&'static str>) -> HttpRejection {
        let mut text = "Bearer realm=\"deliberate\"".to_owned();
        let mut add = |name: &str, value: &str| {
            text.extend([", ", name, "=\"", value, "\""]);
        };
        if let Some(error) = error {
            add("error", error);
        }
        if let Some(server) = self.server {
            add("resource_metadata", server.metadata_url());
            if let Some(scope) = server.required_scope() {
                add("scope", scope);
            }
        }
        match HeaderValue::from_str(&text) {
            Ok(value) => refusal.with_header(header::WWW_AUTHENTICATE, value),
            Err(_) => refusal.with_header(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"deliberate\""),
            ),
        }
    }
}

/// The bearer token of a request.
pub(super) fn bearer_token<'a>(
    uri: &Uri,
    headers: &'a HeaderMap,
    challenge: &BearerChallenge<'_>,
) -> Result<&'a str, HttpRejection> {
    if uri.query().is_some_and(has_token_parameter) {
        return Err(challenge.token_in_query());
    }
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Err(challenge.missing_token()),
        (Some(value), None) => value,
        _ => return Err(challenge.malformed_header()),
    };
    parse_header(value).ok_or_else(|| challenge.malformed_header())
}

fn parse_header(value: &HeaderValue) -> Option<&str> {
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    let token = rest.trim_matches(' ');
    let sound = scheme.eq_ignore_ascii_case("bearer")
        && (1..=MAX_TOKEN_LEN).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    sound.then_some(token)
}

fn has_token_parameter(query: &str) -> bool {
    query
        .split('&')
        .filter_map(|pair| pair.split('=').next())
        .any(|name| name.eq_ignore_ascii_case("access_token"))
}
