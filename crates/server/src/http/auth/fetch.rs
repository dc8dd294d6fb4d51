//! Fetches JSON documents from an issuer with limits on size and time and without redirects.

use std::{sync::OnceLock, time::Duration};

use reqwest::{Client, Response, header, redirect::Policy};
use serde::de::DeserializeOwned;
use thiserror::Error;
use url::{Host, Url};

const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why a fetch failed. It never contains text from the other side.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error("the URL is not secure: https is required")]
    Insecure,
    #[error("the issuer cannot be reached")]
    Unreachable(#[from] reqwest::Error),
    #[error("the HTTP client could not be built")]
    NoClient(#[source] reqwest::Error),
    #[error("the issuer answered with status {0}")]
    Status(u16),
    #[error("the document is larger than 256 KiB")]
    TooLarge,
    #[error("the document is not JSON of the expected form")]
    Unreadable,
    #[error("the metadata belongs to another issuer")]
    IssuerMismatch,
}

/// Fetches documents from one issuer.
#[derive(Debug)]
pub(super) struct Fetcher {
    /// Built with the first request.
    client: OnceLock<Client>,
    /// Whether the issuer runs on this machine, so that plain HTTP does not leave it.
    local: bool,
}

impl Fetcher {
    pub(super) fn new(issuer: &Url) -> Self {
        Self {
            client: OnceLock::new(),
            local: is_loopback(issuer),
        }
    }

    /// Returns the underlying client. A failure to build it is not stored: it may be a moment without
    /// file descriptors.
    fn client(&self) -> Result<&Client, FetchError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            // A redirect would let another host supply the keys.
            .redirect(Policy::none())
            .timeout(FETCH_TIMEOUT)
            .user_agent(concat!("deliberate/", env!("CARGO_PKG_VERSION")));
        let builder = if self.local {
            builder.no_proxy()
        } else {
            builder
        };
        let built = builder.build().map_err(FetchError::NoClient)?;
        Ok(self.client.get_or_init(|| built))
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, FetchError> {
        if !is_secure(url) || (url.scheme() == "http" && !self.local) {
            return Err(FetchError::Insecure);
        }
        let response = self
            .client()?
            .get(url.clone())
            .header(header::ACCEPT, "application/json")
            .send()
            .await?;
        if !response.status().is_success() {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        let bytes = read_body(response).await?;
        serde_json::from_slice(&bytes).map_err(|_| FetchError::Unreadable)
    }
}

async fn read_body(mut response: Response) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > MAX_DOCUMENT_BYTES {
            return Err(FetchError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Tells whether the transport to the URL is protected: HTTPS, or HTTP on this machine.
pub(super) fn is_secure(url: &Url) -> bool {
    let bare = url.username().is_empty() && url.password().is_none();
    bare && match url.scheme() {
        "https" => url.host().is_some(),
        "http" => is_loopback(url),
        _ => false,
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
