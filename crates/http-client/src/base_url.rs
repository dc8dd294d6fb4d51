//! Which URLs secrets may be sent to: encrypted ones, and those of this machine.

use url::{Host, ParseError, Url};

/// Why a base URL cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    #[error("the base URL is invalid: {0}")]
    Invalid(#[from] ParseError),
    #[error("the base URL contains a user name or password; use the API key")]
    Credentials,
    #[error(
        "the base URL {scheme}://{host} is not allowed: use https, or http on this machine only"
    )]
    Unprotected { scheme: String, host: String },
}

/// Parses the base URL of a service and removes its trailing slashes, query and fragment. Plain
/// HTTP is allowed on this machine only: elsewhere keys and texts would be readable in transit.
pub fn parse_base_url(text: &str) -> Result<Url, BaseUrlError> {
    let mut url = Url::parse(text.trim())?;
    if has_credentials(&url) {
        return Err(BaseUrlError::Credentials);
    }
    if !is_protected(&url) {
        return Err(BaseUrlError::Unprotected {
            scheme: url.scheme().to_owned(),
            host: url.host_str().unwrap_or_default().to_owned(),
        });
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Tells whether the way to a URL is protected: HTTPS, or HTTP on this machine. A URL with a user
/// name or password is not, because it would end up in logs.
pub fn is_protected(url: &Url) -> bool {
    !has_credentials(url)
        && match url.scheme() {
            "https" => url.host().is_some(),
            "http" => is_loopback(url),
            _ => false,
        }
}

/// Tells whether a URL is on this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Tells whether a text is a URL on this machine.
pub fn is_local_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| is_loopback(&url))
}

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in [
            "https://api.example.com",
            "http://127.0.0.1:11434/v1",
            "http://127.9.9.9",
            "http://[::1]:8080/v1",
            "http://localhost:1234/v1/",
        ] {
            assert!(parse_base_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://api.example.com",
            "http://192.168.0.2/v1",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://[::2]/",
            "ftp://127.0.0.1",
            "api.example.com",
            "https://user:secret@example.com",
            "",
        ] {
            let error = parse_base_url(bad).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{bad}");
            assert!(
                !Url::parse(bad).is_ok_and(|url| is_protected(&url)),
                "{bad}"
            );
        }
    }

    #[test]
    fn slashes_query_and_fragment_are_removed() {
        let url = parse_base_url(" https://api.example.com/v1//?key=x#top ").unwrap();
        assert_eq!(url.as_str(), "https://api.example.com/v1");
    }

    #[test]
    fn only_loopback_is_this_machine() {
        for (address, local) in [
            ("http://localhost:9", true),
            ("https://LOCALHOST/", true),
            ("http://127.0.0.1", true),
            ("http://[::1]/", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.com", false),
            ("localhost", false),
        ] {
            assert_eq!(is_local_url(address), local, "{address}");
        }
    }
}
