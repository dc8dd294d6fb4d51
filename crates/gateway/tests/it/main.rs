//! The gateway through its public face: its tools in a registry, in front of servers that are
//! played here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod asking;
mod calling;
mod kit;
mod pins;
mod player;
mod poison;
mod real;
mod searching;
mod trouble;
