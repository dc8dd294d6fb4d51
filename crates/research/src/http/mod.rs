//! The HTTP stack for all outbound requests. Every URL is checked before it is requested, including
//! redirects and resolved addresses (SSRF guard). Every response is limited in size and time, each
//! source has a rate limit that all processes on this machine share, and responses are cached on
//! disk.
//!
//! It must not know anything about papers.

mod cache;
mod client;
mod digest;
mod download;
mod error;
mod fetch;
mod rate_limit;
mod redirects;
mod request;
mod reqwest_clients;
mod response_status;
mod retry;
mod single_flight;
mod ssrf_guard;

use std::path::PathBuf;

pub use client::HttpClient;
pub(crate) use download::PARTIAL_PREFIX;
pub use download::{DownloadRequest, DownloadResult, ExpectedContent};
pub use error::HttpClientError;
pub use request::{FetchRequest, FetchResponse, SourceRateLimit};
pub(crate) use response_status::strip_markup_chars;
pub use ssrf_guard::{HostResolver, SystemHostResolver, blocked_reason};

/// The options of the HTTP client.
#[derive(Debug, Clone)]
pub struct HttpClientOptions {
    /// The `User-Agent` header: program, version and, if the user set one, a contact address.
    pub user_agent: String,
    /// The folder of cached responses and rate limit states; `None` keeps both in memory.
    pub folder: Option<PathBuf>,
    /// The most bytes the cache takes on disk.
    pub cache_bytes: u64,
    /// Origins (`http://127.0.0.1:8080`) that may be requested although they are on this machine or
    /// in a private network: those named by the settings.
    pub trusted_origins: Vec<String>,
}
