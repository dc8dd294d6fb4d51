//! One way to talk HTTP for all providers: paced, retried where it can help, bounded in time and
//! size, and never with a secret in an error.

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

/// How a provider is talked to.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSettings {
    /// The most one attempt may take.
    pub request_timeout: Duration,
    /// How many times a failure that may pass is tried again.
    pub max_retries: u32,
    /// The wait before the first retry; it doubles with each.
    pub retry_delay: Duration,
    /// The most requests at a time.
    pub concurrency: usize,
    /// The most requests a second, if there is a limit.
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
