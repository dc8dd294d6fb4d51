//! Tool results and prompt messages as content for model APIs.
//!
//! The typed parts come from the client crate and are re-exported here. The module knows nothing
//! about servers and connections.

mod model_message;
mod prompt_message;

pub use deliberate_mcp_client::content::*;
pub use model_message::ToModelContent;
pub(crate) use model_message::image_type;
pub use prompt_message::McpPromptMessage;
