//! Fetches JSON documents from an issuer with limits on size and time and without redirects.

use std::time::Duration;

use deliberate_http_client::{
    BodyError, ClientBuildError, LazyClient, client_builder, is_loopback, is_protected, read_body,
};
use reqwest::header;
use serde::de::DeserializeOwned;
use thiserror::Error;
use url::Url;

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
    NoClient(#[from] ClientBuildError),
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
    client: LazyClient,
    issuer: Url,
    /// Whether the issuer runs on this machine, so that plain HTTP does not leave it.
    local: bool,
}

impl Fetcher {
    pub(super) fn new(issuer: &Url) -> Self {
        Self {
            client: LazyClient::default(),
            issuer: issuer.clone(),
            local: is_loopback(issuer),
        }
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, FetchError> {
        if !is_protected(url) || (url.scheme() == "http" && !self.local) {
            return Err(FetchError::Insecure);
        }
        // A redirect, which would let another host supply the keys, is not followed.
        let client = (self.client)
            .get_or_build(|| Ok(client_builder(&self.issuer)?.timeout(FETCH_TIMEOUT)))?;
        let response = client
            .get(url.clone())
            .header(header::ACCEPT, "application/json")
            .send()
            .await?;
        if !response.status().is_success() {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        let bytes = read_body(response, MAX_DOCUMENT_BYTES).await;
        let bytes = bytes.map_err(|error| match error {
            BodyError::TooLarge { .. } => FetchError::TooLarge,
            BodyError::Interrupted(error) => FetchError::Unreachable(error),
        })?;
        serde_json::from_slice(&bytes).map_err(|_| FetchError::Unreadable)
    }
}
