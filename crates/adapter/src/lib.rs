//! MCP servers' tools as functions.
//!
//! A [`McpClient`] is one server: connected when it is needed, kept alive, shared by
//! all who call it. Configuration, transports, both eras of the protocol, and what can go wrong
//! each have a room of their own.
//!
//! The crate can be used alone. It knows nothing of sessions, storage or the server it is part of.

pub mod adapter;
pub mod chain;
pub mod client;
pub mod config;
pub mod content;
pub mod error;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod schema;
pub mod transport;
pub mod wire;

pub use adapter::{Adapter, AdapterConfig};
pub use chain::{ToolLoop, ToolLoopLimits};
pub use client::{CallOptions, McpClient};
pub use config::ServerConfig;
pub use error::{ClientError, ClientErrorKind, ErrorClass};
