//! What callers of this crate see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod adapter_errors;
mod adapter_execute;
mod adapter_fallback;
mod adapter_functions;
mod adapter_support;
mod chain_limits;
mod chain_run;
mod chain_support;
mod client_asks;
mod client_cancel;
mod client_eras;
mod client_faults;
mod client_lists;
mod client_rest;
mod client_shared;
mod client_support;
mod client_versions;
mod config_read;
mod config_secrets;
mod content_laws;
mod content_models;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oauth")]
mod oauth_kit;
mod schema_back;
mod schema_bounds;
mod schema_formats;
mod schema_gen;
mod schema_law;
mod transport_http;
mod transport_http_auth;
mod transport_http_faults;
mod transport_http_kit;
mod transport_http_streams;
mod transport_sse;
mod transport_stdio;
mod transport_stdio_ends;
mod transport_support;
mod transport_websocket;
