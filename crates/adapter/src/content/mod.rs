//! What tools, prompts and resources give, as typed parts, both ways.
//!
//! A block read and written again is the same block, with unknown fields and in the same order;
//! a block nobody knows is an opaque part and harms no other. Data in base64 is not decoded
//! unless asked. It knows nothing of servers and connections.

mod base64_data;
mod model_message;
mod part;
mod prompt_message;
mod tool_result;

pub use base64_data::{DataError, MAX_DECODED_BYTES};
pub use part::{ContentPart, EmbeddedContents, EmbeddedResource, Media, PartKind, ResourceLink};
pub use prompt_message::McpPromptMessage;
pub use tool_result::McpToolResult;
