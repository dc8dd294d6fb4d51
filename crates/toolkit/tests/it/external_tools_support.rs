//! A fake gateway: our tool that calls upstream servers, and two of their tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deliberate_toolkit::{
    AliasTarget, ExternalTool, ExternalTools, InputReply, RAW_RESULT, Tool, ToolContext, ToolError,
    ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Our tool that calls external tools; it waits where a test wants it to.
#[derive(Clone)]
pub(crate) struct ForwardTool {
    runs: Arc<AtomicUsize>,
    pub(crate) permits: Arc<Semaphore>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForwardInput {
    tool: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    again: Option<Value>,
}

impl ForwardTool {
    pub(crate) fn new(permits: usize) -> Self {
        Self {
            runs: Arc::default(),
            permits: Arc::new(Semaphore::new(permits)),
        }
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for ForwardTool {
    type Input = ForwardInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "forward",
            title: "Forward",
            description: "Calls a tool of another server.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        to: ForwardInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        let result = json!({
            "zebra": to.tool, "content": to.arguments, "again": to.again,
            "modern": call.client_features().modern,
        });
        Ok(ToolOutput {
            output: json!({ RAW_RESULT: result }),
            changes: Vec::new(),
            session: None,
        })
    }

    fn is_replayable(&self) -> bool {
        false
    }
}

/// Runs one nested tool.
pub(crate) struct NestedTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ToolNameInput {
    tool: String,
}

impl Tool for NestedTool {
    type Input = ToolNameInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "through",
            title: "Through",
            description: "Runs another tool.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: ToolNameInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let can_run = call.can_run(&input.tool);
        let may_wait = call.may_suspend(&input.tool);
        let arguments = json!({ "path": "b" });
        let inner = call.run_tool("a", &input.tool, arguments).await?;
        Ok(ToolOutput {
            output: json!({ "inner": inner.output, "can": can_run, "waits": may_wait }),
            ..inner
        })
    }
}

pub(crate) struct TwoExternalTools;

impl ExternalTools for TwoExternalTools {
    fn list(&self) -> Vec<ExternalTool> {
        let guest = |name: &str| ExternalTool {
            name: name.into(),
            definition: Arc::new(json!({ "name": name, "inputSchema": { "type": "object" } })),
        };
        vec![guest("fs__read"), guest("fs__write")]
    }

    fn resolve(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&InputReply>,
    ) -> Option<AliasTarget> {
        let is_guest = self.list().iter().any(|guest| &*guest.name == name);
        let arguments = match again {
            None if is_guest => json!({ "tool": name, "arguments": arguments }),
            Some(again) if again.state == format!("for {name}") => {
                json!({ "tool": name, "arguments": arguments, "again": again.responses })
            }
            _ => return None,
        };
        Some(AliasTarget {
            tool: "forward",
            arguments,
        })
    }

    fn external_name(&self, tool: &str, arguments: &Value) -> Option<Arc<str>> {
        (tool == "forward").then(|| arguments["tool"].as_str().unwrap().into())
    }
}

/// Has effects outside and returns a change as well.
pub(crate) struct ChangingForwardTool(pub(crate) ForwardTool);

impl Tool for ChangingForwardTool {
    type Input = ForwardInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "changing",
            ..self.0.meta()
        }
    }

    async fn run(
        &self,
        to: ForwardInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let mut outcome = self.0.run(to, call).await?;
        outcome.changes.push(deliberate_core::Change::SetState {
            key: "k".to_owned(),
            value: None,
            at: call.now(),
        });
        Ok(outcome)
    }

    fn is_replayable(&self) -> bool {
        false
    }
}
