//! What keeps keys and prompts on the wire they belong to.

use reqwest::{Client, redirect::Policy};
use url::{Host, Url};

use crate::ModelError;

/// Chooses `ring` for TLS. The first call of the process counts; later ones do nothing.
///
/// Clients are built with it done; a program that makes TLS connections of its own calls it too.
pub fn install_crypto() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Reads a base URL, without its last slash. Plain HTTP is for this machine only: keys and
/// prompts would be readable on the way.
pub(crate) fn base_url(provider: &str, text: &str) -> Result<Url, ModelError> {
    let wrong = |reason: String| ModelError::Misconfigured {
        provider: provider.to_owned(),
        reason,
    };
    let mut url = Url::parse(text.trim())
        .map_err(|error| wrong(format!("the base URL can't be read: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "the base URL holds a user name or password; use the API key".to_owned(),
        ));
    }
    let secure = match url.scheme() {
        "https" => url.host().is_some(),
        "http" => is_loopback(&url),
        _ => false,
    };
    if !secure {
        return Err(wrong(format!(
            "the base URL {}://{} is refused: use https, or http to this machine only",
            url.scheme(),
            url.host_str().unwrap_or_default()
        )));
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Whether an address is on this machine.
pub fn is_local_url(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| is_loopback(&url))
}

/// Whether a URL points to this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A client for one base URL. Redirects are not followed: they would carry the prompt to a host
/// that nobody chose. Proxies are for what is not on this machine.
pub(crate) fn client(base: &Url) -> Result<Client, reqwest::Error> {
    install_crypto();
    let builder = Client::builder()
        .redirect(Policy::none())
        .user_agent(concat!("deliberate/", env!("CARGO_PKG_VERSION")));
    let builder = if is_loopback(base) {
        builder.no_proxy()
    } else {
        builder
    };
    builder.build()
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
            assert!(base_url("test", good).is_ok(), "{good}");
        }
        for bad in [
            "http://api.example.com",
            "http://192.168.0.2/v1",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://[::2]/",
            "ftp://127.0.0.1",
            "api.example.com",
            "https://user:secret@api.example.com",
            "",
        ] {
            let error = base_url("test", bad).unwrap_err();
            assert_eq!(error.code(), "Config", "{bad}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn the_last_slash_goes() {
        let url = base_url("test", "https://api.example.com/v1//").unwrap();
        assert_eq!(url.as_str(), "https://api.example.com/v1");
    }
}
