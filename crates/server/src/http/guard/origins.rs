//! Checks the `Origin` header, in which a browser names the page that sends a request. Programs
//! that are not browsers send none.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header, uri::Authority};

use super::{
    HttpRejection,
    hosts::{is_loopback_name, parse_authority},
};

/// The origin of an allowed request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestOrigin {
    /// A program, or a page of this server.
    Own,
    /// A page of a configured origin, which needs CORS headers.
    Configured(HeaderValue),
}

/// The configured origins.
#[derive(Debug, Clone, Default)]
pub(super) struct AllowedOrigins {
    allowed: Vec<String>,
}

impl AllowedOrigins {
    pub(super) fn new(allowed: &[String]) -> Self {
        Self {
            allowed: allowed.to_vec(),
        }
    }

    /// The origin of the request, if it is allowed. `host` has already been checked.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        host: &Authority,
        reached: IpAddr,
    ) -> Result<RequestOrigin, HttpRejection> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) if is_cross_site_fetch(method, headers) => Err(origin_rejected()),
            (None, _) => Ok(RequestOrigin::Own),
            (Some(origin), None) => self
                .match_origin(origin, host, reached)
                .ok_or_else(origin_rejected),
            _ => Err(origin_rejected()),
        }
    }

    fn match_origin(
        &self,
        origin: &HeaderValue,
        host: &Authority,
        reached: IpAddr,
    ) -> Option<RequestOrigin> {
        let text = origin.to_str().ok()?;
        if self.allowed.iter().any(|allowed| allowed == text) {
            return Some(RequestOrigin::Configured(origin.clone()));
        }
        let (scheme, rest) = text.split_once("://")?;
        let page = parse_authority(rest.as_bytes())?;
        // A proxy may terminate TLS, so a page of this server may use either scheme.
        if matches!(scheme, "http" | "https") && page == *host {
            return Some(RequestOrigin::Own);
        }
        let on_this_machine = scheme == "http"
            && reached.to_canonical().is_loopback()
            && is_loopback_name(page.host());
        on_this_machine.then_some(RequestOrigin::Own)
    }
}

/// Tells whether a browser fetches this for a page of another site, such as an image or a script.
/// It sends no `Origin` for those, but `Sec-Fetch-Site`. A link that a person follows is not such
/// a fetch.
fn is_cross_site_fetch(method: &Method, headers: &HeaderMap) -> bool {
    let says = |name: &str, value: &str| {
        headers
            .get(name)
            .is_some_and(|said| said.as_bytes() == value.as_bytes())
    };
    let follows_a_link = method == Method::GET && says("sec-fetch-mode", "navigate");
    says("sec-fetch-site", "cross-site") && !follows_a_link
}

fn origin_rejected() -> HttpRejection {
    HttpRejection::new(
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
            let known =
                AllowedOrigins::default().match_origin(&origin, &host, reached.parse().unwrap());
            known.is_some()
        };
        assert!(known("http://localhost:3000", "127.0.0.1"));
        assert!(!known("http://localhost:3000", "192.168.0.2"));
        assert!(known("http://192.168.0.2:8000", "192.168.0.2"));
        assert!(!known("http://192.168.0.2:8001", "192.168.0.2"));
    }
}
