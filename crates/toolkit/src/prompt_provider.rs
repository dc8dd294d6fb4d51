//! What a person can pick from a client's menu: prompts with arguments.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{CompletionRequest, CompletionValues, ResourceContext, ResourceData, ToolError};

/// One family of prompts. Names do not overlap between families.
pub trait PromptProvider: Send + Sync {
    /// What there is, in the order it is shown.
    fn list(&self) -> BoxFuture<'_, Vec<PromptInfo>>;

    /// The prompt of that name with its arguments filled in; `None` if it is not one of this
    /// family's.
    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        desk: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<RenderedPrompt, ToolError>>>;

    /// What may stand for an argument, given what has been typed of it; `None` if the prompt is
    /// not one of this family's.
    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: CompletionRequest<'a>,
        desk: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>>;
}

/// A prompt in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInfo {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The tool it leads to; who may not use that has no use for the prompt.
    pub tool: String,
    /// What it can be given.
    pub arguments: Vec<PromptArgumentInfo>,
}

/// What a prompt can be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgumentInfo {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether the prompt needs it.
    pub required: bool,
}

/// A prompt with its arguments filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPrompt {
    /// What it does.
    pub description: String,
    /// What is said to the model, in order.
    pub messages: Vec<RenderedMessage>,
}

/// One thing that is said in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMessage {
    /// Who says it.
    pub role: PromptRole,
    /// What.
    pub content: PromptContent,
}

/// Who speaks in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRole {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// What can be said in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptContent {
    /// Words.
    Text(String),
    /// A picture.
    Image {
        /// Its bytes.
        bytes: Vec<u8>,
        /// What kind of picture.
        mime_type: String,
    },
    /// Something that stands at an address.
    Resource(ResourceData),
}

impl RenderedPrompt {
    /// A prompt that is one text, said by the person.
    pub fn text(description: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            messages: vec![RenderedMessage {
                role: PromptRole::User,
                content: PromptContent::Text(text.into()),
            }],
        }
    }
}
