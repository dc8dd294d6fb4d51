//! Which pages may ask. A browser says in `Origin` whose page sends a request; programs that are
//! no browsers send none.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header, uri::Authority};

use super::{
    Refusal,
    hosts::{authority, is_loopback_name},
};

/// Where a request comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// From a program, or from a page of our own.
    Own,
    /// From a page that was allowed by name, and needs to be told so.
    Configured(HeaderValue),
}

/// The pages that were allowed by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    allowed: Vec<String>,
}

impl Origins {
    pub(super) fn new(allowed: &[String]) -> Self {
        Self {
            allowed: allowed.to_vec(),
        }
    }

    /// Where the request comes from, if it may come from there. `host` has been checked.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        host: &Authority,
        reached: IpAddr,
    ) -> Result<Origin, Refusal> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) if is_foreign_fetch(method, headers) => Err(refused()),
            (None, _) => Ok(Origin::Own),
            (Some(origin), None) => self.known(origin, host, reached).ok_or_else(refused),
            _ => Err(refused()),
        }
    }

    fn known(&self, origin: &HeaderValue, host: &Authority, reached: IpAddr) -> Option<Origin> {
        let text = origin.to_str().ok()?;
        if self.allowed.iter().any(|allowed| allowed == text) {
            return Some(Origin::Configured(origin.clone()));
        }
        let (scheme, rest) = text.split_once("://")?;
        let page = authority(rest.as_bytes())?;
        // TLS may end before us, so a page of ours may have come by either.
        if matches!(scheme, "http" | "https") && page == *host {
            return Some(Origin::Own);
        }
        let on_this_machine = scheme == "http"
            && reached.to_canonical().is_loopback()
            && is_loopback_name(page.host());
        on_this_machine.then_some(Origin::Own)
    }
}

/// Whether a browser fetches this for a page of somebody else's: a picture, a script. It sends no
/// `Origin` for those, yet says so here. A link that a person follows is no fetch.
fn is_foreign_fetch(method: &Method, headers: &HeaderMap) -> bool {
    let says = |name: &str, value: &str| {
        headers
            .get(name)
            .is_some_and(|said| said.as_bytes() == value.as_bytes())
    };
    let follows_a_link = method == Method::GET && says("sec-fetch-mode", "navigate");
    says("sec-fetch-site", "cross-site") && !follows_a_link
}

fn refused() -> Refusal {
    Refusal::new(
        StatusCode::FORBIDDEN,
        "origin_refused",
        "Pages of that origin may not use this server; add it to the server's allowed origins.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_are_ours_only_on_this_machine() {
        let known = |origin: &'static str, reached: &str| {
            let host = "192.168.0.2:8000".parse().unwrap();
            let origin = HeaderValue::from_static(origin);
            let known = Origins::default().known(&origin, &host, reached.parse().unwrap());
            known.is_some()
        };
        assert!(known("http://localhost:3000", "127.0.0.1"));
        assert!(!known("http://localhost:3000", "192.168.0.2"));
        assert!(known("http://192.168.0.2:8000", "192.168.0.2"));
        assert!(!known("http://192.168.0.2:8001", "192.168.0.2"));
    }
}
