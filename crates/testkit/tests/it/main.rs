//! Checks of the workspace as a whole that no lint makes.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the helpers of tests fail as the tests do, and clippy knows only the tests"
)]

mod architecture;
mod echo_baseline;
mod mock_mcp_server;
mod source_rules;
