//! The three tools. Each only speaks: what it does is done by the engine, the library and those
//! who manage it.

mod prompt_engine;
mod resource_manager;
mod system_control;

pub use prompt_engine::PromptEngine;
pub use resource_manager::ResourceManager;
pub use system_control::{ControlAction, ControlInput, ControlReply, SystemControl};
