//! Whether other machines reach the HTTP server, and the limits and warnings that follow from it.

use std::{net::SocketAddr, num::NonZeroU32};

use deliberate_http_client::is_loopback;
use deliberate_server::http::limits::LimitOptions;

use crate::config::HttpServerSettings;

/// Returns whether a host, with or without a port, is not this machine.
pub(super) fn is_foreign(host: &str) -> bool {
    is_public(Some(&format!("http://{host}")))
}

/// Returns whether other machines are to reach this address, possibly through a proxy.
pub(super) fn is_public(url: Option<&str>) -> bool {
    let url = url.and_then(|url| url::Url::parse(url).ok());
    url.is_some_and(|url| !is_loopback(&url))
}

/// Returns whether other machines reach the server: at its address, or through a proxy.
fn is_remote(address: SocketAddr, http: &HttpServerSettings) -> bool {
    !address.ip().to_canonical().is_loopback()
        || is_public(http.public_url.as_deref())
        || http.allowed_hosts.iter().any(|host| is_foreign(host))
}

pub(super) fn limit_options(address: SocketAddr, http: &HttpServerSettings) -> LimitOptions {
    let mut limits = if is_remote(address, http) {
        LimitOptions::REMOTE
    } else {
        LimitOptions::LOCAL
    };
    if let Some(per_minute) = http.requests_per_minute {
        limits.per_minute = NonZeroU32::new(per_minute);
        limits.burst = None;
    }
    if http.concurrent_requests.is_some() {
        limits.max_concurrent = http.concurrent_requests;
    }
    limits
}

/// On this machine all clients share one address; from other machines no client may use every
/// session.
pub(super) fn sessions_per_client(address: SocketAddr, http: &HttpServerSettings) -> usize {
    if is_remote(address, http) {
        http.max_sessions.div_ceil(4)
    } else {
        http.max_sessions
    }
}

/// Connections are counted by address. On this machine all clients share one, also those that come
/// through a proxy.
pub(super) fn connections_per_client(address: SocketAddr, http: &HttpServerSettings) -> usize {
    if address.ip().to_canonical().is_loopback() {
        http.connections
    } else {
        http.connections.div_ceil(2)
    }
}

/// Returns a warning if clients on other machines send their tokens unencrypted.
pub(crate) fn plain_http_warning(address: SocketAddr, http: &HttpServerSettings) -> Option<String> {
    let url = http.public_url.as_deref();
    let parsed = url.and_then(|url| url::Url::parse(url).ok());
    let is_encrypted = parsed.is_some_and(|url| url.scheme() == "https");
    let is_reached = !address.ip().to_canonical().is_loopback();
    if is_encrypted {
        return is_reached.then(|| {
            format!(
                "other machines reach {address} over plain HTTP too, past the proxy of \
                 http.public_url; clients that do so send tokens that others can read on the way; \
                 listen on 127.0.0.1, or let nothing but the proxy reach the port"
            )
        });
    }
    (is_reached || is_public(url)).then(|| {
        format!(
            "clients on other machines reach {address} over plain HTTP, so that others can read \
             their tokens on the way; put a proxy with TLS in front of it and set \
             http.public_url to its https URL"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AppSettings, Environment, Flags};

    fn http(set: &[(&str, &str)]) -> HttpServerSettings {
        let mut flags = Flags::default();
        for (key, value) in [("database.path", ":memory:")].iter().chain(set) {
            flags.set("--set".to_owned(), key, value);
        }
        let loaded = AppSettings::load_from(&flags, Environment::default());
        loaded.unwrap().settings.http
    }

    #[test]
    fn clients_that_come_through_a_proxy_have_the_limits_of_other_machines() {
        let local = "127.0.0.1:8484".parse().unwrap();
        let everywhere = "0.0.0.0:8484".parse().unwrap();
        for (address, set, remote) in [
            (local, &[][..], false),
            (
                local,
                &[("http.public_url", "http://localhost:8484")],
                false,
            ),
            (
                local,
                &[("http.allowed_hosts", "localhost,127.0.0.1")],
                false,
            ),
            (
                local,
                &[("http.public_url", "https://mcp.example.com")],
                true,
            ),
            (
                local,
                &[("http.allowed_hosts", "localhost,mcp.example.com")],
                true,
            ),
            (everywhere, &[], true),
        ] {
            let http = http(set);
            let limits = limit_options(address, &http);
            assert_eq!(limits.per_minute.is_some(), remote, "{address} {set:?}");
            assert_eq!(
                sessions_per_client(address, &http) < http.max_sessions,
                remote
            );
        }
    }

    #[test]
    fn tokens_over_plain_http_beyond_this_machine_are_warned_about() {
        let local = "127.0.0.1:8484".parse().unwrap();
        let everywhere = "0.0.0.0:8484".parse().unwrap();
        for (address, set, warns) in [
            (local, &[][..], false),
            (
                local,
                &[("http.public_url", "https://mcp.example.com")],
                false,
            ),
            (
                local,
                &[("http.public_url", "http://mcp.example.com")],
                true,
            ),
            (
                everywhere,
                &[("http.public_url", "https://mcp.example.com")],
                true,
            ),
            (
                everywhere,
                &[("http.public_url", "http://localhost:8484")],
                true,
            ),
            (everywhere, &[], true),
        ] {
            let warning = plain_http_warning(address, &http(set));
            assert_eq!(warning.is_some(), warns, "{address} {set:?}");
        }
    }
}
