#![doc = include_str!("../README.md")]

mod agreement;
mod answer_value;
mod auto;
mod checkpoint;
mod divergent;
mod evidence;
mod graph;
mod history;
mod linear;
mod lookup;
mod mcp_prompts;
mod model_fields;
mod modes;
mod original_shapes;
mod parallel_requests;
mod presentation;
mod prompt_template;
mod reflection;
mod resources;
mod session;
mod text_items;
mod text_list;
mod tree;
mod view;

use std::sync::Arc;

use deliberate_toolkit::Registry;

use mcp_prompts::ReasoningPrompts;
use modes::MODES;
use view::{ReasoningGet, ReasoningSessions, SearchThoughts};

pub use resources::ReasoningResources;
pub use view::{MatchKind, TextEmbedder, ThoughtMatch, ThoughtSearch, ThoughtSearchPage};

/// Adds the reasoning tools in the order in which clients see them, the resources that show
/// sessions, and a menu prompt for each mode. Thoughts are found by words alone.
pub fn register(registry: Registry) -> Registry {
    register_with_embedder(registry, None)
}

/// Like [`register`], but thoughts are found by meaning too if there is an embedder.
pub fn register_with_embedder(
    registry: Registry,
    embedder: Option<Arc<dyn TextEmbedder>>,
) -> Registry {
    let registry = MODES
        .iter()
        .fold(registry, |registry, mode| (mode.register)(registry));
    registry
        .with(ReasoningGet)
        .with(SearchThoughts(ThoughtSearch::new(embedder)))
        .with(ReasoningSessions)
        .with_resources(ReasoningResources)
        .with_prompts(ReasoningPrompts)
        .with_presenter(presentation::ReasoningPresenter)
}
