//! Many MCP clients over HTTP at once, each on its own connection, with so little work on the
//! client side that the measured time and memory are the server's.
//!
//! [`ServerProcess`] is the process under load. [`LoadConnection`] carries the bytes that
//! [`ClientProtocol`] builds; [`LoadResponse`] is the answer, and [`LoadClient`] combines these for
//! a well-behaved client. The caller chooses the requests and checks the answers.

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

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";
