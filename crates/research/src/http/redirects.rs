//! Sends a request and follows where it is redirected to, each step checked anew. Keys go to the
//! origin they are meant for and nowhere else.

use std::error::Error as _;

use reqwest::{Method, Response, header};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::{
    HttpClientError,
    request::{host_label, redacted_url},
    reqwest_clients::ReqwestClients,
    retry::FetchAttemptError,
    ssrf_guard::{BlockedAddress, SsrfGuard, UrlSource, origin},
};

/// How often an answer may send us elsewhere.
const MAX_REDIRECTS: usize = 5;

/// What is sent.
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

    /// The address without parameters that hold keys. Others keep the way they are written.
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

/// Sends it, and follows. Gives the answer and the address it is from, without keys.
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
            let reason = "a key is sent over https only";
            return Err(FetchAttemptError::Final(forbidden_error(&url, reason)));
        }
        // Once out on the net, no redirect leads back in.
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
            FetchAttemptError::Final(unreadable_error(&url, "it redirects to no address"))
        })?;
        let next = outgoing.strip_secrets(next);
        if outgoing.has_secrets() && is_downgrade(&url, &next) {
            let reason = "a request with a key is redirected from https to http";
            return Err(FetchAttemptError::Final(forbidden_error(&next, reason)));
        }
        // What POST asked is asked again with GET, except where the status says otherwise.
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
                what: "sending the key",
                reason: "it can't be sent in a header; check that it was copied right".to_owned(),
            }
        })?;
        value.set_sensitive(true);
        builder = builder.header(*name, value);
    }
    builder.build().map_err(|error| HttpClientError::Local {
        what: "making the request",
        reason: root_cause(&error),
    })
}

/// Where an answer sends us, if it does.
fn redirect_target(response: &Response) -> Option<String> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308).then_some(())?;
    let to = response.headers().get(header::LOCATION)?;
    Some(String::from_utf8_lossy(to.as_bytes()).into_owned())
}

/// From a wire that nobody can read to one that everyone can.
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

/// What became of a request that has no answer.
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
        reason: root_cause(error),
    })
}

/// The cause at the bottom: those above it repeat the address with its keys.
fn root_cause(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else {
        return "the request could not be sent".to_owned();
    };
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
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
