#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod adapter;
pub mod content;
pub mod schema;
pub mod tool_loop;

pub use adapter::{Adapter, AdapterConfig};
#[cfg(feature = "oauth")]
pub use deliberate_mcp_client::oauth;
pub use deliberate_mcp_client::{
    CallOptions, ClientError, ClientErrorKind, ErrorClass, McpClient, ServerConfig, client, config,
    error, jsonrpc, transport,
};
pub use tool_loop::{ToolLoop, ToolLoopLimits};
