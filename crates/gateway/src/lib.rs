//! The gateway: other MCP servers' tools for clients, for chains of prompts and for reasoning.
//!
//! `gateway` knows the servers and what they offer, `pins` remembers how each tool described
//! itself when it was first seen, `scan` reads descriptions for what they hide, `search` finds a
//! tool by words, `asked` carries what a server asks during a call to the client and back,
//! `tools` are the two tools and the guests, `resources` the servers by their addresses.
//!
//! Commands and addresses come only from the configuration; nothing of an inbound request but its
//! arguments is passed on. Connections are the adapter's business, the protocol's face the
//! server's.

mod client_requests;
mod error;
mod gateway;
pub mod injection_scan;
mod options;
mod pins;
mod resources;
mod search;
mod tools;
mod upstream_error;

use std::sync::Arc;

use deliberate_toolkit::Registry;

pub use error::GatewayError;
pub use gateway::{Gateway, ServerReport, ToolReport, ToolStatus};
pub use options::{Exposure, GatewayOptions, GatewayServer};
pub use resources::ServerResources;
pub use tools::{ExposedTools, GatewayCall, GatewaySearch};

/// The registry with the gateway's tools, the tools of other servers that are shown beside ours,
/// and what stands at its addresses.
pub fn register(registry: Registry, gateway: &Arc<Gateway>) -> Registry {
    registry
        .with(GatewaySearch(gateway.clone()))
        .with(GatewayCall(gateway.clone()))
        .with_external_tools(Arc::new(ExposedTools(gateway.clone())))
        .with_resources(ServerResources(gateway.clone()))
}
