//! The content that tools, prompts and resources return, as typed parts.
//!
//! A block that is read and written again is the same block, with its unknown fields and in the
//! same order. A block of an unknown type becomes an opaque part and does not affect the others.
//! Base64 data is decoded only on request. The module knows nothing about servers and connections.

mod base64_data;
mod part;
mod tool_result;

pub use base64_data::{DataError, MAX_DECODED_BYTES};
#[doc(hidden)]
pub use part::merge_in_order;
pub use part::{ContentPart, EmbeddedContents, EmbeddedResource, Media, PartKind, ResourceLink};
pub use tool_result::McpToolResult;
