#![doc = include_str!("../README.md")]

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
