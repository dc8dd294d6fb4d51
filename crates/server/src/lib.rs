//! The MCP face of a registry.
//!
//! [`McpHandler`] speaks the protocol, every revision from 2024-11-05 to 2026-07-28, on top of the
//! official SDK; [`stdio`] carries it over standard input and output. Nothing a client sends
//! ends the process or holds up another call, and everything that has an id is answered.
//!
//! The crate knows the registry and the protocol; nothing of modes, SQL or providers.

mod face;
mod files;
mod handed_on;
pub mod http;
mod message;
pub mod metrics;
mod principal;
mod shelf;
pub mod stdio;
mod trace;

pub use face::{McpHandler, McpOptions};
pub use files::{FileLimits, FileRoots};
pub use principal::principal;
pub use shelf::subscriptions::{SubscriptionLimits, Subscriptions};
