//! Tests of the transports, the server's own routes and the catalog requests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod batches;
mod completion;
mod external_tools;
mod external_tools_fixtures;
mod external_tools_http;
mod files;
mod guard;
mod health;
mod http_fixtures;
mod landing_page;
mod lines;
mod metrics;
mod prompts;
mod read_line;
mod resources;
mod scopes;
mod sse_limits;
mod sse_session;
mod sse_support;
mod subscriptions;
mod test_server;
mod tool_listing;
mod undeclared;
mod ws_progress;
