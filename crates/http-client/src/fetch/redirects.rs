//! Sends a request and follows redirects, checking each step. Secrets are sent only to the origin
//! they are meant for.

use std::error::Error as _;

use reqwest::{Method, Response, header};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::{
    HttpClientError,
    request::{host_label, redacted_url},
    reqwest_clients::ReqwestClients,
    retry::FetchAttemptError,
};
use crate::{
    root_cause,
    ssrf_guard::{BlockedAddress, SsrfGuard, UrlSource, origin},
};

const MAX_REDIRECTS: usize = 5;

/// A request to send.
pub(super) struct OutboundRequest<'a> {
    pub(super) url: &'a Url,
    pub(super) body: Option<&'a serde_json::Value>,
    pub(super) accept: &'a str,
    pub(super) secret_headers: &'a [(&'static str, SecretString)],
    pub(super) secret_query: &'a [(&'static str, SecretString)],
}

impl OutboundRequest<'_> {
    fn has_secrets(&self) -> bool {
        !self.secret_headers.is_empty() || !self.secret_query.is_empty()
    }

    /// The URL without the parameters that hold secrets. The others keep their encoding.
    pub(super) fn strip_secrets(&self, mut url: Url) -> Url {
        url.set_fragment(None);
        let secret = |name: &str| self.secret_query.iter().any(|(it, _)| *it == name);
        if !url.query_pairs().any(|(name, _)| secret(&name)) {
            return url;
        }
        let rest: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !secret(name))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        url.set_query(None);
        if !rest.is_empty() {
            url.query_pairs_mut().extend_pairs(rest);
        }
        url
    }
}

/// Sends the request and follows redirects; returns the response and its URL without secrets.
pub(super) async fn send_with_redirects(
    guard: &SsrfGuard,
    clients: &ReqwestClients,
    outgoing: &OutboundRequest<'_>,
) -> Result<(Response, Url), FetchAttemptError> {
    let home = origin(outgoing.url);
    let mut url = outgoing.strip_secrets(outgoing.url.clone());
    let mut body = outgoing.body;
    let mut asked_by = UrlSource::Settings;
    for _ in 0..=MAX_REDIRECTS {
        let at_home = origin(&url) == home;
        let trusted = asked_by == UrlSource::Settings && guard.trusts(&url);
        guard
            .check_for(&url, asked_by)
            .map_err(FetchAttemptError::Final)?;
        if at_home && outgoing.has_secrets() && url.scheme() != "https" && !trusted {
            let reason = "an API key is sent over https only";
            return Err(FetchAttemptError::Final(forbidden_error(&url, reason)));
        }
        // A redirect from a public host must never lead to a trusted private origin.
        if !trusted {
            asked_by = UrlSource::Remote;
        }
        let client = clients
            .get(trusted)
            .await
            .map_err(FetchAttemptError::Final)?;
        let request = build_request(client, outgoing, &url, body, at_home)
            .map_err(FetchAttemptError::Final)?;
        let response = client
            .execute(request)
            .await
            .map_err(|error| request_error(&url, &error))?;
        let status = response.status().as_u16();
        let Some(to) = redirect_target(&response) else {
            return Ok((response, url));
        };
        let next = url.join(&to).map_err(|_| {
            FetchAttemptError::Final(unreadable_error(&url, "it redirects to an invalid URL"))
        })?;
        let next = outgoing.strip_secrets(next);
        if outgoing.has_secrets() && is_downgrade(&url, &next) {
            let reason = "a request with an API key is redirected from https to http";
            return Err(FetchAttemptError::Final(forbidden_error(&next, reason)));
        }
        // A redirected POST becomes a GET, except for these statuses.
        if !matches!(status, 307 | 308) {
            body = None;
        }
        url = next;
    }
    let reason = format!("it redirects more than {MAX_REDIRECTS} times");
    Err(FetchAttemptError::Final(unreadable_error(&url, &reason)))
}

