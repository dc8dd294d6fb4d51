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

pub use data::{DataError, MAX_DECODED_BYTES};
pub use part::{ContentPart, EmbeddedContents, EmbeddedResource, Media, PartKind, ResourceLink};
pub use prompt::McpPromptMessage;
pub use result::McpToolResult;
