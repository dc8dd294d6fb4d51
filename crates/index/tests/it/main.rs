//! The index, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod chunk;
mod damage;
mod durable;
mod filters;
mod fuse;
mod fusion;
mod help;
mod query;
mod rerank;
#[cfg(feature = "http")]
mod services;
mod static_embedder;
mod vectors;
