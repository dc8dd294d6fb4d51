#![doc = include_str!("../README.md")]

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
mod prompt_template;
mod reflection;
mod resources;
mod session;
mod text_list;
mod tree;
mod view;

use deliberate_toolkit::Registry;

use mcp_prompts::ReasoningPrompts;
use modes::MODES;
use view::{ReasoningGet, ReasoningSessions, SearchThoughts};

pub use resources::ReasoningResources;

/// Adds the reasoning tools in the order in which clients see them, the resources that show
/// sessions, and a menu prompt for each mode.
pub fn register(registry: Registry) -> Registry {
    let registry = MODES
        .iter()
        .fold(registry, |registry, mode| (mode.register)(registry));
    registry
        .with(ReasoningGet)
        .with(SearchThoughts)
        .with(ReasoningSessions)
        .with_resources(ReasoningResources)
        .with_prompts(ReasoningPrompts)
}
