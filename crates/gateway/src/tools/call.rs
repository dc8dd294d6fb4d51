//! `gateway_call`: calls a tool of an upstream server and returns its result unchanged.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::client::McpProgress;
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CALL_TOOL;
use crate::{
    Gateway,
    gateway::{ClientToolCall, ResumedCall},
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

    fn is_replayable(&self) -> bool {
        false
    }

    fn max_duration(&self, arguments: &Value) -> Option<Duration> {
        let tool = arguments.get("tool").and_then(Value::as_str)?;
        self.0.max_duration(tool)
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let arguments = tool_arguments(input.arguments, input.more)?;
        let (served, tool) = self.0.find_tool(&input.tool).await?;
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
            upstream: served,
            tool,
            arguments: Value::Object(arguments),
        };
        let again = input.again.map(|again| ResumedCall {
            state: again.state,
            responses: again.responses,
        });
        let handed_on = calling.run(again).await?;
        Ok(ToolOutput {
            output: Output { handed_on },
            changes: Vec::new(),
            session: None,
        })
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
            let issues = more
                .iter()
                .take(8)
                .map(|(name, value)| ArgumentIssue::new(name, rule).with_value(value));
            Err(ToolError::Invalid(issues.collect()))
        }
    }
}
