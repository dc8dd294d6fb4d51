//! The tools that a tool loop can call: functions of servers, or anything else with a schema.

use std::sync::Arc;

use deliberate_llm::ToolDefinition as Described;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{ToolArguments, ToolText};
use crate::{
    adapter::Function,
    schema::{
        Parameters,
        formats::{self, ExportedTool},
    },
};

/// A tool that a tool loop can call.
pub trait CallableTool: Send + Sync + 'static {
    /// Returns the name: letters, digits, `_` and `-`, at most 64 characters.
    fn name(&self) -> &str;
    /// Returns a description of what the tool does and when to call it.
    fn description(&self) -> &str;
    /// Returns the parameters of the tool.
    fn parameters(&self) -> Arc<Parameters>;
    /// Calls the tool. The text is shown to the model, for a success or a failure.
    fn call(&self, arguments: ToolArguments) -> BoxFuture<'_, ToolText>;
}

impl CallableTool for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        Self::description(self)
    }

    fn parameters(&self) -> Arc<Parameters> {
        self.parameters.clone()
    }

    fn call(&self, arguments: ToolArguments) -> BoxFuture<'_, ToolText> {
        Box::pin(async move {
            match Self::call(self, arguments).await {
                Ok(result) => Ok(result.text()),
                Err(error) => Err(match error.hint() {
                    Some(hint) => format!("{error}. {hint}"),
                    None => error.to_string(),
                }),
            }
        })
    }
}

/// A tool with its definition for the model.
#[derive(Clone)]
pub(super) struct OfferedTool {
    tool: Arc<dyn CallableTool>,
    exported: Arc<ExportedTool>,
}

impl OfferedTool {
    pub(super) fn new(tool: Arc<dyn CallableTool>) -> Self {
        // All providers accept this form; what it cannot express is in the description.
        let exported = formats::openai(tool.name(), tool.description(), &tool.parameters(), false);
        Self {
            tool,
            exported: Arc::new(exported),
        }
    }

    /// Returns the name that the model sees.
    pub(super) fn name(&self) -> &str {
        &self.exported.name
    }

    pub(super) fn to_definition(&self) -> Described {
        let part = |name: &str| self.exported.tool.pointer(&format!("/function/{name}"));
        Described {
            name: self.name().to_owned(),
            description: part("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            parameters: part("parameters").cloned().unwrap_or_default(),
        }
    }

    pub(super) async fn call(&self, arguments: &Value) -> ToolText {
        let arguments = self.exported.restore_arguments(arguments);
        self.tool.call(arguments).await
    }
}
