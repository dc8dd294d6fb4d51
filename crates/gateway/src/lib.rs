#![doc = include_str!("../README.md")]

mod client_requests;
mod error;
mod gateway;
pub mod injection_scan;
mod linked_resources;
mod options;
mod pins;
mod resources;
mod search;
mod tools;
mod upstream_error;

use std::sync::Arc;

use deliberate_toolkit::Registry;

pub use error::GatewayError;
pub use gateway::{
    Gateway, ReloadReport, ServerReport, ToolReport, ToolStatus, UpstreamConnection, UpstreamStatus,
};
pub use linked_resources::LinkedResources;
pub use options::{Exposure, GatewayOptions, GatewayServer, PrincipalCredentials, SessionMode};
pub use resources::ServerResources;
pub use tools::{ExposedTools, GatewayCall, GatewaySearch};

/// Registers the gateway's tools, the exposed tools of upstream servers, and the resources.
pub fn register(registry: Registry, gateway: &Arc<Gateway>) -> Registry {
    registry
        .with(GatewaySearch(gateway.clone()))
        .with(GatewayCall(gateway.clone()))
        .with_external_tools(Arc::new(ExposedTools(gateway.clone())))
        .with_resources(ServerResources(gateway.clone()))
        .with_resources(LinkedResources(gateway.clone()))
}
