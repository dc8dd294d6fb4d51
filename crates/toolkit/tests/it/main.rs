//! What the gate promises to tools, clients and the store.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod acting;
mod arguments;
mod commits;
mod fronts;
mod guests;
mod guests_kit;
mod held;
mod house;
mod legs;
mod limits;
mod listing;
mod nested;
mod overtaken;
mod progress;
mod recorder;
mod resume;
mod rounds;
mod scripted;
mod stopping;
mod thinking;
mod tools;
