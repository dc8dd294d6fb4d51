//! Which methods are served. The SDK hands on a request whose parameters do not fit as one it does
//! not know; what to answer depends on whether the method is there at all.

use rmcp::model::ServerCapabilities;

/// Whether a method is there, in that era and with these capabilities.
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
