//! Tests of the client through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod client_backoff;
mod client_cancel;
mod client_concurrency;
mod client_eras;
mod client_errors;
mod client_failures;
mod client_listing;
mod client_server_requests;
mod client_support;
mod client_versions;
mod config_read;
mod config_secrets;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oauth")]
mod oauth_support;
mod transport_http;
mod transport_http_auth;
mod transport_http_failures;
mod transport_http_streams;
mod transport_http_support;
mod transport_sse;
mod transport_stdio;
mod transport_stdio_shutdown;
mod transport_support;
mod transport_websocket;
