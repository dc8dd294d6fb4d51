//! Builds `reqwest` clients: the one TLS configuration, no redirects, no proxy to this machine.

use std::{error::Error, sync::OnceLock};

use reqwest::{Client, ClientBuilder, redirect::Policy};
use url::Url;

use crate::{error_text::root_cause, is_loopback, tls::http_tls_config};

/// Why a client could not be built. It contains no URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ClientBuildError {
    reason: String,
}

impl From<reqwest::Error> for ClientBuildError {
    fn from(error: reqwest::Error) -> Self {
        Self::new(&error)
    }
}

impl From<rustls::Error> for ClientBuildError {
    fn from(error: rustls::Error) -> Self {
        Self::new(&error)
    }
}

impl ClientBuildError {
    fn new(error: &(dyn Error + 'static)) -> Self {
        Self {
            reason: root_cause(error).unwrap_or_else(|| error.to_string()),
        }
    }
}

/// Begins a client for one address. Redirects are not followed: they would send secrets and texts
/// to a host that nobody chose. Proxies are not used for this machine.
pub fn client_builder(url: &Url) -> Result<ClientBuilder, ClientBuildError> {
    let builder = base_builder()?;
    Ok(if is_loopback(url) {
        builder.no_proxy()
    } else {
        builder
    })
}

/// Begins a client for any address.
pub(crate) fn base_builder() -> Result<ClientBuilder, ClientBuildError> {
    Ok(Client::builder()
        .tls_backend_preconfigured(http_tls_config()?)
        .redirect(Policy::none())
        .user_agent(concat!("deliberate/", env!("CARGO_PKG_VERSION"))))
}

/// A client that is built with its first use. A failure to build it is not stored, because it may
/// be a moment without file descriptors.
#[derive(Debug, Default)]
pub struct LazyClient(OnceLock<Client>);

impl LazyClient {
    /// Returns the client; builds it if there is none yet.
    pub fn get_or_build(
        &self,
        builder: impl FnOnce() -> Result<ClientBuilder, ClientBuildError>,
    ) -> Result<&Client, ClientBuildError> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let built = builder()?.build()?;
        Ok(self.0.get_or_init(|| built))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_could_not_be_built_is_built_again() {
        let client = LazyClient::default();
        let failed = || Err(rustls::Error::General("no certificates".to_owned()).into());
        let error = client.get_or_build(failed).unwrap_err();
        assert!(error.to_string().contains("no certificates"), "{error}");
        let url = "https://example.org".parse().unwrap();
        assert!(client.get_or_build(|| client_builder(&url)).is_ok());
        assert!(client.get_or_build(failed).is_ok(), "it is kept");
    }
}
