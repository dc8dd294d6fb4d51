//! How a feature shows its calls to clients: short references in arguments, and readable answers.

use deliberate_store::Store;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{RESUME_TOOL, Registry, ToolError};

/// The field of an output that says that the caller brought the reply itself, so that it need not be
/// shown what it wrote.
pub const REPLY_RECORDED: &str = "reply_recorded";

/// The field of an output that says that the caller's own model wrote all answers, in the replies
/// with which the call was resumed. The text need not repeat them; a program that sent the replies
/// for a model may still read the data.
pub const REPLIES_RECORDED: &str = "replies_recorded";

/// Shows the calls of a feature's tools to clients.
pub trait CallPresenter: Send + Sync {
    /// Tells whether it presents the calls of this tool.
    fn presents(&self, tool: &str) -> bool;

    /// Returns the arguments with every short reference replaced by the id that it means.
    fn resolve_arguments<'a>(
        &'a self,
        arguments: Value,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Value, ToolError>>;

    /// Returns the answer as a client gets it.
    fn present<'a>(
        &'a self,
        output: &'a Value,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, PresentedOutput>;
}

/// An answer as a client gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct PresentedOutput {
    /// The text, meant to be read.
    pub text: String,
    /// The data.
    pub data: Value,
}

impl Registry {
    /// Presents the output of a call; `None` if no feature does, so that the output itself is shown.
    /// `tool` is the tool that was called with `arguments`.
    pub async fn present(
        &self,
        tool: &str,
        arguments: &Value,
        output: &Value,
    ) -> Option<PresentedOutput> {
        let presenter = self.tools.presenter.as_ref()?;
        let resumed = self.resumed_tool(tool, arguments).await;
        let tool = resumed.as_deref().unwrap_or(tool);
        if !presenter.presents(tool) || !output.is_object() {
            return None;
        }
        Some(presenter.present(output, self.deps.store.as_ref()).await)
    }

    /// Returns the tool of the call that is resumed.
    async fn resumed_tool(&self, tool: &str, arguments: &Value) -> Option<String> {
        if tool != RESUME_TOOL {
            return None;
        }
        let id = arguments.get("id")?.as_str()?.into();
        let suspended = self.deps.store.suspended_call(&id).await.ok()??;
        Some(suspended.tool_name)
    }
}
