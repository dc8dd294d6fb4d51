//! What callers of this crate see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod adapter_execute;
mod adapter_fallback;
mod adapter_functions;
mod adapter_support;
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
mod content_models;
mod content_properties;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oauth")]
mod oauth_support;
mod schema_bounds;
mod schema_formats;
mod schema_generators;
mod schema_properties;
mod schema_restore_arguments;
mod tool_loop_limits;
mod tool_loop_run;
mod tool_loop_support;
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
