#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod client;
pub mod config;
pub mod content;
pub mod error;
pub mod jsonrpc;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod tool_name;
pub mod transport;

pub use client::{CallOptions, McpClient};
pub use config::ServerConfig;
pub use error::{ClientError, ClientErrorKind, ErrorClass};
