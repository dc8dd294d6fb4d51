//! The server capabilities: only those that the registry really has.

#![expect(
    deprecated,
    reason = "logging is deprecated by 2026-07-28; clients of the handshake revisions use it"
)]

use deliberate_toolkit::Registry;
use rmcp::model::{
    JsonObject, PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};

/// The capabilities of a registry; `told` tells whether clients receive change notifications.
pub(crate) fn server_capabilities(registry: &Registry, told: bool) -> ServerCapabilities {
    let told = told.then_some(true);
    let mut declared = ServerCapabilities::builder()
        .enable_logging()
        .enable_tasks()
        .build();
    let mut tools = ToolsCapability::default();
    tools.list_changed = told;
    declared.tools = Some(tools);
    if has_resources(registry) {
        let mut resources = ResourcesCapability::default();
        resources.subscribe = told;
        resources.list_changed = told;
        declared.resources = Some(resources);
    }
    if has_prompts(registry) {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = told;
        declared.prompts = Some(prompts);
    }
    if has_resources(registry) || has_prompts(registry) {
        declared.completions = Some(JsonObject::new());
    }
    declared
}

/// Removes the capabilities for unsolicited notifications.
pub(crate) fn without_notifications(declared: &mut ServerCapabilities) {
    declared.logging = None;
    if let Some(tools) = &mut declared.tools {
        tools.list_changed = None;
    }
    if let Some(resources) = &mut declared.resources {
        resources.subscribe = None;
        resources.list_changed = None;
    }
    if let Some(prompts) = &mut declared.prompts {
        prompts.list_changed = None;
    }
}

pub(super) fn has_resources(registry: &Registry) -> bool {
    registry.resources().next().is_some()
}

pub(super) fn has_prompts(registry: &Registry) -> bool {
    registry.prompt_providers().next().is_some()
}
