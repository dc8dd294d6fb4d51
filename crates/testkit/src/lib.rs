#![doc = include_str!("../README.md")]
#![expect(
    clippy::indexing_slicing,
    reason = "indexing a JSON value returns null for a missing field"
)]

mod clock;
mod fence_parts;
#[cfg(feature = "fixtures")]
pub mod fixtures;
pub mod load;
mod mock_mcp_server;
pub mod mock_provider;
mod poll;
pub mod prompt_fence_corpus;
pub mod raw_http;
pub mod raw_http_server;
mod stdio_client;

pub use clock::{CountingIds, FixedClock};
pub use fence_parts::without_fence_parts;
pub use mock_mcp_server::{MockServerProcess, mock_mcp_server_program};
pub use mock_provider::{MockFault, MockProvider, RequestRecord};
pub use poll::{wait_for, wait_until, wait_until_async};
pub use stdio_client::{StdioClient, bare_command};
