//! For tests only.
//!
//! [`MockProvider`] plays the model providers over HTTP, with faults on demand; [`StdioClient`] drives a
//! server over pipes, byte by byte where a test wants that; [`FixedClock`] and [`CountingIds`]
//! make a run repeat exactly; [`load`] speaks MCP over HTTP as many clients at once, at little cost
//! of its own. The binaries beside them are the stand-in for tests in other languages (`standin`),
//! the stand-in for other people's servers (`upstream`, found by [`upstream_program`]), the floor of
//! the benchmarks (`echo_floor`), the benchmark of the call path, of HTTP and of the modes
//! (`bench`), and the soak (`soak`).
//!
//! Nothing here is part of the product; no other crate may depend on it outside its tests.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a field of a JSON value gives null where there is none"
)]

mod clock;
pub mod load;
mod mock_mcp_server;
pub mod mock_provider;
pub mod raw_http;
mod stdio_client;

pub use clock::{CountingIds, FixedClock};
pub use mock_mcp_server::mock_mcp_server_program;
pub use mock_provider::{MockFault, MockProvider, RequestRecord};
pub use stdio_client::{StdioClient, bare_command};
