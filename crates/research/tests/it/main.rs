//! Integration tests of the public interface of this crate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod agentic;
mod agentic_stop_conditions;
mod analysis_tools;
mod answer;
mod answer_claim_judge;
mod answer_harness;
mod answer_model_replies;
mod answer_prompt_injection;
mod article_search;
mod bibliography_export;
mod citation_analysis;
mod citation_near_match;
mod citation_verification;
mod collection_tools;
mod discovery_questions;
mod discovery_reruns;
mod discovery_runs;
mod discovery_saved_sources;
mod discovery_scheduler;
mod discovery_search;
mod discovery_search_properties;
mod full_text_pages;
mod ingest_batch_jobs;
mod ingest_concurrency;
mod ingest_deduplication;
mod ingest_metadata;
mod ingest_path_policy;
mod knowledge_collections;
mod mock_crossref;
mod paper_relevance;
mod pdf_locator;
mod pdf_locator_fetch;
mod processing_tools;
mod prompt_fence;
mod raw_http_server;
mod reading_tools;
mod research_harness;
mod retrieval_tools;
mod services;
mod source_harness;
mod sources_citations;
mod sources_errors;
mod sources_lookup;
mod sources_requests;
mod sources_results;
mod split_list_arguments;
mod verifier;
mod verifier_numbers;
mod verifier_paraphrase;
mod verifier_properties;
mod watch_folder;
