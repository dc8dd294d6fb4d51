//! The one way out to the net. Every address is checked before anything is sent to it, redirects
//! and what names resolve to included; every answer is bounded in size and time; each source is
//! asked no faster than its terms allow, by all processes on this machine together; answers are
//! kept on the disk for a while.
//!
//! Knows nothing of papers.

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

/// How the net is used.
#[derive(Debug, Clone)]
pub struct HttpClientOptions {
    /// Who we say we are: program, version and, if the user gave one, an address to write to.
    pub user_agent: String,
    /// Where answers and the pace of sources are kept; `None` keeps them in memory.
    pub folder: Option<PathBuf>,
    /// The most that is kept on the disk, in bytes.
    pub cache_bytes: u64,
    /// Origins (`http://127.0.0.1:8080`) that may be asked although they are on this machine or in
    /// a private net: those that the settings name.
    pub trusted_origins: Vec<String>,
}
