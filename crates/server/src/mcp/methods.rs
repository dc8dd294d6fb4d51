//! The supported methods. The SDK passes on a request with invalid parameters as an unknown one;
//! the right error depends on whether the method exists.

use rmcp::model::ServerCapabilities;

/// Tells whether a method exists in the era with these capabilities.
pub(super) fn is_supported(method: &str, modern: bool, declared: &ServerCapabilities) -> bool {
    match method {
        "initialize" | "ping" => !modern,
        "server/discover" => true,
        "tools/list" | "tools/call" => declared.tools.is_some(),
        "prompts/list" | "prompts/get" => declared.prompts.is_some(),
        "resources/list" | "resources/read" | "resources/templates/list" => {
            declared.resources.is_some()
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            let resources = declared.resources.as_ref();
            !modern && resources.is_some_and(|it| it.subscribe == Some(true))
        }
        "subscriptions/listen" => modern,
        "completion/complete" => declared.completions.is_some(),
        "logging/setLevel" => !modern && declared.logging.is_some(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => declared.supports_tasks(),
        _ => false,
    }
}
