//! HTTP for all providers: rate-limited, retried where it can help, and bounded in time and size.
//! No error contains a secret.

mod client;
mod error_body;
mod limiter;
mod request;
mod retry;
mod retry_after;
mod sse;
mod stream;
mod tls;

pub(crate) use client::{ProviderClient, read_body};
pub(crate) use request::{ProviderAuth, ProviderEndpoint, ProviderRequest, ProviderResponse};
pub(crate) use retry_after::RateHeaders;
pub(crate) use stream::ResponseKind;
pub(crate) use tls::{base_url, client};
pub use tls::{install_crypto, is_local_url};

use std::time::Duration;

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
