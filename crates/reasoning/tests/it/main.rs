//! What the reasoning tools do, seen from a caller and from the model.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod acting;
mod auto;
mod checkpoints;
mod desk;
mod divergent;
mod evaluate;
mod graph_asks;
mod graph_finalize;
mod graph_generate;
mod graph_ids;
mod graph_kit;
mod graph_prune;
mod graph_random;
mod graph_replay;
mod graph_together;
mod graph_work;
mod linear_answers;
mod linear_asks;
mod linear_context;
mod linear_steps;
mod model;
mod reflection;
mod resources;
mod standing;
mod tree;
mod view;
mod view_parts;
