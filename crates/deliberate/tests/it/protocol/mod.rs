//! Tests of MCP over standard input and output, as bytes.

mod calls;
mod handshake;
mod ids;
mod invalid_messages;
mod long_lines;
mod requests;
mod sampling;
mod shutdown;
