//! MCP over standard input and output, as bytes.

mod calls;
mod ending;
mod handshake;
mod ids;
mod lines;
mod long_lines;
mod requests;
mod sampling;
