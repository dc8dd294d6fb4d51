//! Resources that are read by URI: sessions, graphs, files, articles.

use std::collections::HashMap;

use deliberate_core::{Change, PromptFence, SessionId};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{CallOutcome, CallerContext, Principal, Registry, ToolError};

/// A family of resources. Families do not overlap: a URI belongs to the first one that matches it.
pub trait ResourceProvider: Send + Sync {
    /// Returns the scope that a principal needs to see the family; `None` if everyone may.
    fn required_scope(&self) -> Option<&'static str> {
        None
    }

    /// Tells whether a principal may see the family.
    fn is_visible_to(&self, principal: &Principal) -> bool {
        let needed = self.required_scope();
        needed.is_none_or(|needed| principal.scope.allows(needed))
    }

    /// Tells whether a URI has one of this family's forms, by its text alone.
    fn matches(&self, _uri: &str) -> bool {
        true
    }

    /// Returns the URI templates of the family.
    fn templates(&self) -> Vec<UriTemplate>;

    /// Lists at most `limit` resources after the cursor of an earlier page.
    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>>;

    /// Reads a resource; `None` if the URI belongs to another family.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>>;

    /// Completes an argument of a template from its beginning. The list is bounded; `None` if the
    /// template belongs to another family.
    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>>;

    /// Tells whether the family reports changes of its resources. If not, clients can't subscribe
    /// to them.
    fn supports_subscriptions(&self) -> bool {
        true
    }

    /// Returns the resources that a committed change affects; `session` is the one that the call
    /// worked on, because not every change names it.
    fn changes_for(&self, change: &Change, session: Option<&SessionId>) -> Vec<ResourceChange>;
}

/// An argument that a user is typing.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRequest<'a> {
    /// The argument's name.
    pub argument: &'a str,
    /// The text typed so far.
    pub text: &'a str,
    /// The other arguments that are already given.
    pub arguments: &'a HashMap<String, String>,
}

/// The suggestions for an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionValues {
    /// The values, most likely first.
    pub values: Vec<String>,
    /// Whether there may be more values.
    pub has_more: bool,
}

/// The context of a resource read. Reads go through the dispatcher, so that limits, scopes and the
/// invocation log apply to them as to calls.
#[derive(Clone, Copy)]
pub struct ResourceContext<'a> {
    /// The registry to call tools with.
    pub registry: &'a Registry,
    /// The caller that reads.
    pub caller: &'a CallerContext,
}

impl ResourceContext<'_> {
    /// Returns a fence for foreign text in what is read, with the names of its tags.
    pub fn prompt_fence(&self, tags: &'static [&'static str]) -> PromptFence {
        PromptFence::new(self.registry.deps.ids.nonce(), tags)
    }

    /// Calls a tool that uses no model and returns its output.
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

/// A template of resource URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    /// The template in RFC 6570 syntax: `deliberate://sessions/{id}`.
    pub uri: String,
    /// The unique name.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// What the resources contain.
    pub description: String,
    /// The media type.
    pub mime_type: Option<String>,
}

/// A page of a list of resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePage {
    /// The resources of the page.
    pub resources: Vec<ResourceInfo>,
    /// The cursor of the next page, if there is one; it is passed as `after`.
    pub next: Option<String>,
}

/// A resource in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceInfo {
    /// The URI.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// What the resource contains.
    pub description: Option<String>,
    /// The media type.
    pub mime_type: Option<String>,
    /// The size in bytes, if known.
    pub size: Option<u64>,
}

/// The contents of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceData {
    /// The URI.
    pub uri: String,
    /// The media type.
    pub mime_type: Option<String>,
    /// The contents.
    pub body: ResourceBody,
    /// Further facts about the contents, for the client: `_meta`.
    pub meta: Option<Map<String, Value>>,
}

/// The contents of a resource, as text or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Binary data.
    Bytes(Vec<u8>),
}

/// A change of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceChange {
    /// The resource of this URI changed.
    Resource(String),
    /// Any resource with this URI prefix may have changed; finding out which is not cheap.
    Prefix(String),
    /// The list of resources changed.
    ListChanged,
}
