//! What a person can pick from a client's menu: prompts with arguments.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Choices, Contents, Desk, ToolError, Typed};

/// One family of prompts. Names do not overlap between families.
pub trait Menu: Send + Sync {
    /// What there is, in the order it is shown.
    fn list(&self) -> BoxFuture<'_, Vec<Dish>>;

    /// The prompt of that name with its arguments filled in; `None` if it is not one of this
    /// family's.
    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Served, ToolError>>>;

    /// What may stand for an argument, given what has been typed of it; `None` if the prompt is
    /// not one of this family's.
    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: Typed<'a>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>>;
}

/// A prompt in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dish {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The tool it leads to; who may not use that has no use for the prompt.
    pub leads_to: String,
    /// What it can be given.
    pub arguments: Vec<Argument>,
}

/// What a prompt can be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether the prompt needs it.
    pub required: bool,
}

/// A prompt with its arguments filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// What it does.
    pub description: String,
    /// What is said to the model, in order.
    pub said: Vec<Said>,
}

/// One thing that is said in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who says it.
    pub by: Speaker,
    /// What.
    pub what: Utterance,
}

/// Who speaks in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// What can be said in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Utterance {
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
    Resource(Contents),
}

impl Served {
    /// A prompt that is one text, said by the person.
    pub fn text(description: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            said: vec![Said {
                by: Speaker::User,
                what: Utterance::Text(text.into()),
            }],
        }
    }
}
