//! Tests of the reasoning tools from the perspectives of a caller and of the model.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod abandoned_branches;
mod any_session;
mod auto;
mod checkpoints;
mod client_conversation;
mod current_branch;
mod declined_sampling;
mod divergent;
mod evaluate;
mod evidence;
mod graph_asks;
mod graph_conclusions;
mod graph_concurrency;
mod graph_finalize;
mod graph_fixtures;
mod graph_generate;
mod graph_ids;
mod graph_operations;
mod graph_prune;
mod graph_random;
mod graph_replay;
mod linear_answers;
mod linear_asks;
mod linear_context;
mod linear_steps;
mod long_material;
mod menu_prompts;
mod model;
mod original_pipes;
mod prompt_fence;
mod reflection;
mod reflection_fixtures;
mod reflection_rounds;
mod reflection_solutions;
mod replies;
mod resources;
mod search;
mod test_registry;
mod tree;
mod view;
mod view_pages;
