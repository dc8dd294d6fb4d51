//! The HTTP client, as this crate uses it.

pub use deliberate_http_client::{
    DownloadRequest, DownloadResult, ExpectedContent, FetchRequest, FetchResponse, HostResolver,
    HttpClient, HttpClientError, HttpClientOptions, PARTIAL_PREFIX, SourceRateLimit,
    SystemHostResolver, blocked_reason,
};

pub use crate::prompt_fence::strip_markup_chars;
