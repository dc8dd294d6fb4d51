//! What callers of this crate see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod agentic;
mod agentic_ends;
mod analysing;
mod analysing_citations;
mod answer;
mod answer_hostile;
mod answer_kit;
mod answer_relevance;
mod answer_replies;
mod citing;
mod citing_files;
mod citing_meant;
mod collect_files;
mod collect_groups;
mod collect_jobs;
mod collect_kit;
mod collect_pages;
mod collect_races;
mod collect_records;
mod collect_same;
mod collect_search;
mod collect_tools;
mod discover_again;
mod discover_kit;
mod discover_questions;
mod discover_runs;
mod discover_scheduler;
mod discover_sources;
mod lab;
mod lists;
mod locate;
mod locate_fetch;
mod processing;
mod reading;
mod retrieval;
mod search;
mod search_laws;
mod sources_citations;
mod sources_faults;
mod sources_found;
mod sources_kit;
mod sources_look_up;
mod sources_requests;
mod verify;
mod verify_figures;
mod verify_laws;
mod verify_paraphrase;
mod watched;
mod web_cache;
mod web_download;
mod web_guard;
mod web_kit;
mod web_pace;
