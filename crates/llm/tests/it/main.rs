//! Tests of the crate's public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod client_models;
mod structured_output;
mod support;
mod turns;

#[cfg(feature = "http")]
mod anthropic;
#[cfg(feature = "http")]
mod every_provider;
mod free_text;
#[cfg(feature = "http")]
mod langbase;
#[cfg(feature = "http")]
mod local_discovery;
#[cfg(feature = "http")]
mod mock_servers;
#[cfg(feature = "http")]
mod openai;
#[cfg(feature = "http")]
mod streaming;
#[cfg(feature = "http")]
mod tool_calls;
