//! Sends a request and follows where it is redirected to, each step checked anew. Keys go to the
//! origin they are meant for and nowhere else.

use std::error::Error as _;

use reqwest::{Method, Response, header};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::{
    WebError,
    client::Clients,
    guard::{Asker, Guard, Refused, origin},
    persist::Setback,
    request::{address_of, host_of},
};

/// How often an answer may send us elsewhere.
const MOST_REDIRECTS: usize = 5;

/// What is sent.
pub(super) struct Outgoing<'a> {
    pub(super) url: &'a Url,
    pub(super) body: Option<&'a serde_json::Value>,
    pub(super) accept: &'a str,
    pub(super) secrets: &'a [(&'static str, SecretString)],
    pub(super) secret_query: &'a [(&'static str, SecretString)],
}

impl Outgoing<'_> {
    fn has_secrets(&self) -> bool {
        !self.secrets.is_empty() || !self.secret_query.is_empty()
    }

    /// The address without parameters that hold keys. Others keep the way they are written.
    pub(super) fn clean(&self, mut url: Url) -> Url {
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
pub(super) async fn follow(
    guard: &Guard,
    clients: &Clients,
    outgoing: &Outgoing<'_>,
) -> Result<(Response, Url), Setback> {
    let home = origin(outgoing.url);
    let mut url = outgoing.clean(outgoing.url.clone());
    let mut body = outgoing.body;
    let mut asked_by = Asker::Settings;
    for _ in 0..=MOST_REDIRECTS {
        let at_home = origin(&url) == home;
        let trusted = asked_by == Asker::Settings && guard.trusts(&url);
        guard.check_for(&url, asked_by).map_err(Setback::Final)?;
        if at_home && outgoing.has_secrets() && url.scheme() != "https" && !trusted {
            let reason = "a key is sent over https only";
            return Err(Setback::Final(forbidden(&url, reason)));
        }
        // Once out on the net, no redirect leads back in.
        if !trusted {
            asked_by = Asker::Net;
        }
        let client = clients.get(trusted).await.map_err(Setback::Final)?;
        let request = build(client, outgoing, &url, body, at_home).map_err(Setback::Final)?;
        let response = client
            .execute(request)
            .await
            .map_err(|error| unreachable(&url, &error))?;
        let status = response.status().as_u16();
        let Some(to) = redirected(&response) else {
            return Ok((response, url));
        };
        let next = url
            .join(&to)
            .map_err(|_| Setback::Final(unreadable(&url, "it redirects to no address")))?;
        let next = outgoing.clean(next);
        if outgoing.has_secrets() && is_downgrade(&url, &next) {
            let reason = "a request with a key is redirected from https to http";
            return Err(Setback::Final(forbidden(&next, reason)));
        }
        // What POST asked is asked again with GET, except where the status says otherwise.
        if !matches!(status, 307 | 308) {
            body = None;
        }
        url = next;
    }
    let reason = format!("it redirects more than {MOST_REDIRECTS} times");
    Err(Setback::Final(unreadable(&url, &reason)))
}

fn build(
    client: &reqwest::Client,
    outgoing: &Outgoing<'_>,
    url: &Url,
    body: Option<&serde_json::Value>,
    at_home: bool,
) -> Result<reqwest::Request, WebError> {
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
    let secrets = outgoing.secrets.iter().filter(|_| at_home);
    for (name, value) in secrets {
        let mut value =
            header::HeaderValue::from_str(value.expose_secret()).map_err(|_| WebError::Local {
                what: "sending the key",
                reason: "it can't be sent in a header; check that it was copied right".to_owned(),
            })?;
        value.set_sensitive(true);
        builder = builder.header(*name, value);
    }
    builder.build().map_err(|error| WebError::Local {
        what: "making the request",
        reason: innermost(&error),
    })
}

/// Where an answer sends us, if it does.
fn redirected(response: &Response) -> Option<String> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308).then_some(())?;
    let to = response.headers().get(header::LOCATION)?;
    Some(String::from_utf8_lossy(to.as_bytes()).into_owned())
}

/// From a wire that nobody can read to one that everyone can.
fn is_downgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == "https" && to.scheme() != "https"
}

fn forbidden(url: &Url, reason: &str) -> WebError {
    WebError::Forbidden {
        address: address_of(url),
        reason: reason.to_owned(),
    }
}

fn unreadable(url: &Url, reason: &str) -> WebError {
    WebError::Unreadable {
        host: host_of(url),
        reason: reason.to_owned(),
    }
}

/// What became of a request that has no answer.
pub(super) fn unreachable(url: &Url, error: &reqwest::Error) -> Setback {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(Refused(reason)) = inner.downcast_ref::<Refused>() {
            return Setback::Final(forbidden(url, reason));
        }
        cause = inner.source();
    }
    Setback::Again(WebError::Unreachable {
        host: host_of(url),
        reason: innermost(error),
    })
}

/// The cause at the bottom: those above it repeat the address with its keys.
fn innermost(error: &reqwest::Error) -> String {
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
        let outgoing = Outgoing {
            url: &asked,
            body: None,
            accept: "*/*",
            secrets: &[],
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
            assert_eq!(outgoing.clean(url(dirty)).as_str(), clean);
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
