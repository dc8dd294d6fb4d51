//! HTTP for all providers: rate-limited, retried where it can help, and bounded in time and size.
//! No error contains a secret.

mod attempt_error;
mod client;
mod error_body;
mod request;
mod stream;

pub(crate) use client::ProviderClient;
pub(crate) use deliberate_http_client::RateHeaders;
pub(crate) use request::{ProviderAuth, ProviderEndpoint, ProviderRequest, ProviderResponse};
pub(crate) use stream::ResponseKind;

use std::time::Duration;

use deliberate_http_client::parse_base_url;
use url::Url;

use crate::ModelError;

/// Timeouts, retries and rate limits of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSettings {
    /// Maximum duration of one attempt.
    pub request_timeout: Duration,
    /// Number of retries after a transient failure.
    pub max_retries: u32,
    /// Delay before the first retry; it doubles with each further one.
    pub retry_delay: Duration,
    /// Maximum number of concurrent requests.
    pub concurrency: usize,
    /// Maximum number of requests per second, if limited.
    pub requests_per_second: Option<f64>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(30),
            max_retries: 3,
            retry_delay: Duration::from_secs(1),
            concurrency: 256,
            requests_per_second: None,
        }
    }
}

/// Parses a provider's base URL.
pub(crate) fn base_url(provider: &str, text: &str) -> Result<Url, ModelError> {
    parse_base_url(text).map_err(|error| ModelError::Misconfigured {
        provider: provider.to_owned(),
        reason: error.to_string(),
    })
}
