//! Every tool of the fixtures: the list, and which topic answers which. Each topic has a file of
//! its own; what a tool does is written there.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::{asking, changes, content, fixture::State, job, rounds, schemas, telling};

/// What a tool of the fixtures answers.
pub(crate) type Answer = Result<CallToolResponse, ErrorData>;

/// A call of a tool: what was asked, and the client's side of it.
pub(crate) struct Call<'a> {
    pub(crate) state: &'a State,
    pub(crate) request: CallToolRequestParams,
    pub(crate) context: RequestContext<RoleServer>,
}

impl Call<'_> {
    /// An argument that is a text, or nothing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.argument(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// An argument.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.request.arguments.as_ref()?.get(name)
    }
}

/// The tools of the fixtures, in the order they are listed.
pub(crate) fn all() -> Vec<Tool> {
    let topics = [
        content::tools(),
        telling::tools(),
        asking::tools(),
        rounds::tools(),
        job::tools(),
        schemas::tools(),
        changes::tools(),
    ];
    topics.into_iter().flatten().collect()
}

/// Answers the call of a tool of the fixtures.
pub(crate) async fn call(call: Call<'_>) -> Answer {
    let name = call.request.name.clone();
    match name.as_ref() {
        name if content::has(name) => content::call(name),
        "test_tool_with_logging" => telling::logs_three_times(&call).await,
        "test_logging_tool" => telling::logs_if_asked_to(&call).await,
        "test_tool_with_progress" => telling::progresses(&call).await,
        "test_reconnection" => telling::takes_a_moment().await,
        "test_sampling" => asking::sample(&call).await,
        "test_missing_capability" => asking::needs_sampling(&call),
        name if asking::has(name) => asking::elicit(&call, name).await,
        name if rounds::has(name) => rounds::call(&call, name),
        name if job::has(name) => job::call(&call, name).await,
        name if schemas::has(name) => schemas::call(&call),
        name => changes::call(&call, name).await,
    }
}

/// A tool whose arguments are these properties.
pub(crate) fn tool(name: &'static str, about: &'static str, properties: &Value) -> Tool {
    with_schema(
        name,
        about,
        json!({ "type": "object", "properties": properties }),
    )
}

/// A tool with that schema, which must be an object.
pub(crate) fn with_schema(name: &'static str, about: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, about, Arc::new(schema))
}

/// The answer that is one text.
#[expect(clippy::unnecessary_wraps, reason = "it is what every tool answers")]
pub(crate) fn says(text: impl Into<String>) -> Answer {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// The answer that the tool went wrong, in one text.
#[expect(clippy::unnecessary_wraps, reason = "it is what every tool answers")]
pub(crate) fn fails(text: impl Into<String>) -> Answer {
    Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into())
}
