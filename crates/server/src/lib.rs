//! The MCP face of a registry.
//!
//! [`McpHandler`] speaks the protocol, every revision from 2024-11-05 to 2026-07-28, on top of the
//! official SDK; [`stdio`] carries it over standard input and output. Nothing a client sends
//! ends the process or holds up another call, and everything that has an id is answered.
//!
//! The crate knows the registry and the protocol; nothing of modes, SQL or providers.

mod files;
pub mod http;
mod mcp;
mod message;
pub mod metrics;
mod principal;
mod raw_result;
pub mod stdio;
mod trace;

pub use files::{FileLimits, FileRoots};
pub use mcp::{
    McpHandler, McpOptions,
    catalog::subscriptions::{SubscriptionLimits, Subscriptions},
};
pub use principal::principal;
