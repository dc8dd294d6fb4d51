//! MCP servers' tools as functions.
//!
//! A [`McpClient`] is one server: connected when it is needed, kept alive, shared by
//! all who call it. Configuration, transports, both eras of the protocol, and what can go wrong
//! each have a room of their own.
//!
//! The crate can be used alone. It knows nothing of sessions, storage or the server it is part of.

pub mod adapter;
pub mod client;
pub mod config;
pub mod content;
pub mod error;
pub mod jsonrpc;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod schema;
pub mod tool_loop;
pub mod tool_name;
pub mod transport;

pub use adapter::{Adapter, AdapterConfig};
pub use client::{CallOptions, McpClient};
pub use config::ServerConfig;
pub use error::{ClientError, ClientErrorKind, ErrorClass};
pub use tool_loop::{ToolLoop, ToolLoopLimits};
