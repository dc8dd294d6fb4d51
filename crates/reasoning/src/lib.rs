//! The reasoning modes, one file each, their asks as Markdown beside them.
//!
//! A mode reads a session, asks the model, and returns a thought with the changes that keep it.
//! It knows the domain, the toolkit and how to ask; nothing of MCP, SQL or HTTP.

mod context;
mod linear;
mod prompt;

use deliberate_toolkit::Registry;

pub use linear::Linear;

/// The registry with every reasoning tool, in the order clients see them.
pub fn register(registry: Registry) -> Registry {
    registry.with(Linear)
}
