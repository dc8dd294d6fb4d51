//! The three tools. They only translate between calls and the engine, the library and the resource
//! manager, which do the work.

mod prompt_engine;
mod resource_manager;
mod system_control;

pub use prompt_engine::PromptEngine;
pub use resource_manager::ResourceManager;
pub use system_control::{ControlAction, ControlInput, ControlReply, SystemControl};
