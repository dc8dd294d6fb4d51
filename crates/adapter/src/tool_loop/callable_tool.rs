//! The tools that a tool loop can call: functions of servers, or anything else with a schema.

use std::sync::Arc;

use deliberate_llm::{ImageData, ToolDefinition as Described};
use futures::future::BoxFuture;
use serde_json::Value;

use super::{ToolAnswer, ToolArguments, ToolText};
use crate::{
    adapter::Function,
    content::{PartKind, image_type},
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

    /// Calls the tool and also returns its pictures, for a loop that shows them. By default there
    /// are none.
    fn call_with_images(&self, arguments: ToolArguments) -> BoxFuture<'_, ToolAnswer> {
        Box::pin(async move { self.call(arguments).await.map(|text| (text, Vec::new())) })
    }
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
            let answer = self.call_with_images(arguments).await;
            answer.map(|(text, _)| text)
        })
    }

    fn call_with_images(&self, arguments: ToolArguments) -> BoxFuture<'_, ToolAnswer> {
        Box::pin(async move {
            match Self::call(self, arguments).await {
                Ok(result) => {
                    let images = result.parts.iter().filter_map(|part| match &part.kind {
                        PartKind::Image(image) => Some(ImageData {
                            mime: image_type(&image.mime)?.to_owned(),
                            data: image.data.clone(),
                        }),
                        _ => None,
                    });
                    Ok((result.text(), images.collect()))
                }
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

    pub(super) async fn call(&self, arguments: &Value) -> ToolAnswer {
        let arguments = self.exported.restore_arguments(arguments);
        self.tool.call_with_images(arguments).await
    }
}
