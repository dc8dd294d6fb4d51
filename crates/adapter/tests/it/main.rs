//! Tests of the adapter through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod adapter_execute;
mod adapter_fallback;
mod adapter_functions;
mod adapter_support;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the client"
)]
#[path = "../../../mcp-client/tests/it/client_support.rs"]
mod client_support;
mod content_models;
mod content_properties;
mod schema_bounds;
mod schema_formats;
mod schema_generators;
mod schema_properties;
mod schema_restore_arguments;
mod tool_loop_limits;
mod tool_loop_run;
mod tool_loop_support;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the client"
)]
#[path = "../../../mcp-client/tests/it/transport_support.rs"]
mod transport_support;
