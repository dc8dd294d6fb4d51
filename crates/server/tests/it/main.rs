//! What stands between bytes and the SDK.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod lines;
mod read_line;
