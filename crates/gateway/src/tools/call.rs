//! `gateway_call`: calls a tool of an upstream server and returns its result unchanged.

use std::{sync::Arc, time::Duration};

use deliberate_json_schema::stringify_large_integers;
use deliberate_mcp_client::client::McpProgress;
use deliberate_toolkit::{
    ArgumentIssue, ForegroundWait, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CALL_TOOL, call_report::CallReport};
use crate::{
    Gateway,
    gateway::{CallerView, ClientToolCall, ResumedCall},
};

pub struct GatewayCall(pub Arc<Gateway>);

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// Name from `gateway_search`
    tool: String,
    /// For that tool
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// The state and input of a call that is sent again.
    #[serde(default)]
    #[schemars(skip)]
    again: Option<GatewayResume>,
    /// Unexpected fields beside the known ones.
    #[serde(flatten)]
    #[schemars(skip)]
    more: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct GatewayResume {
    state: String,
    #[serde(default)]
    responses: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The result as the upstream server wrote it
    handed_on: Value,
}

impl Tool for GatewayCall {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: CALL_TOOL,
            title: "Call a tool of another server",
            description: "Calls a tool found by gateway_search and returns its result unchanged.",
            hints: ToolHints {
                read_only: false,
                destructive: true,
                idempotent: false,
                open_world: true,
            },
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    fn is_offered(&self) -> bool {
        self.0.has_servers()
    }

    fn is_replayable(&self) -> bool {
        false
    }

    fn max_duration(&self, arguments: &Value) -> Option<Duration> {
        let tool = arguments.get("tool").and_then(Value::as_str)?;
        self.0.max_duration(tool)
    }

    fn foreground_wait(&self, arguments: &Value, usual: Duration) -> ForegroundWait {
        let tool = arguments.get("tool").and_then(Value::as_str);
        ForegroundWait {
            after: tool
                .and_then(|tool| self.0.background_after(tool))
                .unwrap_or(usual),
            progress_restarts: true,
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let mut report = CallReport::new(call, self.0.server_of_tool(&input.tool), &input.tool);
        let outcome = self.call_tool(input, call, &mut report).await;
        report.finish(&outcome);
        let output = Output {
            handed_on: outcome?,
        };
        Ok(ToolOutput {
            output,
            changes: Vec::new(),
            session: None,
        })
    }
}

impl GatewayCall {
    async fn call_tool(
        &self,
        input: Input,
        call: &ToolContext,
        report: &mut CallReport<'_>,
    ) -> Result<Value, ToolError> {
        let arguments = tool_arguments(input.arguments, input.more)?;
        let found = self.0.find_target(&input.tool).await;
        let view = CallerView(&call.principal().scope);
        let (upstream, target) = found.map_err(|error| view.filter_error(&self.0, error))?;
        report.set_target(upstream.name(), target.name());
        let tell = |update: McpProgress| {
            let message = update.message.unwrap_or_default();
            call.progress(update.done, update.total, &message);
        };
        let calling = ClientToolCall {
            gateway: &self.0,
            client: call.client_features(),
            owner: call.owner(),
            trace: call.trace(),
            presence: call.caller_presence(),
            on_progress: &tell,
            upstream,
            target,
            arguments: Value::Object(arguments),
        };
        let again = input.again.map(|again| ResumedCall {
            state: again.state,
            responses: again.responses,
        });
        let answered = calling.run(again).await?;
        report.set_target(&answered.server, calling.target.name());
        Ok(answered.result)
    }
}

/// Returns the tool's own arguments. Models often put them beside the tool's name; that is
/// unambiguous unless both are present.
fn tool_arguments(
    given: Option<Map<String, Value>>,
    more: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    match given {
        Some(given) if more.is_empty() => Ok(given),
        None => Ok(more),
        Some(_) => {
            let rule =
                "is not an argument of this tool; put the tool's own arguments into `arguments`";
            let issues = more.into_iter().take(8).map(|(name, mut value)| {
                stringify_large_integers(&mut value);
                ArgumentIssue::new(&name, rule).with_value(&value)
            });
            Err(ToolError::Invalid(issues.collect()))
        }
    }
}
