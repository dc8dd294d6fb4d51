//! What the reasoning tools do, seen from a caller and from the model.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod checkpoints;
mod desk;
mod linear_answers;
mod linear_asks;
mod linear_context;
mod linear_steps;
mod tree;
mod view;
