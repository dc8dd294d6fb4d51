//! Checks of the workspace as a whole that no lint makes.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "test helpers may fail like the tests, but clippy only knows the tests"
)]

mod architecture;
mod echo_baseline;
mod lockfile;
mod mock_mcp_server;
mod source_rules;
