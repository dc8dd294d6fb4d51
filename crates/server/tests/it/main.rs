//! What stands between bytes and the SDK, what the server says of itself, and what a client can look
//! through.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod completion;
mod files;
mod guard;
mod guests;
mod guests_http;
mod guests_kit;
mod health;
mod lines;
mod metrics;
mod page;
mod prompts;
mod read_line;
mod resources;
mod scopes;
mod small;
mod sse_bounds;
mod sse_resume;
mod sse_support;
mod sse_talk;
mod subscriptions;
mod undeclared;
mod wire;
mod ws_progress;
