//! The prompt engine: prompts, chains, gates, methodologies and styles from a library of files,
//! put together by a small command language, and run as durable chains.
//!
//! `library` reads the files and keeps them current; `template` renders; `gate` checks answers;
//! `inject` decides what guidance is added; `chain` plans runs and folds their events; `engine`
//! is the way of a call through its stages; `manage` changes the files; `tools` are the three
//! tools. Chains meet the other parts of the program only through the registry.
//!
//! The crate knows nothing of MCP, SQL or HTTP.

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
    Input as ManageInput, ManageReply as Managed, ReplyFormat as ListFormat,
    ResourceAction as ManageAction, ResourceType,
};
pub use resources::{LibraryResources, library_resource_changes};

use std::sync::Arc;

use deliberate_toolkit::Registry;

/// The registry with the tools of the engine, the menu of its prompts and what stands at its
/// addresses.
pub fn register(registry: Registry, engine: &Arc<Engine>) -> Registry {
    registry
        .with(tools::PromptEngine(engine.clone()))
        .with(tools::ResourceManager(engine.clone()))
        .with(tools::SystemControl(engine.clone()))
        .with_prompts(LibraryPrompts::new(engine.clone()))
        .with_resources(LibraryResources(engine.clone()))
}
