//! MCP over HTTP as many clients at once, each on a connection of its own, with so little work on
//! this side that the time and the memory are the server's.
//!
//! [`ServerProcess`] is the process that is loaded; [`LoadConnection`] carries bytes and [`ClientProtocol`] makes them;
//! [`LoadResponse`] is what came back, and [`LoadClient`] puts these together for a well-behaved client.
//! What is asked and whether it is right is the caller's business.

mod answer;
mod caller;
mod connection;
mod era;
mod server;

pub use answer::LoadResponse;
pub use caller::LoadClient;
pub use connection::{LoadConnection, LoadEventStream};
pub use era::{ClientProtocol, request_head};
pub use server::{ServerProcess, free_port};

/// Where servers serve MCP.
pub const ENDPOINT: &str = "/mcp";
