//! The one way out to the net. Every address is checked before anything is sent to it, redirects
//! and what names resolve to included; every answer is bounded in size and time; each source is
//! asked no faster than its terms allow, by all processes on this machine together; answers are
//! kept on the disk for a while.
//!
//! Knows nothing of papers.

mod answer;
mod cache;
mod client;
mod door;
mod download;
mod error;
mod exchange;
mod flight;
mod follow;
mod guard;
mod hex;
mod pace;
mod persist;
mod request;

use std::path::PathBuf;

pub(crate) use answer::strip_markup_chars;
pub use door::HttpClient;
pub(crate) use download::PARTIAL_PREFIX;
pub use download::{DownloadRequest, DownloadResult, ExpectedContent};
pub use error::HttpClientError;
pub use guard::{HostResolver, SystemHostResolver, blocked_reason};
pub use request::{FetchRequest, FetchResponse, SourceRateLimit};

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
