//! MCP over HTTP as many clients at once, each on a connection of its own, with so little work on
//! this side that the time and the memory are the server's.
//!
//! [`ServerProcess`] is the process that is loaded; [`LoadConnection`] carries bytes and [`ClientProtocol`] makes them;
//! [`LoadResponse`] is what came back, and [`LoadClient`] puts these together for a well-behaved client.
//! What is asked and whether it is right is the caller's business.

mod client;
mod client_protocol;
mod connection;
mod response;
mod server_process;

pub use client::LoadClient;
pub use client_protocol::{ClientProtocol, request_head};
pub use connection::{LoadConnection, LoadEventStream};
pub use response::LoadResponse;
pub use server_process::{ServerProcess, free_port};

/// Where servers serve MCP.
pub const ENDPOINT: &str = "/mcp";
