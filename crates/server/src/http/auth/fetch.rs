//! Gets JSON documents from an issuer, within a size and a time, from the host that was asked.

use std::time::Duration;

use reqwest::{Client, Response, header, redirect::Policy};
use serde::de::DeserializeOwned;
use thiserror::Error;
use url::{Host, Url};

/// The largest document that is read.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// How long a document may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a document was not had. What the other side wrote is not repeated.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error("the address is not safe: https is needed")]
    Insecure,
    #[error("the issuer can't be reached")]
    Unreachable(#[from] reqwest::Error),
    #[error("the issuer answered with status {0}")]
    Status(u16),
    #[error("the document is larger than 256 KiB")]
    TooLarge,
    #[error("the document can't be read as the JSON it should be")]
    Unreadable,
    #[error("the metadata is about another issuer")]
    IssuerMismatch,
}

/// Gets documents.
#[derive(Debug)]
pub(super) struct Fetcher {
    client: Client,
    /// Whether the issuer is on this machine, so that plain HTTP stays on it.
    local: bool,
}

impl Fetcher {
    /// For an issuer at this address.
    pub(super) fn new(issuer: &Url) -> Result<Self, reqwest::Error> {
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let local = is_loopback(issuer);
        let builder = Client::builder()
            // A redirect would let another host say which keys are good.
            .redirect(Policy::none())
            .timeout(FETCH_TIMEOUT)
            .user_agent(concat!("deliberate/", env!("CARGO_PKG_VERSION")));
        let builder = if local { builder.no_proxy() } else { builder };
        Ok(Self {
            client: builder.build()?,
            local,
        })
    }

    /// Gets one document.
    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, FetchError> {
        if !is_secure(url) || (url.scheme() == "http" && !self.local) {
            return Err(FetchError::Insecure);
        }
        let response = self
            .client
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

/// Whether what is sent there stays unread and unchanged on the way.
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
