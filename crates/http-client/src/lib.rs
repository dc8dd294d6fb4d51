#![doc = include_str!("../README.md")]

mod backoff;
mod base_url;
mod body;
mod client;
mod error_text;
mod fetch;
mod limiter;
mod retry;
mod retry_after;
mod single_flight;
mod sse;
mod ssrf_guard;
mod tls;

pub use backoff::reconnect_delay;
pub use base_url::{BaseUrlError, is_local_url, is_loopback, is_protected, parse_base_url};
pub use body::{BodyError, content_type, read_body, read_prefix};
pub use client::{ClientBuildError, LazyClient, client_builder};
pub use error_text::{find_error_message, root_cause};
pub use fetch::{
    DownloadRequest, DownloadResult, ExpectedContent, FetchRequest, FetchResponse, HttpClient,
    HttpClientError, HttpClientOptions, PARTIAL_PREFIX, SourceRateLimit,
};
pub use limiter::{LimiterError, RequestLimiter};
pub use retry::{RetriesFailed, RetryPolicy, RetryableError, retry};
pub use retry_after::{RateHeaders, retry_after, until_reset};
pub use single_flight::SingleFlight;
pub use sse::{SseEventTooLarge, SseParser, SseParserEvent};
pub use ssrf_guard::{HostResolver, SystemHostResolver, blocked_reason};
pub use tls::{install_crypto, tls_config};
