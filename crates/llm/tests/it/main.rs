//! What callers of this crate see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod answer;
mod local;
mod support;
mod turns;

#[cfg(feature = "http")]
mod anthropic;
#[cfg(feature = "http")]
mod discover;
#[cfg(feature = "http")]
mod every_provider;
#[cfg(feature = "http")]
mod functions;
#[cfg(feature = "http")]
mod langbase;
#[cfg(feature = "http")]
mod mock;
#[cfg(feature = "http")]
mod openai;
#[cfg(feature = "http")]
mod streams;
