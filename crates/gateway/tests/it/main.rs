//! Tests of the gateway through its public interface: its tools in a registry, in front of mock
//! upstream servers.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod call_reports;
mod call_tool;
mod client_requests;
mod failures;
mod fair_shares;
mod fallback_tools;
mod hostile_schemas;
mod injection_scan;
mod mock_upstream;
mod pass_through;
mod pins;
mod principal_credentials;
mod real_definitions;
mod resource_links;
mod search;
mod search_quality;
mod server_methods;
mod server_set;
mod support;
