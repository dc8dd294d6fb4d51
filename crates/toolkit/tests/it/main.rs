//! Tests of the dispatcher's guarantees to tools, clients and the store.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod agent_loop;
mod alias_tools;
mod arguments;
mod background;
mod commits;
mod compute;
mod conflicts;
mod external_tools;
mod external_tools_support;
mod limits;
mod listing;
mod model_requests;
mod nested;
mod progress;
mod recording_store;
mod registry_fixture;
mod reply_rounds;
mod resume;
mod scripted_model;
mod shutdown;
mod steps;
mod test_tools;
