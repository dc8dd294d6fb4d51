//! MCP over HTTP as many clients at once, each on a connection of its own, with so little work on
//! this side that the time and the memory are the server's.
//!
//! [`Server`] is the process that is loaded; [`Connection`] carries bytes and [`Era`] makes them;
//! [`Answer`] is what came back, and [`Caller`] puts these together for a well-behaved client.
//! What is asked and whether it is right is the caller's business.

mod answer;
mod caller;
mod connection;
mod era;
mod server;

pub use answer::Answer;
pub use caller::Caller;
pub use connection::{Connection, Events};
pub use era::{Era, head};
pub use server::{Server, free_port};

/// Where servers serve MCP.
pub const ENDPOINT: &str = "/mcp";
