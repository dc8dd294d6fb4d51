//! `gateway_call`: calls a tool of another server, and hands on what it answers as it is.

use std::{sync::Arc, time::Duration};

use deliberate_adapter::client::McpProgress;
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

/// `gateway_call`.
pub struct GatewayCall(pub Arc<Gateway>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// As `gateway_search` names it
    tool: String,
    /// For that tool
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// That the call is sent again, with what its answer asked for.
    #[serde(default)]
    #[schemars(skip)]
    again: Option<GatewayResume>,
    /// What stands beside, where it should not.
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

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The result as the other server wrote it
    handed_on: Value,
}

impl Tool for GatewayCall {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: CALL_TOOL,
            title: "Call a tool of another server",
            description: "Calls a tool that gateway_search found and answers its result as it is.",
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

/// The tool's own arguments. Models put them beside the tool's name as often as not; that can mean
/// only one thing, unless there are both.
fn tool_arguments(
    given: Option<Map<String, Value>>,
    more: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    match given {
        Some(given) if more.is_empty() => Ok(given),
        None => Ok(more),
        Some(_) => {
            let rule = "is not an argument of this tool; the tool's own go into arguments";
            let issues = more
                .iter()
                .take(8)
                .map(|(name, value)| ArgumentIssue::new(name, rule).with_value(value));
            Err(ToolError::Invalid(issues.collect()))
        }
    }
}
