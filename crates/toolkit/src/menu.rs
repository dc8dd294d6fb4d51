//! What a person can pick from a client's menu: prompts with arguments.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Desk, ToolError};

/// One family of prompts. Names do not overlap between families.
pub trait Menu: Send + Sync {
    /// What there is, in the order it is shown.
    fn list(&self) -> Vec<Dish>;

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
        argument: &'a str,
        typed: &'a str,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Vec<String>>>;
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
    /// What the user says to the model.
    pub text: String,
}
