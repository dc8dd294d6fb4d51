//! TLS and base URLs: keeps API keys and prompts on encrypted connections and with the chosen host.

use reqwest::{Client, redirect::Policy};
use url::{Host, Url};

use crate::ModelError;

/// Selects `ring` for TLS. The first call in the process counts; later ones do nothing.
///
/// The HTTP clients call it themselves; a program that opens other TLS connections calls it too.
pub fn install_crypto() {
    // An error means that a crypto provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Parses a base URL and removes its trailing slash. Plain HTTP is allowed on this machine only:
/// elsewhere keys and prompts would be readable in transit.
pub(crate) fn base_url(provider: &str, text: &str) -> Result<Url, ModelError> {
    let wrong = |reason: String| ModelError::Misconfigured {
        provider: provider.to_owned(),
        reason,
    };
    let mut url = Url::parse(text.trim())
        .map_err(|error| wrong(format!("the base URL is invalid: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "the base URL contains a user name or password; use the API key".to_owned(),
        ));
    }
    let secure = match url.scheme() {
        "https" => url.host().is_some(),
        "http" => is_loopback(&url),
        _ => false,
    };
    if !secure {
        return Err(wrong(format!(
            "the base URL {}://{} is not allowed: use https, or http on this machine only",
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

/// Returns whether a URL is on this machine.
pub fn is_local_url(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| is_loopback(&url))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Builds a client for one base URL. Redirects are not followed: they would send the prompt to a
/// host that nobody chose. Proxies are not used for this machine.
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
