//! Requests to public sources. Every URL is checked before it is requested, including redirects and
//! resolved addresses (SSRF guard). Every response is limited in size and time, each source has a
//! rate limit that all processes on this machine share, and responses are cached on disk.
//!
//! It must not know what the sources are.

mod attempt;
mod cache;
mod client;
mod digest;
mod download;
mod error;
mod rate_limit;
mod redirects;
mod request;
mod reqwest_clients;
mod response_status;
mod retry;

use std::path::PathBuf;

pub use client::HttpClient;
pub use download::{DownloadRequest, DownloadResult, ExpectedContent, PARTIAL_PREFIX};
pub use error::HttpClientError;
pub(crate) use request::redacted_url;
pub use request::{FetchRequest, FetchResponse, SourceRateLimit};

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
    /// Makes a server's error message harmless where errors are shown.
    pub clean_message: fn(&str) -> String,
}

/// Creates a folder and its parents for the user alone, because requests are private.
fn create_private_folder(folder: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
