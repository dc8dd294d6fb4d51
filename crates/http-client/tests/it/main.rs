//! Integration tests of the public interface of this crate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod cache;
mod download;
mod error_message;
mod rate_limit;
mod ssrf_guard;
mod support;
