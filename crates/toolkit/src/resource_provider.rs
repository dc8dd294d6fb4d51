//! What can be read by its address: sessions, graphs, files, articles.

use std::collections::HashMap;

use deliberate_core::{Change, SessionId};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{CallOutcome, CallerContext, Registry, ToolError};

/// One family of things that can be read. Families do not overlap: an address belongs to the
/// first that knows it.
pub trait ResourceProvider: Send + Sync {
    /// What a caller's scope must allow to see any of it; nothing if whoever was let in may.
    fn required_scope(&self) -> Option<&'static str> {
        None
    }

    /// Whether an address has one of this family's forms. Decided by how it looks alone.
    fn matches(&self, _uri: &str) -> bool {
        true
    }

    /// The forms its addresses have.
    fn templates(&self) -> Vec<UriTemplate>;

    /// What there is, `limit` at the most, after the one where an earlier list ended.
    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        desk: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>>;

    /// What stands at that address; `None` if it is not one of this family's.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        desk: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>>;

    /// What may stand for an argument of one of its templates, given what has been typed of it.
    /// Bounded; `None` if the template is not one of this family's.
    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        desk: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>>;

    /// Whether it is told when what stands at its addresses changes. If not, nobody can subscribe to
    /// them.
    fn supports_subscriptions(&self) -> bool {
        true
    }

    /// What a change that was just kept means for its addresses; `session` is the one the call
    /// worked on, because not every change names it.
    fn changes_for(&self, change: &Change, session: Option<&SessionId>) -> Vec<ResourceChange>;
}

/// An argument while a person types it.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRequest<'a> {
    /// Its name.
    pub argument: &'a str,
    /// What they typed so far.
    pub text: &'a str,
    /// What the other arguments are, as far as they are given.
    pub arguments: &'a HashMap<String, String>,
}

/// What an argument can be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionValues {
    /// The likeliest first.
    pub values: Vec<String>,
    /// Whether there are more than were looked at.
    pub has_more: bool,
}

/// What a family has at hand. Everything goes through the gate, so that limits, scopes and records
/// hold for reading by address as they do for calls.
#[derive(Clone, Copy)]
pub struct ResourceContext<'a> {
    /// The tools.
    pub registry: &'a Registry,
    /// Who reads.
    pub caller: &'a CallerContext,
}

impl ResourceContext<'_> {
    /// Calls a tool that needs no model, for its output.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        match self
            .registry
            .call(tool, arguments, self.caller.clone())
            .await?
        {
            CallOutcome::Done(output) => Ok(output),
            CallOutcome::NeedsReply(_) => Err(ToolError::Internal),
        }
    }
}

/// The form of some addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    /// As RFC 6570 has it: `deliberate://sessions/{id}`.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What is there.
    pub description: String,
    /// What it is written in.
    pub mime_type: Option<String>,
}

/// Things in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePage {
    /// They.
    pub resources: Vec<ResourceInfo>,
    /// Where the next list begins, if there is more: given back as `after`.
    pub next: Option<String>,
}

/// Something that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What it is written in.
    pub mime_type: Option<String>,
    /// How long it is, if that is known.
    pub size: Option<u64>,
}

/// What stands at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceData {
    /// The address.
    pub uri: String,
    /// What it is written in.
    pub mime_type: Option<String>,
    /// What is written.
    pub body: ResourceBody,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

/// What a change means for addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceChange {
    /// This one reads differently now.
    Resource(String),
    /// Any that begins so may read differently now; which ones can't be told cheaply.
    Prefix(String),
    /// The list is another.
    ListChanged,
}