fn build_request(
    client: &reqwest::Client,
    outgoing: &OutboundRequest<'_>,
    url: &Url,
    body: Option<&serde_json::Value>,
    at_home: bool,
) -> Result<reqwest::Request, HttpClientError> {
    let mut url = url.clone();
    if at_home && !outgoing.secret_query.is_empty() {
        let mut pairs = url.query_pairs_mut();
        for (name, value) in outgoing.secret_query {
            pairs.append_pair(name, value.expose_secret());
        }
    }
    let method = if body.is_some() {
        Method::POST
    } else {
        Method::GET
    };
    let mut builder = client
        .request(method, url)
        .header(header::ACCEPT, outgoing.accept);
    if let Some(body) = body {
        builder = builder.json(body);
    }
    let secrets = outgoing.secret_headers.iter().filter(|_| at_home);
    for (name, value) in secrets {
        let mut value = header::HeaderValue::from_str(value.expose_secret()).map_err(|_| {
            HttpClientError::Local {
                what: "sending the API key",
                reason: "it can't be sent in a header; check that it was copied correctly"
                    .to_owned(),
            }
        })?;
        value.set_sensitive(true);
        builder = builder.header(*name, value);
    }
    builder.build().map_err(|error| HttpClientError::Local {
        what: "building the request",
        reason: innermost_reason(&error),
    })
}

/// The target of a redirect response.
fn redirect_target(response: &Response) -> Option<String> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308).then_some(())?;
    let to = response.headers().get(header::LOCATION)?;
    Some(String::from_utf8_lossy(to.as_bytes()).into_owned())
}

/// Whether a redirect leads from an encrypted connection to an unencrypted one.
fn is_downgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == "https" && to.scheme() != "https"
}

fn forbidden_error(url: &Url, reason: &str) -> HttpClientError {
    HttpClientError::Forbidden {
        url: redacted_url(url),
        reason: reason.to_owned(),
    }
}

fn unreadable_error(url: &Url, reason: &str) -> HttpClientError {
    HttpClientError::Unreadable {
        host: host_label(url),
        reason: reason.to_owned(),
    }
}

/// The error for a request without a response.
pub(super) fn request_error(url: &Url, error: &reqwest::Error) -> FetchAttemptError {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(BlockedAddress(reason)) = inner.downcast_ref::<BlockedAddress>() {
            return FetchAttemptError::Final(forbidden_error(url, reason));
        }
        cause = inner.source();
    }
    FetchAttemptError::Retryable(HttpClientError::Unreachable {
        host: host_label(url),
        reason: innermost_reason(error),
    })
}

fn innermost_reason(error: &reqwest::Error) -> String {
    root_cause(error).unwrap_or_else(|| "the request could not be sent".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn keys_are_taken_out_and_the_rest_stays_as_it_is_written() {
        let key = [("api_key", SecretString::from("hidden"))];
        let asked = url("https://example.org/");
        let outgoing = OutboundRequest {
            url: &asked,
            body: None,
            accept: "*/*",
            secret_headers: &[],
            secret_query: &key,
        };
        for (dirty, clean) in [
            (
                "https://a.org/?q=[1%20TO%202]#x",
                "https://a.org/?q=[1%20TO%202]",
            ),
            ("https://a.org/?api_key=hidden", "https://a.org/"),
            (
                "https://a.org/?q=1&api_key=hidden&r=2",
                "https://a.org/?q=1&r=2",
            ),
            ("https://a.org/?api%5Fkey=hidden", "https://a.org/"),
        ] {
            assert_eq!(outgoing.strip_secrets(url(dirty)).as_str(), clean);
        }
    }

    #[test]
    fn only_the_way_down_is_one() {
        let (plain, safe) = (url("http://a.org"), url("https://a.org"));
        assert!(is_downgrade(&safe, &plain));
        assert!(!is_downgrade(&plain, &safe));
        assert!(!is_downgrade(&safe, &safe));
        assert!(!is_downgrade(&plain, &plain));
    }
}
