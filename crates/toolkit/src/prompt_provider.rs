//! Prompts that a user picks from a client's menu.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{CompletionRequest, CompletionValues, ResourceContext, ToolError};

/// A family of prompts. Names are unique among all families.
pub trait PromptProvider: Send + Sync {
    /// Lists the prompts in the order that clients show.
    fn list(&self) -> BoxFuture<'_, Vec<PromptInfo>>;

    /// Renders a prompt with its arguments; `None` if the name belongs to another family.
    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<RenderedPrompt, ToolError>>>;

    /// Completes an argument from its beginning; `None` if the prompt belongs to another family.
    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>>;
}

/// A prompt in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInfo {
    /// The unique name.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// What the prompt does.
    pub description: String,
    /// The tool that the prompt uses. Principals that may not call it do not see the prompt.
    pub tool: String,
    /// The arguments of the prompt.
    pub arguments: Vec<PromptArgumentInfo>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgumentInfo {
    /// The argument's name.
    pub name: String,
    /// What the argument means.
    pub description: String,
    /// Whether the argument is required.
    pub required: bool,
}

/// A prompt rendered with its arguments: one message from the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPrompt {
    /// What the prompt does.
    pub description: String,
    /// The text of the message.
    pub text: String,
}

impl RenderedPrompt {
    /// Creates a prompt.
    pub fn text(description: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            text: text.into(),
        }
    }
}
