//! The index, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod chunk;
mod corruption;
mod durability;
mod filters;
mod hybrid_search;
mod query;
mod rank_fusion;
mod rerank;
#[cfg(feature = "http")]
mod services;
mod static_embedder;
mod support;
mod vectors;
