//! What tools, prompts and resources give, as typed parts, both ways.
//!
//! A block read and written again is the same block, with unknown fields and in the same order;
//! a block nobody knows is an opaque part and harms no other. Data in base64 is not decoded
//! unless asked. It knows nothing of servers and connections.

mod data;
mod model;
mod part;
mod prompt;
mod result;

pub use data::{DataError, MOST_BYTES};
pub use part::{Body, Contents, Link, Media, Part, Resource};
pub use prompt::PromptMessage;
pub use result::ToolResult;
