//! `gateway_call`: calls a tool of another server, and hands on what it answers as it is.

use std::{sync::Arc, time::Duration};

use deliberate_adapter::client::Progress;
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CALL;
use crate::{
    Gateway,
    gateway::{Calling, SentAgain},
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
    again: Option<Again>,
    /// What stands beside, where it should not.
    #[serde(flatten)]
    #[schemars(skip)]
    more: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Again {
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

    fn about(&self) -> About {
        About {
            name: CALL,
            title: "Call a tool of another server",
            description: "Calls a tool that gateway_search found and answers its result as it is.",
            annotations: Annotations {
                read_only: false,
                destructive: true,
                idempotent: false,
                open_world: true,
            },
            thinks: false,
            limits: Limits::default(),
        }
    }

    fn may_run_again(&self) -> bool {
        false
    }

    fn takes_at_most(&self, arguments: &Value) -> Option<Duration> {
        let tool = arguments.get("tool").and_then(Value::as_str)?;
        self.0.takes_at_most(tool)
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let arguments = arguments(input.arguments, input.more)?;
        let (served, tool) = self.0.find(&input.tool).await?;
        let tell = |update: Progress| {
            let message = update.message.unwrap_or_default();
            call.progress(update.done, update.total, &message);
        };
        let calling = Calling {
            gateway: &self.0,
            client: call.client(),
            owner: call.owner(),
            trace: call.trace(),
            waits: call.waits(),
            tell: &tell,
            served,
            tool,
            arguments: Value::Object(arguments),
        };
        let again = input.again.map(|again| SentAgain {
            state: again.state,
            responses: again.responses,
        });
        let handed_on = calling.run(again).await?;
        Ok(Outcome {
            output: Output { handed_on },
            changes: Vec::new(),
            session: None,
        })
    }
}

/// The tool's own arguments. Models put them beside the tool's name as often as not; that can mean
/// only one thing, unless there are both.
fn arguments(
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
                .map(|(name, value)| Issue::new(name, rule).given(value));
            Err(ToolError::Invalid(issues.collect()))
        }
    }
}
