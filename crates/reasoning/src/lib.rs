//! The reasoning modes, one file each, their asks as Markdown beside them.
//!
//! A mode reads a session, asks the model, and returns a thought with the changes that keep it.
//! It knows the domain, the toolkit and how to ask; nothing of MCP, SQL or HTTP.

mod ask_template;
mod auto;
mod checkpoint;
mod divergent;
mod evidence;
mod graph;
mod history;
mod linear;
mod mcp_prompts;
mod model_fields;
mod reflection;
mod resources;
mod session;
mod text_list;
mod tree;
mod view;

use deliberate_toolkit::Registry;

pub use auto::Auto;
pub use checkpoint::{Backtrack, CheckpointCreate, CheckpointList};
pub use divergent::Divergent;
pub use graph::{
    GotAggregate, GotFinalize, GotGenerate, GotInit, GotPrune, GotRefine, GotScore, GotState,
};
pub use linear::Linear;
pub use mcp_prompts::ReasoningPrompts;
pub use reflection::{Reflection, ReflectionEvaluate};
pub use resources::ReasoningResources;
pub use tree::{TreeComplete, TreeExplore, TreeFocus, TreeList};
pub use view::{ReasoningGet, ReasoningSessions, SearchThoughts};

/// The registry with every reasoning tool, in the order clients see them, what was thought by its
/// address, and a prompt for each way of reasoning.
pub fn register(registry: Registry) -> Registry {
    registry
        .with(Linear)
        .with(TreeExplore)
        .with(TreeFocus)
        .with(TreeList)
        .with(TreeComplete)
        .with(Divergent)
        .with(Reflection)
        .with(ReflectionEvaluate)
        .with(Auto)
        .with(CheckpointCreate)
        .with(CheckpointList)
        .with(Backtrack)
        .with(GotInit)
        .with(GotGenerate)
        .with(GotScore)
        .with(GotAggregate)
        .with(GotRefine)
        .with(GotPrune)
        .with(GotFinalize)
        .with(GotState)
        .with(ReasoningGet)
        .with(SearchThoughts)
        .with(ReasoningSessions)
        .with_resources(ReasoningResources)
        .with_prompts(ReasoningPrompts)
}
