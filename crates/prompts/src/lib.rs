#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod arguments;
#[doc(hidden)]
pub mod chain;
mod engine;
#[doc(hidden)]
pub mod gate;
#[doc(hidden)]
pub mod injection;
pub mod library;
mod mcp_prompts;
pub mod model;
mod options;
#[doc(hidden)]
pub mod process;
mod resource_manager;
mod resources;
#[doc(hidden)]
pub mod template;
pub mod tools;

pub use engine::{
    AppliedGate, CallTrace, Engine, EngineReply, GateVerdictInput, Input, TracedStage,
};
pub use mcp_prompts::LibraryPrompts;
pub use options::{EngineLimits, EngineOptions, GateJudgeKind, LibraryPaths};
pub use resource_manager::{
    Input as ManageInput, ManageReply, ReplyFormat, ResourceAction, ResourceType,
};
pub use resources::{LibraryResources, library_resource_changes};

use std::sync::Arc;

use deliberate_toolkit::Registry;

/// Adds the tools of the engine, its MCP prompts and its MCP resources to the registry.
pub fn register(registry: Registry, engine: &Arc<Engine>) -> Registry {
    registry
        .with(tools::PromptEngine(engine.clone()))
        .with(tools::ResourceManager(engine.clone()))
        .with(tools::SystemControl(engine.clone()))
        .with_prompts(LibraryPrompts::new(engine.clone()))
        .with_resources(LibraryResources(engine.clone()))
}
