//! Checks the `Host` header. A web page can make its own host name resolve to this machine (DNS
//! rebinding); the `Host` header still contains that name.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{HeaderMap, StatusCode, Uri, Version, header, uri::Authority};

use super::HttpRejection;

/// The host names that are allowed besides the address of the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct AllowedHosts {
    allowed: Vec<String>,
}

impl AllowedHosts {
    /// Each entry is a host, or a host and a port.
    pub(super) fn new(allowed: &[String]) -> Self {
        Self {
            allowed: allowed.to_vec(),
        }
    }

    /// The host of the request, if it is allowed. `reached` is the local address of the connection.
    pub(super) fn check(
        &self,
        version: Version,
        uri: &Uri,
        headers: &HeaderMap,
        reached: IpAddr,
    ) -> Result<Authority, HttpRejection> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host,
            (None, _) if version == Version::HTTP_11 => return Err(host_missing()),
            _ => return Err(host_rejected()),
        };
        let host = parse_authority(host.as_bytes()).ok_or_else(host_rejected)?;
        // A host in the request line takes precedence over the header, so they must agree.
        if uri.authority().is_some_and(|named| *named != host) {
            return Err(host_rejected());
        }
        if self.is_allowed(&host, reached) {
            Ok(host)
        } else {
            Err(host_rejected())
        }
    }

    fn is_allowed(&self, host: &Authority, reached: IpAddr) -> bool {
        let name = host.host();
        let is_allowed = |allowed: &String| {
            allowed.eq_ignore_ascii_case(host.as_str()) || allowed.eq_ignore_ascii_case(name)
        };
        if self.allowed.iter().any(is_allowed) {
            return true;
        }
        if reached.to_canonical().is_loopback() && is_loopback_name(name) {
            return true;
        }
        // An IP literal cannot be rebound, because no name is resolved. It must be the local address of
        // the connection.
        !reached.is_unspecified() && parse_ip_literal(name) == Some(reached.to_canonical())
    }
}

/// Tells whether a name always refers to the local machine.
pub(super) fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]")
}

/// Parses exactly `host` or `host:port`.
pub(super) fn parse_authority(bytes: &[u8]) -> Option<Authority> {
    let text = std::str::from_utf8(bytes).ok()?;
    let read: Authority = text.parse().ok()?;
    let rest = text.strip_prefix(read.host())?;
    let port_is_sound = rest.is_empty()
        || rest
            .strip_prefix(':')
            .is_some_and(|port| !port.starts_with('+') && port.parse::<u16>().is_ok());
    (!text.contains('@') && !read.host().is_empty() && port_is_sound).then_some(read)
}

fn parse_ip_literal(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let address = match bare {
        Some(bare) => IpAddr::V6(bare.parse::<Ipv6Addr>().ok()?),
        None => IpAddr::V4(name.parse().ok()?),
    };
    Some(address.to_canonical())
}

fn host_missing() -> HttpRejection {
    HttpRejection::new(
        StatusCode::BAD_REQUEST,
        "host_missing",
        "The request has no Host header; send one.",
    )
}

fn host_rejected() -> HttpRejection {
    HttpRejection::new(
        StatusCode::FORBIDDEN,
        "host_refused",
        "This Host is not allowed; use the server's address, or add the name to its allowed hosts.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_answered_to_where_it_was_reached() {
        let hosts = AllowedHosts::new(&["mcp.example.com".to_owned()]);
        let answers = |host: &str, reached: &str| {
            hosts.is_allowed(&host.parse().unwrap(), reached.parse().unwrap())
        };
        for (host, reached) in [
            ("192.168.0.2:8000", "192.168.0.2"),
            ("192.168.0.2", "::ffff:192.168.0.2"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("[2001:DB8:0::1]", "2001:db8::1"),
            ("mcp.example.com", "192.168.0.2"),
            ("localhost", "127.0.0.1"),
            ("localhost", "::ffff:127.0.0.1"),
            ("127.0.0.9", "127.0.0.9"),
        ] {
            assert!(answers(host, reached), "{host} {reached}");
        }
        for (host, reached) in [
            ("localhost", "192.168.0.2"),
            ("127.0.0.1", "192.168.0.2"),
            ("192.168.0.3", "192.168.0.2"),
            ("0.0.0.0", "0.0.0.0"),
            ("localhost", "0.0.0.0"),
            ("[::]", "::"),
            ("evil.example", "127.0.0.1"),
            ("localhost.", "127.0.0.1"),
        ] {
            assert!(!answers(host, reached), "{host} {reached}");
        }
    }

    #[test]
    fn only_a_host_with_a_port_is_read() {
        for good in ["localhost", "localhost:80", "[::1]:8080", "a.example"] {
            assert!(parse_authority(good.as_bytes()).is_some(), "{good}");
        }
        for bad in [
            "",
            ":80",
            "localhost:",
            "localhost:99999",
            "localhost:+8",
            "user@localhost",
            "localhost/",
            "local host",
            "localhost, evil.example",
            "[::1",
            "\u{e9}.example",
        ] {
            assert!(parse_authority(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
