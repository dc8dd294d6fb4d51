//! The list of all fixture tools, and the topic file that answers each.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use super::{client_requests, list_changed, multi_round, notifications, tasks};
use crate::{content, fixture::FixtureState, schemas};

pub(crate) type FixtureResult = Result<CallToolResponse, ErrorData>;

/// A tool call with its arguments and the client.
pub(crate) struct FixtureCall<'a> {
    pub(crate) state: &'a FixtureState,
    pub(crate) request: CallToolRequestParams,
    pub(crate) context: RequestContext<RoleServer>,
}

impl FixtureCall<'_> {
    /// Returns an argument as a string, or the empty string.
    pub(crate) fn text_argument(&self, name: &str) -> &str {
        self.argument(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.request.arguments.as_ref()?.get(name)
    }
}

/// Returns the tools of the fixtures, in list order.
pub(crate) fn all() -> Vec<Tool> {
    let topics = [
        content::tools(),
        notifications::tools(),
        client_requests::tools(),
        multi_round::tools(),
        tasks::tools(),
        schemas::tools(),
        list_changed::tools(),
    ];
    topics.into_iter().flatten().collect()
}

/// Answers the call of a fixture tool.
pub(crate) async fn call_tool(call: FixtureCall<'_>) -> FixtureResult {
    let name = call.request.name.clone();
    match name.as_ref() {
        name if content::has_tool(name) => content::call_tool(name),
        "test_tool_with_logging" => notifications::log_three_times(&call).await,
        "test_logging_tool" => notifications::log_if_requested(&call).await,
        "test_tool_with_progress" => notifications::report_progress(&call).await,
        "test_reconnection" => notifications::wait_briefly().await,
        "test_sampling" => client_requests::sample(&call).await,
        "test_missing_capability" => client_requests::require_sampling(&call),
        name if client_requests::has_tool(name) => client_requests::elicit(&call, name).await,
        name if multi_round::has_tool(name) => multi_round::call_tool(&call, name),
        name if tasks::has_tool(name) => tasks::call_tool(&call, name).await,
        name if schemas::has_tool(name) => schemas::call_tool(&call),
        name => list_changed::call_tool(&call, name).await,
    }
}

/// Builds a tool with these argument properties.
pub(crate) fn build_tool(name: &'static str, about: &'static str, properties: &Value) -> Tool {
    build_tool_with_schema(
        name,
        about,
        json!({ "type": "object", "properties": properties }),
    )
}

/// Builds a tool with this schema, which must be an object.
pub(crate) fn build_tool_with_schema(
    name: &'static str,
    about: &'static str,
    schema: Value,
) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, about, Arc::new(schema))
}

#[expect(clippy::unnecessary_wraps, reason = "every tool returns this type")]
pub(crate) fn text_result(text: impl Into<String>) -> FixtureResult {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

#[expect(clippy::unnecessary_wraps, reason = "every tool returns this type")]
pub(crate) fn error_result(text: impl Into<String>) -> FixtureResult {
    Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into())
}
